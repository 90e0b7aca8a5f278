{#-
  A first build or a full refresh is a batch too, but dbt makes it with `create table as`, past every strategy.
  So the rules of newest_wins are kept here, on the new table, before dbt commits it.
-#}
{% macro _settle_build(book) %}
  {% set built = two_clocks._rows_built(load_result('main')) %}
  {% set is_newest_wins = config.get('incremental_strategy') == 'newest_wins' and config.get('materialized') == 'incremental' %}
  {% set removed = two_clocks._keep_newest(book, this) if is_newest_wins else 0 %}
  {% do two_clocks._check_shrink(book, built - removed) %}
  {% do two_clocks._count_build(book, built, removed) %}
{% endmacro %}


{# the engine says how many rows `create table as` made where it can; else they are counted #}
{% macro _rows_built(result) %}
  {% set said = result.response.rows_affected if result else none %}
  {{ return(said if said is number and said >= 0 and adapter.type() == 'postgres' else two_clocks._one_value('select count(*) from ' ~ this) | int) }}
{% endmacro %}


{# removes older versions of a key from a table just built; returns how many; refuses NULL keys #}
{% macro _keep_newest(book, table) %}
  {% set columns = adapter.get_columns_in_relation(table) %}
  {% set plan = two_clocks._merge_plan({'target_relation': table, 'temp_relation': table, 'unique_key': config.get('unique_key'), 'dest_columns': columns, 'incremental_predicates': none}, book) %}
  {% set keys = plan['keys'] | map(attribute='quoted') | list %}
  {% set null_keys = [] %}
  {% for key in keys %}{% do null_keys.append(key ~ ' is null') %}{% endfor %}
  {% set row = two_clocks._in_transaction(
      'select coalesce(sum(two_clocks_versions), 0), coalesce(sum(case when ' ~ null_keys | join(' or ') ~ ' then two_clocks_versions end), 0), coalesce(sum(two_clocks_versions - 1), 0) from (select ' ~ keys | join(', ') ~ ', count(*) as two_clocks_versions from ' ~ table ~ ' group by ' ~ keys | join(', ') ~ ') as by_key').rows[0] %}
  {% do two_clocks._refuse_null_keys(plan, row[1]) %}
  {% if row[2] > 0 %}
    {% do two_clocks._in_transaction(two_clocks.delete_superseded_sql(plan)) %}
  {% endif %}
  {{ return(row[2] | int) }}
{% endmacro %}


{% macro delete_superseded_sql(plan) %}
  {%- set keys = plan['keys'] | map(attribute='quoted') | list -%}
  {%- set others = plan.columns | rejectattr('quoted', 'in', keys) | rejectattr('quoted', 'equalto', plan.watermark.quoted) | list -%}
  delete from {{ plan.target }} where {{ two_clocks.row_address() }} in (
    select ranked.address from (
      select {{ two_clocks.row_address() }} as address, {{ two_clocks._version_rank(keys, plan.watermark.quoted, two_clocks._comparables(others)) }} as two_clocks_rank from {{ plan.target }}
    ) as ranked
    where ranked.two_clocks_rank > 1
  )
{% endmacro %}


{# by window; with one window no row needs to be looked at again #}
{% macro _count_build(book, built, removed) %}
  {% set cuts = book.windows.values() | list %}
  {% set batch, written = [], [] %}
  {% set stored = [built - removed] %}
  {% if cuts | length > 1 %}
    {% set rows = two_clocks._in_transaction('select ' ~ two_clocks._stream_of_row(cuts) ~ ' as stream, count(*) as stored from ' ~ this ~ ' group by 1').rows %}
    {% set stored = [] %}
    {% for cut in cuts %}
      {% do stored.append((rows | selectattr('stream', 'equalto', loop.index0) | map(attribute='stored') | first | default(0)) | int) %}
    {% endfor %}
  {% endif %}
  {% for count in stored %}
    {#- older versions are gone and cannot be told apart by stream: they are counted with the first -#}
    {% set superseded = removed if loop.first else 0 %}
    {% do batch.append({'extracted': count + superseded, 'superseded': superseded, 'stale': 0, 'unchanged': 0, 'late': 0, 'max_lateness': none}) %}
    {% do written.append({'inserted': count, 'updated': 0}) %}
  {% endfor %}
  {% do book.update({'batch': batch, 'written': written}) %}
{% endmacro %}


{# how many rows a full refresh is about to replace; asked before the build, while they are still there #}
{% macro _count_before_full_refresh(book, cut) %}
  {% if cut.kind == 'full_refresh' and 'rows_before' not in book and config.get('materialized') == 'incremental' %}
    {% set existing = load_cached_relation(this) %}
    {% do book.update({'max_shrink': cut.request.max_shrink,
        'rows_before': two_clocks._one_value('select count(*) from ' ~ this) | int if existing.type == 'table' else 0}) %}
  {% endif %}
{% endmacro %}


{# --empty builds nothing, so together with --full-refresh it would leave nothing of what is stored #}
{% macro _check_empty_refresh(request) %}
  {% if not two_clocks._is_writing_command() or not should_full_refresh() or request.max_shrink == 1 or config.get('materialized') != 'incremental' %}{{ return(none) }}{% endif %}
  {% set existing = load_cached_relation(this) %}
  {% if existing is none or existing.type != 'table' %}{{ return(none) }}{% endif %}
  {% set before = two_clocks._one_value('select count(*) from ' ~ this) | int %}
  {% if before > 0 %}
    {% do two_clocks._refuse("--full-refresh with --empty would leave nothing of the " ~ before ~ " rows of " ~ model.name ~ "; leave one of the two out, or allow it with --vars '{two_clocks_max_shrink: 1}'. Nothing was replaced") %}
  {% endif %}
{% endmacro %}


{% macro _check_shrink(book, rows_now) %}
  {% set before = book.get('rows_before', 0) %}
  {% if before > 0 and rows_now < before * (1 - book.max_shrink) %}
    {% set gone = before - rows_now %}
    {% do two_clocks._refuse("the full refresh of " ~ model.name ~ " would leave " ~ rows_now ~ " rows where " ~ before ~ " are stored: " ~ gone ~ " rows (" ~ '%.1f' | format(100.0 * gone / before)
        ~ " %) would go, more than two_clocks_max_shrink = " ~ book.max_shrink ~ " allows; check that the source still holds its past, or allow it with --vars '{two_clocks_max_shrink: 1}'. Nothing was replaced") %}
  {% endif %}
{% endmacro %}
