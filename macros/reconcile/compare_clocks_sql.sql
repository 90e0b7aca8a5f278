{#-
  One row of text: wall_clock (UTC), source_watermark, target_watermark, upto (the last watermark that is compared) and, where a
  look-back is given, next_from, the start of the next normal window; exact in the watermark's own type, and the same
  in UTC (source_watermark_utc, ...; NULL for integer ids). Pure.
-#}
{% macro compare_clocks_sql(pair, lookback_amount=none) %}
  with {{ two_clocks._bound_ctes(pair) }},
  clocks as (
    select bound.wall_clock, bound.target_watermark, bound.upto,
      (select max({{ pair.watermark.source }}) from {{ pair.source.relation }}
       where {{ pair.watermark.source }}{{ ' is not null' if pair.is_id else ' <= (select clock.due from clock)' }}{{ ' and (' ~ pair.source.filter ~ ')' if pair.source.filter }}) as source_watermark
    from bound
  ),
  ends as (
    select clocks.*,
      {% if lookback_amount is none -%}
      cast(null as {{ pair.type }}) as next_from
      {%- else -%}
      {#- a source that shows nothing moves no window -#}
      {{ two_clocks.shift_back('(' ~ two_clocks.lesser('clocks.target_watermark', 'coalesce(clocks.source_watermark, clocks.target_watermark)') ~ ')', lookback_amount, pair.kind, pair.units_per_second, pair.time_zone, pair.type) }} as next_from
      {%- endif %}
    from clocks
  )
  select
    {{ two_clocks.text_literal(pair.kind) }} as kind,
    {{ two_clocks.text_literal({1: 's', 1000: 'ms', 1000000: 'us'}[pair.units_per_second] if pair.units_per_second else ('id' if pair.is_id else '')) }} as epoch,
    {{ two_clocks.exact_text('ends.wall_clock', 'timestamp') }} as wall_clock,
    {%- for name in ['source_watermark', 'target_watermark', 'upto', 'next_from'] %}
    {{ two_clocks.exact_text('ends.' ~ name, pair.kind) }} as {{ name }},
    {{ two_clocks._spoken_watermark(pair, 'ends.' ~ name) }} as {{ name }}_utc{{ ',' if not loop.last }}
    {%- endfor %}
  from ends
{% endmacro %}

{# a watermark as text for people: the moment in UTC, NULL for ids #}
{% macro _spoken_watermark(pair, sql) %}
  {{ return('cast(null as ' ~ dbt.type_string() ~ ')' if pair.is_id else two_clocks.exact_text(two_clocks.watermark_to_utc(sql, pair.kind, pair.units_per_second, pair.time_zone), 'timestamp')) }}
{% endmacro %}
