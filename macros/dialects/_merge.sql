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


{#-
  The whole of a merge but for its ledger row. Runs what has to run before, and returns the model's main statement; notes in the book, per
  window, `batch` (extracted, superseded, stale, unchanged, late, max_lateness) and `written` (inserted, updated): numbers, or SQL scalars that
  record_window() puts into the ledger row of the same transaction. Refuses a NULL in the key, and a target whose key is not unique.
-#}
{% macro merge_batch(plan, book) %}{{ return(adapter.dispatch('merge_batch', 'two_clocks')(plan, book)) }}{% endmacro %}

{# works out what becomes of each row first, then merges what is left #}
{% macro default__merge_batch(plan, book) %}
  {% do book.update({'batch': two_clocks._work_out_changes(plan)}) %}
  {{ return(two_clocks.write_changes(plan, book)) }}
{% endmacro %}

{# from 17 on the merge says itself what it did, see _merge_at_once.sql #}
{% macro postgres__merge_batch(plan, book) %}
  {{ return(two_clocks._merge_at_once(plan, book) if two_clocks.postgres_version() >= 170000 else two_clocks.default__merge_batch(plan, book)) }}
{% endmacro %}

{% macro redshift__merge_batch(plan, book) %}{{ return(two_clocks.default__merge_batch(plan, book)) }}{% endmacro %}


{# a temporary table of this transaction; `joined_by` are the columns that joins with it ask for, where those are known #}
{% macro make_work_table_sql(name, sql, joined_by='') %}{{ return(adapter.dispatch('make_work_table_sql', 'two_clocks')(name, sql, joined_by)) }}{% endmacro %}

{% macro default__make_work_table_sql(name, sql, joined_by) %}{{ return('create or replace temporary table ' ~ name ~ ' as\n' ~ sql) }}{% endmacro %}

{# analysed, because a join planned without knowing how small these tables are would read all of the target #}
{% macro postgres__make_work_table_sql(name, sql, joined_by) %}
  {{ return('create temporary table ' ~ name ~ ' on commit drop as\n' ~ sql ~ ';\nanalyze ' ~ name ~ (' (' ~ joined_by ~ ')' if joined_by)) }}
{% endmacro %}


{% macro create_changes_sql(plan) %}
  {{ return([
      two_clocks.create_candidates_sql(plan),
      two_clocks.make_work_table_sql('two_clocks_versions', two_clocks.versions_sql(plan), two_clocks._key_list(plan)),
      two_clocks.make_work_table_sql('two_clocks_changes', two_clocks.changes_sql(plan))] | join(';\n')) }}
{% endmacro %}


{% macro create_candidates_sql(plan) %}{{ return(adapter.dispatch('create_candidates_sql', 'two_clocks')(plan)) }}{% endmacro %}

{% macro default__create_candidates_sql(plan) %}
  {{ return(two_clocks.make_work_table_sql('two_clocks_candidates', two_clocks.candidates_sql(plan), two_clocks._key_list(plan))) }}
{% endmacro %}

{#-
  The target's rows of the window are read through a bitmap of their pages. A plain scan of the watermark's index would come back to a page
  for each of its rows, and mark the entries of replaced rows as dead as it goes: with checksums, which are on by default from 18 on, each page
  of the index marked so is copied to the WAL, a fifth of what a quiet run writes in all.
-#}
{% macro postgres__create_candidates_sql(plan) %}
  {% set create = two_clocks.default__create_candidates_sql(plan) %}
  {% if not two_clocks._within_windows(plan) %}{{ return(create) }}{% endif %}
  {{ return("select set_config('two_clocks.index_scans', current_setting('enable_indexscan'), true);\nset local enable_indexscan = off;\n"
      ~ create ~ ";\nselect set_config('enable_indexscan', current_setting('two_clocks.index_scans'), true)") }}
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
