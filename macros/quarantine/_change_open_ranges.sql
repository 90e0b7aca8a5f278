{#- After a run: how open ranges (open_ranges.sql) are opened, narrowed, pinned and closed. -#}

{#- After a success, in its transaction: what was searched is narrowed from below, what was read whole is closed. -#}
{% macro _settle_open_ranges(cut) %}
  {% if not cut.get('poison') or not two_clocks._open_ranges_exist() %}{{ return(none) }}{% endif %}
  {% if cut.probe %}
    {% do two_clocks._in_transaction(two_clocks.change_ranges_sql(cut, [cut.probe.range_id], {
        'lower_value': two_clocks.text_literal(cut.probe.middle_value), 'narrowed_by': "'success'"})) %}
  {% endif %}
  {% for sql in two_clocks.pin_ranges_sql(cut) %}{% do two_clocks._in_transaction(sql) %}{% endfor %}
  {% for ids, changes in [
      (cut.adopted, {'model': two_clocks.text_literal(cut.model)}), (cut.just_emptied, {'empty_since': two_clocks.utc_literal(cut.clocks.wall_clock)}),
      (cut.refilled, {'empty_since': 'null'}), (cut.emptied, {'state': "'closed'", 'reason': "'no row has lain in it for a day'"})] if ids %}
    {% do two_clocks._in_transaction(two_clocks.change_ranges_sql(cut, ids, changes)) %}
  {% endfor %}
  {% if (cut.reads_ranges or cut.trial) and cut.to %}{% do two_clocks._in_transaction(two_clocks.close_ranges_sql(cut)) %}{% endif %}
{% endmacro %}


{% macro pin_ranges_sql(cut) %}
  {% set statements = [] %}
  {% for range in cut.pins %}
    {% do statements.append(two_clocks.change_ranges_sql(cut, [range.range_id], {
        'state': "'pinned'", 'lower_value': two_clocks.text_literal(range.lower_value), 'upper_value': two_clocks.text_literal(range.upper_value)})) %}
  {% endfor %}
  {{ return(statements) }}
{% endmacro %}


{% macro change_ranges_sql(cut, ids, changes) %}
  {%- set quoted, parts = [], [] -%}
  {%- for id in ids -%}{%- do quoted.append(two_clocks.text_literal(id)) -%}{%- endfor -%}
  {%- for name, value in changes.items() -%}{%- do parts.append(name ~ ' = ' ~ value) -%}{%- endfor -%}
  update {{ two_clocks.open_ranges_relation() }} set {{ parts | join(', ') }}, changed_at = {{ two_clocks.utc_literal(cut.clocks.wall_clock) }}
  where range_id in ({{ quoted | join(', ') }})
{% endmacro %}


{# ranges that lie wholly in a window which left nothing out #}
{% macro close_ranges_sql(cut) %}
  {%- set type = cut.watermark.type -%}
  update {{ two_clocks.open_ranges_relation() }} as ranges set state = 'closed', reason = 'read without an error', changed_at = {{ two_clocks.utc_literal(cut.clocks.wall_clock) }}
  where {{ two_clocks._ranges_of(cut, 'ranges') }} and ranges.state in ('searching', 'pinned')
    and {{ two_clocks.safe_cast('ranges.upper_value', type) }} <= {{ cut.to }}
    {%- if cut['from'] %}
    and ({{ two_clocks.safe_cast('ranges.lower_value', type) }} >= {{ cut['from'] }}
      or (ranges.lower_value is null and not exists (select 1 from {{ cut.request.relation }} where {{ cut.watermark.sql }} < {{ cut['from'] }})))
    {%- endif %}
{% endmacro %}


{#- After a failure, from on-run-end: the statements that narrow a range from above, or open one. -#}
{% macro _ranges_after_failure(cut, message) %}
  {% if not cut.get('poison') or cut.kind not in ['initial', 'incremental'] or cut.reads_ranges or cut.get('breaker_tripped') or cut.to is none %}{{ return([]) }}{% endif %}
  {% set text = two_clocks.text_literal(message) %}
  {% if cut.probe or cut.trial %}
    {% set changes = {'failures': 'failures + 1', 'message': text, 'narrowed_by': "'failure'"} %}
    {% if cut.probe %}{% do changes.update({'upper_value': two_clocks.text_literal(cut.probe.middle_value)}) %}{% endif %}
    {{ return([two_clocks.change_ranges_sql(cut, [cut.probe.range_id if cut.probe else cut.trial], changes)]) }}
  {% endif %}
  {#- what failed although a range that was found is left out is another poison: that one's search is over -#}
  {% set statements = two_clocks.pin_ranges_sql(cut) %}
  {% if two_clocks._one_value(two_clocks.failures_in_a_row_sql(cut)) | int + 1 >= cut.poison.after %}
    {% do two_clocks.ensure_table(two_clocks.open_ranges_relation(), two_clocks.open_range_columns()) %}
    {% do statements.append(two_clocks.open_range_sql(cut, text)) %}
  {% endif %}
  {{ return(statements) }}
{% endmacro %}


{# failed windows since the last success, this one not yet among them; a breaker that tripped is no such failure #}
{% macro failures_in_a_row_sql(cut) %}
  {%- set ledger = two_clocks.ledger_relation() -%}
  select count(*) from {{ ledger }} as failed
  where {{ two_clocks._letters_of(cut, 'failed') }} and failed.status = 'failed' and failed.kind in ('initial', 'incremental')
    and failed.message not like '%break its rules, more than max_%'
    and not exists (
      select 1 from {{ ledger }} as later
      where {{ two_clocks._letters_of(cut, 'later') }} and later.status in ('succeeded', 'skipped') and later.kind <> 'backfill' and later.started_at >= failed.started_at)
{% endmacro %}


{# one search at a time #}
{% macro open_range_sql(cut, message) %}
  {%- set watermark, request = cut.watermark, cut.request -%}
  {%- set lower = 'cast(null as ' ~ dbt.type_string() ~ ')' -%}
  {%- if cut['from'] -%}
    {%- set lower = '(select ' ~ two_clocks.exact_text('max(' ~ watermark.sql ~ ')', watermark.kind) ~ (" || '+00'" if watermark.kind == 'timestamptz' else '') ~ ' from ' ~ request.relation ~ ' where ' ~ watermark.sql ~ ' < ' ~ cut['from'] ~ ')' -%}
  {%- endif -%}
  {%- set now = two_clocks.utc_literal(cut.clocks.wall_clock) -%}
  insert into {{ two_clocks.open_ranges_relation() }} (range_id, model, target_relation, stream, source_relation, watermark_column,
    state, lower_value, upper_value, failures, message, opened_at, changed_at)
  select {{ two_clocks.text_literal(two_clocks._window_id(cut)) }}, {{ two_clocks.text_literal(cut.model) }}, {{ two_clocks.text_literal(two_clocks._plain_name(cut.target_relation)) }},
    {{ two_clocks.text_literal(request.stream) if request.stream else 'cast(null as ' ~ dbt.type_string() ~ ')' }}, {{ two_clocks.text_literal(two_clocks._plain_name(request.relation)) }}, {{ two_clocks.text_literal(request.watermark) }},
    'searching', {{ lower }}, {{ two_clocks.text_literal(cut.clocks.window_to_value) }}, {{ cut.poison.after }}, {{ message }}, {{ now }}, {{ now }}
  where not exists (
    select 1 from {{ two_clocks.open_ranges_relation() }} as ranges where {{ two_clocks._ranges_of(cut, 'ranges') }} and ranges.state = 'searching')
{% endmacro %}
