{#- Before a run: how open ranges (open_ranges.sql) cut its window. -#}

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
      {% if range.empty_since is none %}
        {% do cut.just_emptied.append(range.range_id) %}
      {% elif two_clocks._a_day_ago(range.empty_since, cut.clocks.wall_clock) %}
        {% do cut.emptied.append(range.range_id) %}
      {% endif %}
    {% elif range.state == 'searching' and range.narrowed_by == 'success' and (found.within_floor == 1 or range.failures | int == poison.after) %}
      {% do cut.update({'trial': range.range_id}) %}
      {% do two_clocks.prepare_safe_cast() %}
    {% elif range.state != 'searching' or found.within_floor == 1 %}
      {% set pinned = range %}
      {% if range.state == 'searching' %}
        {% set pinned = {'range_id': range.range_id, 'state': 'pinned', 'lower_value': two_clocks._tidy_value(found.least_value, cut.watermark.kind), 'upper_value': two_clocks._tidy_value(found.greatest_value, cut.watermark.kind)} %}
        {% do cut.pins.append(pinned) %}
      {% elif range.empty_since is not none %}
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
