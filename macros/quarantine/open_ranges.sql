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

  Ends are exact text. While a range is searched, lower_value is outside the range (none: from the beginning) and upper_value inside; of a pinned range both
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
    'opened_at': 'time', 'changed_at': 'time', 'narrowed_by': 'text', 'empty_since': 'time', 'reason': 'text'}) }}
{% endmacro %}


{# only this model's own failures open its ranges, so what was true when this invocation first asked is true enough #}
{% macro _open_ranges_exist() %}
  {{ return(two_clocks._ledger_exists(two_clocks.open_ranges_relation(), or_when_it_was_asked=true)) }}
{% endmacro %}


{# the ranges of one window's table and stream, whatever the model was called when they were opened #}
{% macro _ranges_of(cut, alias) %}
  {{ return(alias ~ '.target_relation = ' ~ two_clocks.text_literal(two_clocks._plain_name(cut.target_relation)) ~ ' and '
      ~ (alias ~ '.stream = ' ~ two_clocks.text_literal(cut.request.stream) if cut.request.stream else alias ~ '.stream is null')) }}
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
