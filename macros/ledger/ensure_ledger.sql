{#-
  Makes the ledger where it is missing. Safe when eight threads, or several processes, come here at once.
  Called before a run reads its first window and by the views on the ledger; never by compile, docs or ls.
-#}
{% macro ensure_ledger() %}
  {% do two_clocks.ensure_table(two_clocks.ledger_relation(), two_clocks.ledger_columns()) %}
{% endmacro %}


{#- run-operation for an administrator: makes every table that runs may need, for a role that may create none (docs/permissions.md). -#}
{% macro make_ledger_tables() %}
  {% do two_clocks.ensure_ledger() %}
  {% do two_clocks.ensure_dead_letters() %}
  {% do two_clocks.ensure_table(two_clocks.open_ranges_relation(), two_clocks.open_range_columns()) %}
  {% do two_clocks.make_safe_cast() %}
{% endmacro %}


{# the same for any table that lives beside the ledger; `columns` maps names to kinds of ledger values #}
{% macro ensure_table(relation, columns) %}
  {% if not two_clocks._ledger_exists(relation) %}
    {% set state = two_clocks._ledger_table_state(relation) %}
    {% do adapter.dispatch('make_table', 'two_clocks')(relation, two_clocks.create_table_sql(relation, columns), state) %}
    {% do state.update({'ready': true}) %}
  {% endif %}
{% endmacro %}


{# what this invocation knows of one table of the ledger #}
{% macro _ledger_table_state(relation) %}
  {{ return(graph.setdefault('two_clocks_ledger', {}).setdefault(invocation_id, {}).setdefault(relation.identifier, {})) }}
{% endmacro %}


{#-
  Asks the database, not dbt's cache: another thread or process may have made the table a moment ago. Once it was seen it is
  not asked for again in this invocation; `or_when_it_was_asked` also keeps a "no", for tables whose absence may be that old.
-#}
{% macro _ledger_exists(relation, or_when_it_was_asked=false) %}
  {% set state = two_clocks._ledger_table_state(relation) %}
  {% if not state.get('ready') and not (or_when_it_was_asked and state.get('absent')) %}
    {% set found = two_clocks.find_ledger_table(relation) %}
    {% do state.update({'ready': found, 'absent': not found}) %}
  {% endif %}
  {{ return(state.get('ready', false)) }}
{% endmacro %}


{# whether a table of the ledger is there; refuses where it is there and this role may not use it #}
{% macro find_ledger_table(relation) %}{{ return(adapter.dispatch('find_ledger_table', 'two_clocks')(relation)) }}{% endmacro %}

{% macro default__find_ledger_table(relation) %}
  {% set sql %}
    select count(*) from information_schema.tables
    where table_schema = {{ two_clocks.text_literal(relation.schema) }} and table_name = {{ two_clocks.text_literal(relation.identifier) }}
    {%- if relation.database %} and table_catalog = {{ two_clocks.text_literal(relation.database) }}{% endif %}
  {% endset %}
  {{ return(two_clocks._one_value(sql) > 0) }}
{% endmacro %}


{% macro _schema_exists(ledger) %}
  {% set sql %}
    select count(*) from information_schema.schemata
    where schema_name = {{ two_clocks.text_literal(ledger.schema) }}
    {%- if ledger.database %} and catalog_name = {{ two_clocks.text_literal(ledger.database) }}{% endif %}
  {% endset %}
  {{ return(two_clocks._one_value(sql) > 0) }}
{% endmacro %}


{% macro default__make_table(relation, create_sql, state) %}
  {% if not two_clocks._schema_exists(relation) %}{% do adapter.create_schema(relation) %}{% endif %}
  {% do run_query(create_sql) %}
{% endmacro %}
