{#-
  The merge, engine by engine: how one writer at a time is enforced, how the work table is made, and where the counts of
  inserted and updated rows come from. The rules themselves are in strategies/_changes.sql and the same everywhere.
-#}

{# SQL that waits until no other run writes this target; empty where the engine sees to it #}
{% macro lock_target_sql(target) %}{{ return(adapter.dispatch('lock_target_sql', 'two_clocks')(target)) }}{% endmacro %}
{% macro default__lock_target_sql(target) %}{{ return('') }}{% endmacro %}

{# an advisory lock: unlike LOCK TABLE it disturbs neither autovacuum nor anybody else's writes #}
{% macro postgres__lock_target_sql(target) %}
  {{ return("select pg_advisory_xact_lock(hashtextextended(" ~ two_clocks.text_literal('two_clocks ' ~ target) ~ ", 0))") }}
{% endmacro %}


{% macro create_changes_sql(plan) %}{{ return(adapter.dispatch('create_changes_sql', 'two_clocks')(plan)) }}{% endmacro %}

{% macro default__create_changes_sql(plan) %}
  create or replace temporary table two_clocks_candidates as
  {{ two_clocks.candidates_sql(plan) }};
  create or replace temporary table two_clocks_versions as
  {{ two_clocks.versions_sql(plan) }};
  create or replace temporary table two_clocks_changes as
  {{ two_clocks.changes_sql(plan) }}
{% endmacro %}

{# analysed, because a join planned without knowing how small these tables are would read all of the target #}
{% macro postgres__create_changes_sql(plan) %}
  create temporary table two_clocks_candidates on commit drop as
  {{ two_clocks.candidates_sql(plan) }};
  analyze two_clocks_candidates;
  create temporary table two_clocks_versions on commit drop as
  {{ two_clocks.versions_sql(plan) }};
  analyze two_clocks_versions;
  create temporary table two_clocks_changes on commit drop as
  {{ two_clocks.changes_sql(plan) }};
  analyze two_clocks_changes
  {%- if two_clocks.postgres_version() >= 170000 %};
  create temporary table two_clocks_written (stream integer, inserted bigint, updated bigint) on commit drop
  {%- endif %}
{% endmacro %}


{#-
  Returns the model's main statement and notes in the book, per window, SQL scalars for the rows really inserted and
  updated (`written`), which record_window() puts into the ledger row of the same transaction.
-#}
{% macro write_changes(plan, book) %}{{ return(adapter.dispatch('write_changes', 'two_clocks')(plan, book)) }}{% endmacro %}

{# without RETURNING: the changes were worked out under the lock, so they are what the merge does #}
{% macro default__write_changes(plan, book) %}
  {% set written = [] %}
  {% for cut in plan.windows %}
    {% set of_stream = '(select count(*) from two_clocks_changes where two_clocks_stream = ' ~ loop.index0 ~ ' and two_clocks_action = ' %}
    {% do written.append({'inserted': of_stream ~ "'insert')", 'updated': of_stream ~ "'update')"}) %}
  {% endfor %}
  {% do book.update({'written': written}) %}
  {{ return(two_clocks.merge_sql(plan)) }}
{% endmacro %}

{# PostgreSQL 17 and later: the merge itself says what it did #}
{% macro postgres__write_changes(plan, book) %}
  {% if two_clocks.postgres_version() < 170000 %}{{ return(two_clocks.default__write_changes(plan, book)) }}{% endif %}
  {% set written = [] %}
  {% for cut in plan.windows %}
    {% set of_stream = ' from two_clocks_written where stream = ' ~ loop.index0 ~ ')' %}
    {% do written.append({'inserted': '(select coalesce(sum(inserted), 0)' ~ of_stream, 'updated': '(select coalesce(sum(updated), 0)' ~ of_stream}) %}
  {% endfor %}
  {% do book.update({'written': written}) %}
  {% set sql %}
with merged as (
  {{ two_clocks.merge_sql(plan) }}
  returning merge_action() as action, DBT_INTERNAL_SOURCE.two_clocks_stream as stream
)
insert into two_clocks_written (stream, inserted, updated)
select stream, count(*) filter (where action = 'INSERT'), count(*) filter (where action = 'UPDATE') from merged group by stream
  {% endset %}
  {{ return(sql) }}
{% endmacro %}

{% macro postgres_version() %}
  {% set known = graph.setdefault('two_clocks_postgres', {}) %}
  {% if invocation_id not in known %}
    {% do known.update({invocation_id: two_clocks._one_value("select cast(current_setting('server_version_num') as integer)") | int}) %}
  {% endif %}
  {{ return(known[invocation_id]) }}
{% endmacro %}

{#-
  DuckDB has MERGE ... RETURNING but cannot put it into a CTE, so the merge runs here, inside the model's transaction,
  and the main statement is left with a word about it. Its RETURNING sees the target's columns alone, which is what
  target_filter speaks of. With several streams that is not enough: a column that is never updated may say which stream a row came with
  long ago, not now. Nobody else writes meanwhile, so then the changes themselves are counted.
-#}
{% macro duckdb__write_changes(plan, book) %}
  {% if plan.windows | length > 1 %}{{ return(two_clocks.default__write_changes(plan, book)) }}{% endif %}
  {% set rows = two_clocks._in_transaction(two_clocks.merge_sql(plan) ~ '\nreturning merge_action').rows %}
  {% set actions = rows | map(attribute=0) | list %}
  {% do book.update({'written': [{'inserted': actions | select('equalto', 'INSERT') | list | length, 'updated': actions | select('equalto', 'UPDATE') | list | length}]}) %}
  {{ return('select ' ~ rows | length ~ ' as rows_written -- by the merge that newest_wins ran just before') }}
{% endmacro %}


{# several statements inside the model's transaction, in one round trip where the engine takes them; the rows of the last #}
{% macro _in_one_trip(statements) %}
  {{ return(adapter.dispatch('in_one_trip', 'two_clocks')(statements | select | list)) }}
{% endmacro %}

{% macro default__in_one_trip(statements) %}
  {% set last = namespace(table=none) %}
  {% for sql in statements %}{% set last.table = two_clocks._in_transaction(sql) %}{% endfor %}
  {{ return(last.table) }}
{% endmacro %}

{% macro postgres__in_one_trip(statements) %}{{ return(two_clocks._in_transaction(statements | join(';\n'))) }}{% endmacro %}
