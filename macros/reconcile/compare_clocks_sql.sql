{#-
  One row of text: wall_clock (UTC), source_watermark, target_watermark and upto, the last watermark that is compared, exact in
  the watermark's own type, and the same in UTC (source_watermark_utc, ...; NULL for integer ids). Pure.
-#}
{% macro compare_clocks_sql(pair) %}
  with {{ two_clocks._bound_ctes(pair) }},
  clocks as (
    select bound.wall_clock, bound.target_watermark, bound.upto,
      (select max({{ pair.watermark.source }}) from {{ pair.source.relation }}
       where {{ pair.watermark.source }}{{ ' is not null' if pair.is_id else ' <= (select clock.due from clock)' }}{{ ' and (' ~ pair.source.filter ~ ')' if pair.source.filter }}) as source_watermark
    from bound
  )
  select
    {{ two_clocks.exact_text('clocks.wall_clock', 'timestamp') }} as wall_clock,
    {%- for name in ['source_watermark', 'target_watermark', 'upto'] %}
    {{ two_clocks.exact_text('clocks.' ~ name, pair.kind) }} as {{ name }},
    {{ two_clocks._spoken_watermark(pair, 'clocks.' ~ name) }} as {{ name }}_utc{{ ',' if not loop.last }}
    {%- endfor %}
  from clocks
{% endmacro %}

{# a watermark as text for people: the moment in UTC, NULL for ids #}
{% macro _spoken_watermark(pair, sql) %}
  {{ return('cast(null as ' ~ dbt.type_string() ~ ')' if pair.is_id else two_clocks.exact_text(two_clocks.watermark_to_utc(sql, pair.kind, pair.units_per_second, pair.time_zone), 'timestamp')) }}
{% endmacro %}
