{#-
  The findings of nothing_lost. While a test runs, the checksums are asked for here, so that keys are only read where they differ; compile
  shows the whole comparison as one statement.
-#}
{% macro _nothing_lost_sql(rows, source_relation, unique_key, watermark, target_watermark, columns, source_columns, source_filter, orphans, until, settle, time_zone, epoch, buckets) %}
  {%- set place = two_clocks._place_of(none) -%}
  {%- if not two_clocks._is_there(none) -%}
    {{ return(two_clocks._finding_sql('there is no such table, so nothing of its source is in it', place, 'build it first')) }}
  {%- elif not two_clocks._is_there(source_relation) -%}
    {{ return(two_clocks._finding_sql('there is no such source as ' ~ two_clocks._plain_name(source_relation | string), place, 'create it, or correct source_relation in the test')) }}
  {%- endif -%}
  {%- set source_rows = two_clocks._in_parentheses(get_where_subquery(source_relation)) -%}
  {%- set pair = two_clocks.comparison(source_rows, two_clocks._in_parentheses(rows), unique_key, watermark, target_watermark=target_watermark, columns=columns, source_columns=source_columns,
      until=until, settle=settle, time_zone=time_zone, source_filter=source_filter, epoch=epoch, buckets=buckets) -%}
  {%- if flags.WHICH not in ['test', 'build', 'retry'] -%}
    {{ return(two_clocks._lost_keys_sql(pair, none, place, source_relation, orphans)) }}
  {%- endif -%}

  {%- set totals = run_query(two_clocks.compare_buckets_sql(pair)).rows -%}
  {%- set compared = totals[0]['source_compared'] + totals[0]['target_compared'] if totals else 0 -%}
  {%- if compared == 0 -%}
    {{ return(two_clocks._told(two_clocks._finding_sql('there was no row to compare: ' ~ two_clocks._why_not_compared(totals), place, two_clocks._empty_advice()))) }}
  {%- endif -%}
  {%- set differing = totals | selectattr('differs', 'equalto', 1) | map(attribute='bucket') | list -%}
  {%- if not differing -%}
    {{ return(two_clocks._lost_keys_shape_sql(pair)) }}
  {%- endif -%}
  {%- do log('two_clocks: ' ~ place ~ ': ' ~ differing | length ~ ' of ' ~ pair.buckets ~ ' checksums differ from those of ' ~ two_clocks._plain_name(source_relation | string)
      ~ ' (' ~ totals[0]['source_compared'] | int ~ ' rows there, ' ~ totals[0]['target_compared'] | int ~ ' here), so their keys are compared; dbt test --store-failures keeps what is found.', info=true) -%}
  {{ return(two_clocks._lost_keys_sql(pair, differing, place, source_relation, orphans)) }}
{% endmacro %}


{# dbt's subquery of a `where` carries an alias of its own; comparison() wants a relation, or a query in parentheses #}
{% macro _in_parentheses(rows) %}
  {% set text = rows | string | trim %}
  {{ return('(select * from ' ~ text ~ ')' if text[0] == '(' else rows) }}
{% endmacro %}


{% macro _why_not_compared(totals) %}
  {% if not totals %}{{ return('both sides are empty' ~ (' under `where` ' ~ config.get('where') if config.get('where') else '')) }}{% endif %}
  {% set reasons = [] %}
  {% for name, why in {'later': 'lie past the last watermark compared', 'future': 'lie ahead of the wall clock', 'unmarked': 'have no watermark', 'keyless': 'have a NULL in their key'}.items() %}
    {% set count = (totals[0]['source_' ~ name] + totals[0]['target_' ~ name]) | int %}
    {% if count > 0 %}{% do reasons.append(count ~ ' ' ~ why) %}{% endif %}
  {% endfor %}
  {{ return('of both sides, rows that ' ~ reasons | join(', ') if reasons else 'both sides are empty' ~ (' under `where` ' ~ config.get('where') if config.get('where') else '')) }}
{% endmacro %}


{% macro _lost_keys_sql(pair, buckets, place, source_relation, orphans) %}
  {%- set text = dbt.type_string() -%}
  {%- set shown = [] -%}
  {%- for key in pair['keys'] -%}{%- do shown.append('lost.key_' ~ loop.index) -%}{%- endfor -%}
  {%- set source_mark = 'coalesce(lost.source_watermark_utc, lost.source_watermark)' -%}
  {%- set target_mark = "coalesce(lost.target_watermark_utc, lost.target_watermark, 'no watermark')" -%}
  {%- set key = shown | join(" || ', ' || ") -%}
  {%- set letters = two_clocks._fates_sql() if pair['keys'] | length == 1 else none -%}
  select
    case lost.what
      when 'missing' then 'the source row ' || {{ key }} || ', last changed ' || {{ source_mark }} || ', is missing'
      when 'stale' then 'the row ' || {{ key }} || ' is there in an older version: ' || {{ target_mark }} || ', while the source shows ' || {{ source_mark }}
      when 'differs' then 'the row ' || {{ key }} || ' has the watermark of the source, ' || {{ source_mark }} || ', but other values'
      else 'the row ' || {{ key }} || ', last changed ' || {{ target_mark }} || ', is gone from the source'
    end {%- if letters %} || coalesce('; ' || letters.fate, ''){% endif %} as what_happened,
    cast({{ two_clocks.text_literal(place ~ ', source ' ~ two_clocks._plain_name(source_relation | string)) }} as {{ text }}) as where_,
    case
      when lost.what = 'orphaned' then 'decide whether the source deleted it or lost it; nothing is deleted unasked'
      {%- if letters %}
      when letters.fate is not null then 'mend it at the source, and the next run that reads it delivers it; two-clocks quarantine list shows it'
      {%- endif %}
      else 'deliver it with two-clocks repair or a backfill over its watermark; then see with two-clocks lookback whether the look-back is long enough'
    end as what_to_do,
    lost.*
  from (
    {{ two_clocks.compare_keys_sql(pair, buckets) }}
  ) as lost
  {%- if letters %}
  left join (
    {{ letters }}
  ) as letters on lost.what <> 'orphaned' and lost.key_1 = letters.key
  {%- endif %}
  {%- if not orphans %}
  where lost.what <> 'orphaned'
  {%- endif %}
{% endmacro %}


{# the same columns without rows, and without a look at the tables #}
{% macro _lost_keys_shape_sql(pair) %}
  {%- set text = dbt.type_string() -%}
  select
    {% for name in ['what_happened', 'where_', 'what_to_do', 'what'] %}cast(null as {{ text }}) as {{ name }}, {% endfor %}
    {% for key in pair['keys'] %}cast(null as {{ text }}) as key_{{ loop.index }}, {% endfor %}
    {% for name in ['source_watermark', 'target_watermark', 'source_watermark_utc', 'target_watermark_utc'] %}cast(null as {{ text }}) as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
  from (select 1 as one) as nothing
  where 1 = 0
{% endmacro %}


{#- Why a row is known not to be delivered: it is in quarantine, or was let go of by a person. None where no letter was ever written. -#}
{% macro _fates_sql() %}
  {%- set node = two_clocks._tested_model() -%}
  {%- if node is none or not execute or not two_clocks._ledger_exists(two_clocks.dead_letters_relation(), or_when_it_was_asked=true) -%}{{ return(none) }}{%- endif -%}
  {{ return("select letters.key, max(case when letters.released_at is null then 'it is in quarantine by the rule ' || letters.rule else 'a person let it go from quarantine' end) as fate from "
      ~ two_clocks.dead_letters_relation() ~ ' as letters where (' ~ two_clocks._letters_of_models([node.unique_id]) ~ ") and (letters.released_at is null or letters.released_by = 'person') group by letters.key") }}
{% endmacro %}
