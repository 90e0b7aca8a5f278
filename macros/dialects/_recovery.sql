{#-
  SQL that a session of its own runs to be the only one that backfills or repairs a table, as long as that session lives: one row,
  one boolean, whether it got the lock. Empty where the engine lets only one process in anyway (DuckDB) or has no such lock.
-#}
{% macro backfill_lock_sql(relation) %}{{ return(adapter.dispatch('backfill_lock_sql', 'two_clocks')(relation)) }}{% endmacro %}
{% macro default__backfill_lock_sql(relation) %}{{ return('') }}{% endmacro %}

{# of the session, not of a transaction: it outlives every dbt run of the backfill, and dies with the process that holds it #}
{% macro postgres__backfill_lock_sql(relation) %}
  {{ return("select pg_try_advisory_lock(hashtextextended(" ~ two_clocks.text_literal('two_clocks backfill ' ~ two_clocks._plain_name(relation)) ~ ", 0))") }}
{% endmacro %}


{# the rows of a query put aside for the rest of a transaction #}
{% macro set_aside_sql(name, sql) %}{{ return(adapter.dispatch('set_aside_sql', 'two_clocks')(name, sql)) }}{% endmacro %}

{% macro default__set_aside_sql(name, sql) %}
  {{ return('create or replace temporary table ' ~ name ~ ' as\n' ~ sql) }}
{% endmacro %}

{% macro postgres__set_aside_sql(name, sql) %}
  {{ return('create temporary table ' ~ name ~ ' on commit drop as\n' ~ sql ~ ';\nanalyze ' ~ name ~ ';\nselect 1') }}
{% endmacro %}
