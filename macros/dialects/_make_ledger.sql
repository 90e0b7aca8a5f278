{#- Making the ledger when several ask at once; the table itself is in ledger/ledger_relation.sql. -#}

{# `create table if not exists` alone can still collide on PostgreSQL; the advisory lock lets one go first #}
{% macro postgres__make_ledger(ledger, state) %}
  {% set lock = "select pg_advisory_xact_lock(hashtextextended(" ~ two_clocks.text_literal('two_clocks ' ~ ledger) ~ ", 0))" %}
  {#- asked first: `create schema if not exists` needs the right to create one even where it exists -#}
  {% set schema = '' if two_clocks._schema_exists(ledger) else 'create schema if not exists ' ~ adapter.quote(ledger.schema) ~ ';' %}
  {% do run_query(lock ~ ';' ~ schema ~ two_clocks.create_ledger_sql(ledger) ~ '; commit') %}
{% endmacro %}

{#-
  DuckDB lets two transactions that create one table collide, and threads of one run share a process: the first thread
  that comes here makes it, the others look until they see it.
-#}
{% macro duckdb__make_ledger(ledger, state) %}
  {% if state.setdefault('maker', thread_id) == thread_id %}
    {% do two_clocks.default__make_ledger(ledger, state) %}
  {% else %}
    {% set seen = namespace(it=false) %}
    {% for attempt in range(5000) if not seen.it %}
      {% set seen.it = two_clocks._ledger_exists(ledger) %}
    {% endfor %}
    {% if not seen.it %}
      {% do two_clocks._refuse("the ledger " ~ ledger ~ " could not be made; see the error of the model that tried first") %}
    {% endif %}
  {% endif %}
{% endmacro %}
