{#-
  Post-hook: the ledger row of every window that this model read, in the transaction of the data it describes.

      +post-hook: "{{ two_clocks.record_window() }}"

  Runs the insert and leaves dbt nothing to do; does nothing where no window was read (compile, --empty).
  What was written takes the place of the engine's own word in dbt's result line.
  After a first build or a full refresh it also keeps the rules that the merge keeps otherwise: one version per key,
  no NULL key, and not much less than was there before (var two_clocks_max_shrink). It raises then, and dbt rolls
  the build back before anything is replaced.
-#}
{% macro record_window() %}
  {% if not execute %}{{ return('') }}{% endif %}
  {% set book = two_clocks._run_book() %}
  {% if not book.windows %}{{ return('') }}{% endif %}
  {% set cuts = book.windows.values() | list %}
  {% if cuts[0].kind in ['initial', 'full_refresh'] %}
    {% do two_clocks._settle_build(book) %}
  {% endif %}
  {% set rows = [] %}
  {% for cut in cuts %}
    {% do two_clocks._settle_open_ranges(cut) %}
    {% do rows.append(two_clocks._ledger_row(cut, two_clocks._counts_of(book, loop.index0, two_clocks._settle_quarantine(cut)))) %}
  {% endfor %}
  {% set recorded = two_clocks._in_transaction(two_clocks.insert_windows_sql(two_clocks.ledger_relation(), rows)
      ~ ' returning ' ~ two_clocks._result_counts() | join(', ')).rows %}
  {% do two_clocks._say_what_was_written(recorded) %}
  {{ return('') }}
{% endmacro %}


{% macro _result_counts() %}
  {{ return(['rows_inserted', 'rows_updated', 'rows_unchanged', 'rows_stale', 'rows_superseded', 'rows_quarantined', 'rows_late']) }}
{% endmacro %}


{# '3 inserted, 1 updated, 995 unchanged, 1 late' instead of 'INSERT 0 1' #}
{% macro _say_what_was_written(recorded) %}
  {% if not recorded or recorded[0]['rows_inserted'] is none %}{{ return(none) }}{% endif %}
  {#- the last net: whatever the reason, a merge that touched more rows than it was given is rolled back -#}
  {% if recorded | map(attribute='rows_unchanged') | min < 0 %}
    {% do two_clocks._refuse("the merge into " ~ two_clocks._plain_name(this | string) ~ " wrote more rows than the batch of " ~ model.name ~ " holds, so several stored rows answer to one key; make the unique_key unique in the target, and of the same type in the batch. Nothing was written") %}
  {% endif %}
  {% set words = [] %}
  {% for name in two_clocks._result_counts() %}
    {% set count = recorded | sum(attribute=name) %}
    {% if count > 0 or name in ['rows_inserted', 'rows_updated'] %}{% do words.append((count | int) ~ ' ' ~ name[5:]) %}{% endif %}
  {% endfor %}
  {% set fresh = (recorded | sum(attribute='rows_inserted')) + (recorded | sum(attribute='rows_updated')) %}
  {% do store_raw_result('main', message=words | join(', '), code='MERGE', rows_affected=fresh | int) %}
{% endmacro %}


{# the counts of one window as SQL scalars; NULL where a strategy of somebody else's did the writing #}
{% macro _counts_of(book, index, quarantined) %}
  {% if not book.get('batch') %}{{ return({'rows_quarantined': quarantined} if quarantined else {}) }}{% endif %}
  {% set batch, written = book.batch[index], book.written[index] %}
  {{ return({
    'rows_extracted': batch.extracted + quarantined, 'rows_inserted': written.inserted, 'rows_updated': written.updated,
    'rows_unchanged': batch.unchanged, 'rows_stale': batch.stale, 'rows_superseded': batch.superseded,
    'rows_late': batch.late, 'max_lateness_seconds': batch.max_lateness, 'rows_quarantined': quarantined}) }}
{% endmacro %}


{# one window as ledger values: text is quoted later, numbers and SQL scalars are not #}
{% macro _ledger_row(cut, counts, status=none, message=none) %}
  {% set clocks, request = cut.clocks, cut.request %}
  {% set row = {
    'window_id': two_clocks._window_id(cut), 'invocation_id': invocation_id,
    'model': cut.model, 'target_relation': two_clocks._plain_name(cut.target_relation), 'source_relation': two_clocks._plain_name(request.relation),
    'stream': request.stream, 'kind': cut.kind, 'status': status or cut.status, 'message': message or cut.message,
    'watermark_column': request.watermark, 'lookback_seconds': request.lookback.amount,
    'wall_clock': clocks.wall_clock, 'started_at': clocks.started_at} %}
  {% for name in ['source_watermark', 'target_watermark', 'window_from', 'window_to'] %}
    {% set has_ends = cut.status != 'skipped' or name in ['source_watermark', 'target_watermark'] %}
    {% do row.update({name: clocks[name] if has_ends else none, name ~ '_value': clocks[name ~ '_value'] if has_ends else none}) %}
  {% endfor %}
  {% do row.update(counts) %}
  {{ return(row) }}
{% endmacro %}


{% macro _window_id(cut) %}{{ return(local_md5(invocation_id ~ ' ' ~ cut.model ~ ' ' ~ (cut.request.stream or ''))) }}{% endmacro %}

{% macro _plain_name(relation) %}{{ return(relation | replace('"', '') | replace('`', '')) }}{% endmacro %}


{#- The insert. finished_at is the engine's own clock, so that durations are real even in a replay. What no row knows stays NULL by itself. -#}
{% macro insert_windows_sql(ledger, rows) %}
  {%- set columns = {} -%}
  {%- for name, kind in two_clocks.ledger_columns().items() -%}
    {%- set known = namespace(any=name == 'finished_at') -%}
    {%- for row in rows if row[name] is not none and row[name] is not undefined -%}{%- set known.any = true -%}{%- endfor -%}
    {%- if known.any -%}{%- do columns.update({name: kind}) -%}{%- endif -%}
  {%- endfor -%}
  insert into {{ ledger }} ({{ columns | join(', ') }})
  {%- for row in rows %}
  {{ 'union all ' if not loop.first }}select
    {% for name, kind in columns.items() -%}
    {%- if name == 'finished_at' -%}{{ two_clocks.wall_clock_sql() }}
    {%- elif row[name] is none or row[name] is undefined -%}cast(null as {{ two_clocks._ledger_type(kind) }})
    {%- elif kind == 'text' -%}{{ two_clocks.text_literal(row[name] | string) }}
    {%- elif kind == 'time' -%}{{ two_clocks.utc_literal(row[name]) }}
    {%- else -%}{{ row[name] }}
    {%- endif -%}{{ ', ' if not loop.last }}
    {%- endfor %}
  {%- endfor %}
{% endmacro %}
