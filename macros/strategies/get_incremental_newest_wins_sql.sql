{#-
  incremental_strategy: newest_wins, an upsert that may be repeated.

  Takes dbt's arg_dict: target_relation, temp_relation, unique_key, dest_columns, incremental_predicates.
  Returns the merge as SQL, for dbt to run as the model's main statement.
  Raises a compiler error of one sentence for a missing key, a NULL in the key, or a target whose key is not unique;
  dbt then rolls the run back, so nothing has been written.

  Steps, all in the model's own transaction:
    1. one writer per target at a time, where the engine has several
    2. `two_clocks_candidates`, a small temporary table: the batch without what is stored just as it is, one version per key; refused
       where a key is NULL
    3. the merge: rows that are the same, or older than what is stored, are not written. Where a MERGE cannot say what it did (all but
       PostgreSQL 17 and later), `two_clocks_changes` says it before

  dbt looks for this name in the root project only, so a consumer adds one line:
    {% raw %}{% macro get_incremental_newest_wins_sql(arg_dict) %}{{ return(two_clocks.get_incremental_newest_wins_sql(arg_dict)) }}{% endmacro %}{% endraw %}
-#}
{% macro get_incremental_newest_wins_sql(arg_dict) %}
  {% set book = two_clocks._run_book() %}
  {% if two_clocks._all_skipped(book) %}
    {% do book.update({'batch': [two_clocks._no_changes()] * book.windows | length, 'written': [{'inserted': 0, 'updated': 0}] * book.windows | length}) %}
    {{ return('select 0 as rows_written -- the load log says that there is nothing to read') }}
  {% endif %}
  {% set plan = two_clocks._merge_plan(arg_dict, book) %}
  {{ return(two_clocks.merge_batch(plan, book)) }}
{% endmacro %}


{# with a load log that has not moved the batch is empty by proof: it needs neither lock nor merge #}
{% macro _all_skipped(book) %}
  {% set read = book.windows.values() | rejectattr('status', 'equalto', 'skipped') | list %}
  {{ return(book.windows | length > 0 and not read) }}
{% endmacro %}

{% macro _no_changes() %}
  {{ return({'extracted': 0, 'superseded': 0, 'stale': 0, 'unchanged': 0, 'late': 0, 'max_lateness': none}) }}
{% endmacro %}


{#- What the merge needs to know, with every name looked up in the target and quoted. -#}
{% macro _merge_plan(arg_dict, book) %}
  {% set columns = two_clocks._with_quoted_names(arg_dict.dest_columns) %}
  {% for column in columns if column.name | lower in ['two_clocks_stream', 'two_clocks_rank', 'two_clocks_action', 'two_clocks_versions'] %}
    {% do two_clocks._refuse("model " ~ model.name ~ " has a column " ~ two_clocks._shown(column.name) ~ ", a name that newest_wins needs for itself while it works; call it otherwise in the model") %}
  {% endfor %}
  {% if not arg_dict.unique_key %}
    {% do two_clocks._refuse("model " ~ model.name ~ " has no unique_key, and a look-back without a key would store rows twice; declare unique_key in its config") %}
  {% endif %}
  {% set named_keys = [arg_dict.unique_key] if arg_dict.unique_key is string else arg_dict.unique_key %}
  {% set keys = [] %}
  {% for name in named_keys %}
    {% do keys.append(two_clocks._needed_column(columns, name, 'unique_key')) %}
  {% endfor %}
  {% if not book.target_watermark %}
    {% do two_clocks._refuse("model " ~ model.name ~ " uses newest_wins but no window, so nothing says which version of a row is newer; read its source through two_clocks.windowed()") %}
  {% endif %}
  {% set update_columns = [] %}
  {% for column in two_clocks._updated_columns(columns, arg_dict.dest_columns) if column not in keys %}
    {% do update_columns.append(column) %}
  {% endfor %}
  {% set predicates = arg_dict.incremental_predicates or [] %}
  {{ return({
      'target': arg_dict.target_relation,
      'batch': arg_dict.temp_relation,
      'columns': columns,
      'keys': keys,
      'watermark': two_clocks._needed_column(columns, book.target_watermark, 'watermark'),
      'update_columns': update_columns,
      'differs': two_clocks._differs_in(update_columns),
      'predicates': [predicates] if predicates is string else predicates,
      'windows': book.windows.values() | list
  }) }}
{% endmacro %}


{# dbt's own rule for merge_update_columns and merge_exclude_columns; where neither is set, it is every column #}
{% macro _updated_columns(columns, dest_columns) %}
  {% set only, never = config.get('merge_update_columns'), config.get('merge_exclude_columns') %}
  {% if not only and not never %}{{ return(columns) }}{% endif %}
  {% set named = [] %}
  {% for name in get_merge_update_columns(only, never, dest_columns) %}
    {% do named.append(two_clocks._needed_column(columns, name, 'merge_update_columns')) %}
  {% endfor %}
  {{ return(named) }}
{% endmacro %}


{% macro _needed_column(columns, name, what) %}
  {% set column = two_clocks._find_column(columns, name | string) %}
  {% if column is none %}
    {% do two_clocks._refuse(what ~ " of " ~ model.name ~ " names " ~ two_clocks._shown(name) ~ ", which is no column of the model (it has: " ~ (columns | map(attribute='name') | join(', ')) ~ ")") %}
  {% endif %}
  {{ return(column) }}
{% endmacro %}


{#-
  Works out what the batch changes, under the lock on the target, in one trip. Returns its counts by window, for the ledger: a list,
  one mapping per window: extracted, superseded, stale, unchanged, late, max_lateness.
  Refuses a NULL in the key, and a target whose key is not unique.
-#}
{% macro _work_out_changes(plan) %}
  {% set rows = two_clocks._in_one_trip([two_clocks.lock_target_sql(plan.target), two_clocks.create_changes_sql(plan), two_clocks.count_changes_sql(plan)]).rows %}
  {% do two_clocks._refuse_null_keys(plan, rows | sum(attribute='null_keys')) %}
  {% do two_clocks._refuse_repeated_keys(plan, rows[0].repeated if rows else 0) %}
  {% set counts = [] %}
  {% for cut in plan.windows or [none] %}
    {% set found = rows | selectattr('stream', 'equalto', loop.index0) | first
        | default({'extracted': 0, 'superseded': 0, 'stale': 0, 'fresh': 0, 'late': 0, 'max_lateness': none}) %}
    {% do counts.append({
        'extracted': found.extracted | int, 'superseded': found.superseded | int, 'stale': found.stale | int,
        'unchanged': (found.extracted - found.superseded - found.stale - found.fresh) | int,
        'late': found.late | int, 'max_lateness': found.max_lateness}) %}
  {% endfor %}
  {{ return(counts) }}
{% endmacro %}


{% macro _refuse_null_keys(plan, count) %}
  {% if count > 0 %}
    {% do two_clocks._refuse((count | int) ~ " of the rows that " ~ model.name ~ " selects have NULL in their unique_key (" ~ plan['keys'] | map(attribute='name') | join(', ') ~ "), which can neither be merged nor told apart; filter or fill them in the model. Nothing was written") %}
  {% endif %}
{% endmacro %}

{% macro _refuse_repeated_keys(plan, count) %}
  {% if count > 0 %}
    {% do two_clocks._refuse("the target of " ~ model.name ~ " holds more than one row for " ~ (count | int) ~ " of the keys in this batch (" ~ plan['keys'] | map(attribute='name') | join(', ') ~ "), so no row can be said to be the stored version; remove the doubles or rebuild with --full-refresh. Nothing was written") %}
  {% endif %}
{% endmacro %}


{# runs a statement inside the model's transaction, beginning it if nothing has yet; returns its rows #}
{% macro _in_transaction(sql) %}
  {% if not sql %}{{ return(none) }}{% endif %}
  {% call statement('two_clocks_step', fetch_result=true, auto_begin=true) %}{{ sql }}{% endcall %}
  {{ return(load_result('two_clocks_step').table) }}
{% endmacro %}
