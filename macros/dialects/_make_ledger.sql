{#- Making the ledger, and the tables beside it, when several ask at once; what they hold is said where they are named. -#}

{# `create table if not exists` alone can still collide on PostgreSQL; the advisory lock lets one go first.
   `begin`, because the client believes that the transaction it opened is still there: without it, all that follows in this
   model would be committed statement by statement. Hooks of the run have no transaction of their own, so there it would be
   one that nobody ends #}
{% macro postgres__make_table(relation, create_sql, state) %}
  {% set lock = "select pg_advisory_xact_lock(hashtextextended(" ~ two_clocks.text_literal('two_clocks ' ~ relation) ~ ", 0))" %}
  {% set may = two_clocks._postgres_grants(relation) %}
  {% do two_clocks._check_may_create(relation, may) %}
  {#- asked first: `create schema if not exists` needs the right to create one even where it exists -#}
  {% set schema = '' if may.schema_exists else 'create schema if not exists ' ~ two_clocks.quoted(relation.schema) ~ ';' %}
  {% do run_query(lock ~ ';' ~ schema ~ create_sql ~ '; commit' ~ ('' if model is defined and model.resource_type == 'operation' else '; begin')) %}
{% endmacro %}

{#-
  Asks the catalog itself: information_schema shows a role only what it was granted, so a role without grants would hear that
  there is no ledger, and tell people that nothing ever ran.
-#}
{% macro postgres__find_ledger_table(relation) %}
  {% set may = two_clocks._postgres_grants(relation) %}
  {% if not may.table_exists %}{{ return(false) }}{% endif %}
  {#- the ledger is only ever added to; of the other tables rows are changed too -#}
  {% set needed = ['select'] + (['insert'] + (['update'] if relation.identifier != 'two_clocks_window_ledger' else []) if two_clocks._is_writing_command() else []) %}
  {% set lacking = [] %}
  {% for right in needed if not may['may_' ~ right] %}{% do lacking.append(right) %}{% endfor %}
  {% if lacking or not may.may_enter %}
    {% set statements = ([] if may.may_enter else ['grant usage on schema ' ~ two_clocks.quoted(relation.schema) ~ ' to ' ~ may.role])
        + (['grant ' ~ lacking | join(', ') ~ ' on ' ~ relation.include(database=false) ~ ' to ' ~ may.role] if lacking else []) %}
    {% do two_clocks._refuse("role " ~ may.role ~ " may not " ~ ('write' if needed | length > 1 else 'read') ~ " the table " ~ two_clocks._plain_name(relation | string) ~ "; let its owner run: " ~ statements | join('; ')) %}
  {% endif %}
  {{ return(true) }}
{% endmacro %}

{% macro redshift__find_ledger_table(relation) %}{{ return(two_clocks.default__find_ledger_table(relation)) }}{% endmacro %}


{# what is there of a table and its schema, and what this role may do with them #}
{% macro _postgres_grants(relation) %}
  {% set sql %}
    select namespace.oid is not null as schema_exists, class.oid is not null as table_exists, quote_ident(current_user) as role,
      has_database_privilege(current_database(), 'create') as may_create_schema,
      has_schema_privilege(namespace.oid, 'usage') as may_enter,
      has_schema_privilege(namespace.oid, 'create') as may_create,
      has_table_privilege(class.oid, 'select') as may_select,
      has_table_privilege(class.oid, 'insert') as may_insert,
      has_table_privilege(class.oid, 'update') as may_update
    from (select {{ two_clocks.text_literal(relation.schema) }} as schema_name) as wanted
    left join pg_catalog.pg_namespace as namespace on namespace.nspname = wanted.schema_name
    left join pg_catalog.pg_class as class on class.relnamespace = namespace.oid and class.relname = {{ two_clocks.text_literal(relation.identifier) }}
  {% endset %}
  {{ return(run_query(sql).rows[0]) }}
{% endmacro %}


{% macro _check_may_create(relation, may) %}
  {% set schema, role = two_clocks.quoted(relation.schema), may.role %}
  {% if not may.schema_exists and not may.may_create_schema %}
    {% do two_clocks._refuse("the schema " ~ relation.schema ~ " for the ledger does not exist, and role " ~ role ~ " may not create it; let an administrator run: create schema " ~ schema ~ "; grant usage, create on schema " ~ schema ~ " to " ~ role) %}
  {% elif may.schema_exists and not (may.may_enter and may.may_create) %}
    {% do two_clocks._refuse("the table " ~ two_clocks._plain_name(relation | string) ~ " does not exist, and role " ~ role ~ " may not create it; let the owner of the schema run: grant usage, create on schema " ~ schema ~ " to " ~ role ~ "; or make the tables with dbt run-operation two_clocks.make_ledger_tables") %}
  {% endif %}
{% endmacro %}


{#-
  DuckDB lets two transactions that create one table collide, and threads of one run share a process: the first thread
  that comes here makes it, the others look until they see it.
-#}
{% macro duckdb__make_table(relation, create_sql, state) %}
  {% if state.setdefault('maker', thread_id) == thread_id %}
    {% do two_clocks.default__make_table(relation, create_sql, state) %}
  {% else %}
    {% set seen = namespace(it=false) %}
    {% for attempt in range(5000) if not seen.it %}
      {% set seen.it = two_clocks._ledger_exists(relation) %}
    {% endfor %}
    {% if not seen.it %}
      {% do two_clocks._refuse("the table " ~ relation ~ " could not be made; see the error of the model that tried first") %}
    {% endif %}
  {% endif %}
{% endmacro %}
