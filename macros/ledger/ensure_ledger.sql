{#-
  Makes the ledger where it is missing. Safe when eight threads, or several processes, come here at once.
  Called before a run reads its first window and by the views on the ledger; never by compile, docs or ls.
-#}
{% macro ensure_ledger() %}
  {% do two_clocks.ensure_table(two_clocks.ledger_relation(), two_clocks.ledger_columns()) %}
{% endmacro %}


{# the same for any table that lives beside the ledger; `columns` maps names to kinds of ledger values #}
{% macro ensure_table(relation, columns) %}
  {% set state = graph.setdefault('two_clocks_ledger', {}).setdefault(invocation_id, {}).setdefault(relation.identifier, {}) %}
  {% if not state.get('ready') %}
    {% if not two_clocks._ledger_exists(relation) %}
      {% do adapter.dispatch('make_table', 'two_clocks')(relation, two_clocks.create_table_sql(relation, columns), state) %}
    {% endif %}
    {% do state.update({'ready': true}) %}
  {% endif %}
{% endmacro %}


{# asks the database, not dbt's cache: another thread or process may have made it a moment ago #}
{% macro _ledger_exists(ledger) %}
  {% set sql %}
    select count(*) from information_schema.tables
    where table_schema = {{ two_clocks.text_literal(ledger.schema) }} and table_name = {{ two_clocks.text_literal(ledger.identifier) }}
    {%- if ledger.database %} and table_catalog = {{ two_clocks.text_literal(ledger.database) }}{% endif %}
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
