{#- Making the ledger, and the tables beside it, when several ask at once; what they hold is said where they are named. -#}

{# `create table if not exists` alone can still collide on PostgreSQL; the advisory lock lets one go first.
   `begin`, because the client believes that the transaction it opened is still there: without it, all that follows in this
   model would be committed statement by statement. Hooks of the run have no transaction of their own, so there it would be
   one that nobody ends #}
{% macro postgres__make_table(relation, create_sql, state) %}
  {% set lock = "select pg_advisory_xact_lock(hashtextextended(" ~ two_clocks.text_literal('two_clocks ' ~ relation) ~ ", 0))" %}
  {#- asked first: `create schema if not exists` needs the right to create one even where it exists -#}
  {% set schema = '' if two_clocks._schema_exists(relation) else 'create schema if not exists ' ~ two_clocks.quoted(relation.schema) ~ ';' %}
  {% do run_query(lock ~ ';' ~ schema ~ create_sql ~ '; commit' ~ ('' if model is defined and model.resource_type == 'operation' else '; begin')) %}
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
