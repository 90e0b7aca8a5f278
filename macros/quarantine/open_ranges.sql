{#-
  Repeated failure for a reason that no rule knows: a cast inside the model, a constraint of the sink. After `after` failed
  windows in a row a range is opened, and every run after that reads half of it: what succeeds is delivered, what fails is
  halved again, until the range holds one watermark or is no wider than `floor`. Then it is pinned: windows leave it out,
  everything else is delivered, and the range stays a finding until a run has read it or a person has written it off.

      config:
        meta:
          two_clocks_poison: {after: 3, floor: '1 hour'}      # the default is {after: 3, floor: 0}; false turns it off

  Halves are counted in watermarks, not in hours, so the search takes after + log2(watermarks in the window) + 1 runs, and one or
  two more: that the poison is in the half that was not read is a guess, and where the cause has gone meanwhile a wrong one. So the
  whole is tried once after the first half that could be read, and once before a range is pinned that has not failed by itself.
  Exact text. While it is searched, lower_value is outside the range (none: from the beginning) and upper_value inside; of a pinned range both
  are inside: they are watermarks that were there, so that nothing which comes later between them and others is left out.
  A range belongs to a table and not to a model's name. It is not closed the moment that nothing lies in it, since a source may be
  emptied and filled again, but when nothing has lain in it for a day.
-#}
{% macro open_ranges_relation() %}
  {{ return(two_clocks.ledger_relation().incorporate(path={'identifier': 'two_clocks_open_ranges'})) }}
{% endmacro %}


{#- Columns of the open ranges in order, each with what kind of value it holds: text, time (UTC, no zone) or number. -#}
{% macro open_range_columns() %}
  {{ return({
    'range_id': 'text', 'model': 'text', 'target_relation': 'text', 'stream': 'text', 'source_relation': 'text', 'watermark_column': 'text',
    'state': 'text', 'lower_value': 'text', 'upper_value': 'text', 'failures': 'number', 'message': 'text',
    'opened_at': 'time', 'changed_at': 'time', 'reason': 'text'}) }}
{% endmacro %}


{# what the model declares, or the default; none where it was turned off; refused like every other value #}
{% macro _poison_request(cut) %}
  {% set said = (config.get('meta') or {}).get('two_clocks_poison') %}
  {#- rows without a watermark lie in no half, so one of them could never be found, and innocent ones would be blamed -#}
  {% if said is false or cut.request.nulls == 'include' %}{{ return(none) }}{% endif %}
  {% set place = 'two_clocks_poison of ' ~ model.name %}
  {% set said = {} if said is none or said is true else said %}
  {% if said is not mapping %}
    {% do two_clocks._refuse("meta " ~ place ~ " is " ~ two_clocks._shown(said) ~ "; write false, or a mapping with after and floor") %}
  {% endif %}
  {% do two_clocks._only_known(said, ['after', 'floor'], 'meta ' ~ place) %}
  {% set after = two_clocks._read_whole_number({'value': said.get('after', 3), 'name': 'after in meta ' ~ place}) %}
  {% set floor = two_clocks._read_duration({'value': said.get('floor', 0), 'name': 'floor in meta ' ~ place}, '1 hour') %}
  {% if after < 1 %}{% do two_clocks._refuse("after in meta " ~ place ~ " is 0; write a whole number of 1 or more") %}{% endif %}
  {% if cut.watermark.kind == 'integer' and not cut.watermark.units_per_second and not floor.is_number %}
    {% do two_clocks._refuse("floor in meta " ~ place ~ " is " ~ two_clocks._shown(said.floor) ~ ", a length of time, but the watermark " ~ cut.request.watermark ~ " counts up as an id; write a plain number") %}
  {% endif %}
  {{ return({'after': after, 'floor': floor.amount}) }}
{% endmacro %}


{# only this model's own failures open its ranges, so what was true when this invocation first asked is true enough #}
{% macro _open_ranges_exist() %}
  {{ return(two_clocks._ledger_exists(two_clocks.open_ranges_relation(), or_when_it_was_asked=true)) }}
{% endmacro %}


{#- Cuts a window to what the open ranges leave of it: half of the one that is searched, and never what is pinned. -#}
{% macro _mind_open_ranges(cut) %}
  {% if cut.status == 'skipped' %}{{ return(none) }}{% endif %}
  {% set poison = two_clocks._poison_request(cut) %}
  {% if poison is none %}{{ return(none) }}{% endif %}
  {% do cut.update({'poison': poison, 'pins': [], 'just_emptied': [], 'emptied': [], 'refilled': [], 'adopted': [], 'probe': none, 'trial': none}) %}
  {#- these read the whole of what they were asked for; if that succeeds, the ranges in it are closed -#}
  {% set reads_all = cut.kind in ['backfill', 'full_refresh'] or two_clocks._retries_ranges() %}
  {% do cut.update({'reads_ranges': reads_all}) %}
  {% if not two_clocks._open_ranges_exist() %}{{ return(none) }}{% endif %}
  {% if reads_all %}
    {% do two_clocks.prepare_safe_cast() %}{# closing compares text with the window #}
    {{ return(none) }}
  {% endif %}

  {% set left_out = [] %}
  {% for range in run_query(two_clocks.ranges_of_sql(cut)).rows %}
    {% set inside = two_clocks._in_range(cut, range) %}
    {% set found = run_query(two_clocks.halve_range_sql(cut, inside)).rows[0] %}
    {% if range.model != cut.model %}{% do cut.adopted.append(range.range_id) %}{% endif %}
    {% if (found.marks or 0) == 0 and range.state != 'written_off' %}
      {% if range.reason != two_clocks._is_empty() %}
        {% do cut.just_emptied.append(range.range_id) %}
      {% elif two_clocks._a_day_ago(range.changed_at, cut.clocks.wall_clock) %}
        {% do cut.emptied.append(range.range_id) %}
      {% endif %}
    {% elif range.state == 'searching' and range.reason == two_clocks._lower_half_was_read() and (found.within_floor == 1 or range.failures | int == poison.after) %}
      {% do cut.update({'trial': range.range_id}) %}
      {% do two_clocks.prepare_safe_cast() %}
    {% elif range.state != 'searching' or found.within_floor == 1 %}
      {% set pinned = range %}
      {% if range.state == 'searching' %}
        {% set pinned = {'range_id': range.range_id, 'state': 'pinned', 'lower_value': two_clocks._tidy_value(found.least_value, cut.watermark.kind), 'upper_value': two_clocks._tidy_value(found.greatest_value, cut.watermark.kind)} %}
        {% do cut.pins.append(pinned) %}
      {% elif range.reason == two_clocks._is_empty() %}
        {% do cut.refilled.append(range.range_id) %}
      {% endif %}
      {% do left_out.append(two_clocks._not_in_range(cut, pinned)) %}
    {% else %}
      {% do cut.update({'probe': {
          'range_id': range.range_id, 'lower': range.lower_value, 'failures': range.failures | int,
          'middle_value': two_clocks._tidy_value(found.middle_value, cut.watermark.kind), 'middle': two_clocks._tidy_value(found.middle, 'timestamp')}}) %}
    {% endif %}
  {% endfor %}
  {% if cut.probe %}{% do two_clocks._read_half(cut) %}{% endif %}
  {% if left_out %}{% do cut.update({'predicate': '(' ~ cut.predicate ~ ') and ' ~ left_out | join(' and ')}) %}{% endif %}
{% endmacro %}


{# what a range says of itself while only success has narrowed it: that it holds the poison is a guess #}
{% macro _lower_half_was_read() %}{{ return('what lay below it was read without an error') }}{% endmacro %}


{% macro _is_empty() %}{{ return('no row lies in it now') }}{% endmacro %}

{% macro _a_day_ago(moment, now) %}
  {% set ends = [] %}
  {% for time in [moment, now] %}{% do ends.append(modules.datetime.datetime.strptime((time | string)[:19] | replace('T', ' '), '%Y-%m-%d %H:%M:%S')) %}{% endfor %}
  {{ return(ends[1] - ends[0] >= modules.datetime.timedelta(days=1)) }}
{% endmacro %}


{# the window becomes the lower half of the range; the ledger shows it as such #}
{% macro _read_half(cut) %}
  {% set probe, watermark = cut.probe, cut.watermark %}
  {% set lower = two_clocks.watermark_literal(probe.lower, watermark.kind, watermark.type) if probe.lower is not none else none %}
  {% set upper = two_clocks.watermark_literal(probe.middle_value, watermark.kind, watermark.type) %}
  {% do cut.clocks.update({'window_from_value': probe.lower, 'window_to_value': probe.middle_value, 'window_to': probe.middle}) %}
  {% set is_id = watermark.kind == 'integer' and not watermark.units_per_second %}
  {% do cut.clocks.update({'window_from': none if lower is none or is_id else two_clocks._tidy_value(
      two_clocks._one_value('select ' ~ two_clocks.exact_text(two_clocks.watermark_to_utc(lower, watermark.kind, watermark.units_per_second, cut.request.time_zone), 'timestamp')), 'timestamp')}) %}
  {% do cut.update({'from': lower, 'to': upper,
      'predicate': (watermark.sql ~ ' >= ' ~ lower ~ ' and ' if lower else '') ~ watermark.sql ~ ' <= ' ~ upper,
      'message': 'half of a range in which ' ~ probe.failures ~ (' window has' if probe.failures == 1 else ' windows have') ~ ' failed'}) %}
{% endmacro %}


{# var two_clocks_retry_ranges: the one run that reads open ranges again #}
{% macro _retries_ranges() %}{{ return(var('two_clocks_retry_ranges', false) | string | lower == 'true') }}{% endmacro %}

{% macro _in_range(cut, range) %}
  {%- set watermark = cut.watermark -%}
  {%- set above = ' >= ' if two_clocks._holds_its_lower_end(range) else ' > ' -%}
  {{ return((watermark.sql ~ above ~ two_clocks.watermark_literal(range.lower_value, watermark.kind, watermark.type) ~ ' and ' if range.lower_value is not none else '')
      ~ watermark.sql ~ ' <= ' ~ two_clocks.watermark_literal(range.upper_value, watermark.kind, watermark.type)) }}
{% endmacro %}

{# not the negation of it: a row without a watermark lies in no range #}
{% macro _not_in_range(cut, range) %}
  {%- set watermark = cut.watermark -%}
  {%- set below = ' < ' if two_clocks._holds_its_lower_end(range) else ' <= ' -%}
  {{ return('(' ~ watermark.sql ~ ' is null or ' ~ watermark.sql ~ ' > ' ~ two_clocks.watermark_literal(range.upper_value, watermark.kind, watermark.type)
      ~ (' or ' ~ watermark.sql ~ below ~ two_clocks.watermark_literal(range.lower_value, watermark.kind, watermark.type) if range.lower_value is not none else '') ~ ')') }}
{% endmacro %}

{% macro _holds_its_lower_end(range) %}{{ return(range.state in ['pinned', 'written_off']) }}{% endmacro %}


{# the ranges of one window's table and stream, whatever the model was called when they were opened #}
{% macro _ranges_of(cut, alias) %}
  {{ return(alias ~ '.target_relation = ' ~ two_clocks.text_literal(two_clocks._plain_name(cut.target_relation)) ~ ' and '
      ~ (alias ~ '.stream = ' ~ two_clocks.text_literal(cut.request.stream) if cut.request.stream else alias ~ '.stream is null')) }}
{% endmacro %}


{% macro ranges_of_sql(cut) %}
  select ranges.* from {{ two_clocks.open_ranges_relation() }} as ranges
  where {{ two_clocks._ranges_of(cut, 'ranges') }} and ranges.state in ('searching', 'pinned', 'written_off')
  order by ranges.opened_at
{% endmacro %}


{# how many watermarks lie in a range, the one in the middle, and whether they lie as close as the search goes #}
{% macro halve_range_sql(cut, inside) %}
  {%- set watermark, request = cut.watermark, cut.request -%}
  {%- set kind, units = watermark.kind, watermark.units_per_second -%}
  select halves.marks,
    {% for name in ['least', 'middle', 'greatest'] %}{{ two_clocks.exact_text('halves.' ~ name, kind) }} as {{ name }}_value, {% endfor %}
    {{ 'cast(null as ' ~ dbt.type_string() ~ ')' if kind == 'integer' and not units else two_clocks.exact_text(two_clocks.watermark_to_utc('halves.middle', kind, units, request.time_zone), 'timestamp') }} as middle,
    case when halves.marks = 1 or halves.least >= {{ two_clocks.shift_back('halves.greatest', cut.poison.floor, kind, units, none, watermark.type) }} then 1 else 0 end as within_floor
  from (
    select max(ordered.marks) as marks, min(ordered.mark) as least, max(ordered.mark) as greatest,
      max(case when ordered.place * 2 <= ordered.marks then ordered.mark end) as middle
    from (
      select distinct_marks.mark, row_number() over (order by distinct_marks.mark) as place, count(*) over () as marks
      from (select distinct {{ watermark.sql }} as mark from {{ request.relation }} where {{ inside }}) as distinct_marks
    ) as ordered
  ) as halves
{% endmacro %}


{#- After a success, in its transaction: what was searched is narrowed from below, what was read whole is closed. -#}
{% macro _settle_open_ranges(cut) %}
  {% if not cut.get('poison') or not two_clocks._open_ranges_exist() %}{{ return(none) }}{% endif %}
  {% if cut.probe %}
    {% do two_clocks._in_transaction(two_clocks.change_ranges_sql(cut, [cut.probe.range_id], {
        'lower_value': two_clocks.text_literal(cut.probe.middle_value), 'reason': two_clocks.text_literal(two_clocks._lower_half_was_read())})) %}
  {% endif %}
  {% for sql in two_clocks.pin_ranges_sql(cut) %}{% do two_clocks._in_transaction(sql) %}{% endfor %}
  {% for ids, changes in [
      (cut.adopted, {'model': two_clocks.text_literal(cut.model)}), (cut.just_emptied, {'reason': two_clocks.text_literal(two_clocks._is_empty())}),
      (cut.refilled, {'reason': 'null'}), (cut.emptied, {'state': "'closed'", 'reason': "'no row has lain in it for a day'"})] if ids %}
    {% do two_clocks._in_transaction(two_clocks.change_ranges_sql(cut, ids, changes)) %}
  {% endfor %}
  {% if (cut.reads_ranges or cut.trial) and cut.to %}{% do two_clocks._in_transaction(two_clocks.close_ranges_sql(cut)) %}{% endif %}
{% endmacro %}


{% macro pin_ranges_sql(cut) %}
  {% set statements = [] %}
  {% for range in cut.pins %}
    {% do statements.append(two_clocks.change_ranges_sql(cut, [range.range_id], {
        'state': "'pinned'", 'reason': 'null', 'lower_value': two_clocks.text_literal(range.lower_value), 'upper_value': two_clocks.text_literal(range.upper_value)})) %}
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
    {% set changes = {'failures': 'failures + 1', 'message': text, 'reason': 'null'} %}
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
  insert into {{ two_clocks.open_ranges_relation() }} ({{ two_clocks.open_range_columns() | join(', ') }})
  select {{ two_clocks.text_literal(two_clocks._window_id(cut)) }}, {{ two_clocks.text_literal(cut.model) }}, {{ two_clocks.text_literal(two_clocks._plain_name(cut.target_relation)) }},
    {{ two_clocks.text_literal(request.stream) if request.stream else 'cast(null as ' ~ dbt.type_string() ~ ')' }}, {{ two_clocks.text_literal(two_clocks._plain_name(request.relation)) }}, {{ two_clocks.text_literal(request.watermark) }},
    'searching', {{ lower }}, {{ two_clocks.text_literal(cut.clocks.window_to_value) }}, {{ cut.poison.after }}, {{ message }}, {{ now }}, {{ now }}, cast(null as {{ dbt.type_string() }})
  where not exists (
    select 1 from {{ two_clocks.open_ranges_relation() }} as ranges where {{ two_clocks._ranges_of(cut, 'ranges') }} and ranges.state = 'searching')
{% endmacro %}


{#- The ranges of some models: what `two-clocks quarantine ranges` shows. -#}
{% macro open_ranges_sql(models, settled=false) %}
  {% set table = two_clocks.open_ranges_relation() %}
  {% if not execute or not models or not two_clocks._ledger_exists(table) %}
  select {% for name, kind in two_clocks.open_range_columns().items() %}cast(null as {{ two_clocks._ledger_type(kind) }}) as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
  from (select 1 as one) as nothing
  where 1 = 0
  {% else %}
  select letters.* from {{ table }} as letters
  where ({{ two_clocks._letters_of_models(models) }}){{ '' if settled else " and letters.state in ('searching', 'pinned')" }}
  order by letters.opened_at desc, letters.model
  {% endif %}
{% endmacro %}


{#- run-operation: writes ranges off. What and why comes in the var two_clocks_write_off: {models, ranges, reason}. -#}
{% macro write_off_ranges() %}
  {% set given = var('two_clocks_write_off') %}
  {% set ids = [] %}
  {% for id in given.ranges %}{% do ids.append(two_clocks.text_literal(id | string)) %}{% endfor %}
  {% do two_clocks._in_transaction('update ' ~ two_clocks.open_ranges_relation() ~ ' as letters set state = ' ~ "'written_off'" ~ ', reason = ' ~ two_clocks.text_literal(two_clocks._safe_message(given.reason))
      ~ ', changed_at = ' ~ two_clocks.logical_now_sql() ~ ' where (' ~ two_clocks._letters_of_models(given.models) ~ ') and letters.range_id in (' ~ ids | join(', ') ~ ')') %}
  {% do adapter.commit() %}
{% endmacro %}


{#- The signal: ranges that no run could read, each with the database's error. Takes the scope of signals_sql. -#}
{% macro range_signals_sql(scope) %}
  {%- set text = dbt.type_string() -%}
with names as (
  {% for one in scope -%}
  {{ 'union all ' if not loop.first }}select cast({{ two_clocks.text_literal(one.id) }} as {{ text }}) as model, cast({{ two_clocks.text_literal(one.name) }} as {{ text }}) as name
  {% endfor %}
),
ranges as (
  select found.*, names.name, case when found.state = 'pinned' then '[' else '(' end || coalesce(found.lower_value, 'the beginning') || ', ' || found.upper_value || ']' as range_
  from ({{ two_clocks.open_ranges_sql(scope | map(attribute='id') | list) }}) as found
  inner join names on found.model = names.model
)
select
  {{ two_clocks._number_sql('ranges.failures') }} || ' windows failed, and what fails lies in ' || ranges.watermark_column || ' ' || ranges.range_
    || case when ranges.state = 'pinned' then ', which windows leave out' else ', which the next runs halve' end || ': ' || coalesce(ranges.message, 'no message') as what_happened,
  'model ' || ranges.name || coalesce(', stream ' || ranges.stream, '') || ', range ' || ranges.range_ as where_,
  case when ranges.state = 'pinned' then 'mend what the message says, then two-clocks quarantine retry --select ' || ranges.name || '; or write it off with a reason: two-clocks quarantine write-off'
       else 'let it run on its schedule; rows above the range wait until it is found' end as what_to_do,
  'open_range' as signal,
  ranges.model,
  ranges.stream,
  ranges.range_ as window_,
  ranges.lower_value,
  ranges.upper_value
from ranges
{% endmacro %}
