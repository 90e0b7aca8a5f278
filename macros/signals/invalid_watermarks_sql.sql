{#- Rows whose watermark is NULL or ahead of the wall clock, one pass; one finding where there is no row at all. -#}
{% macro invalid_watermarks_sql(rows, watermark, time_zone=none, epoch=none, tolerance=0) %}
  {%- set place = two_clocks._place_of(none) -%}
  {%- if not two_clocks._is_there(none) -%}
    {{ return(two_clocks._finding_sql('there is no such table, so no watermark could be looked at', place, 'build it first')) }}
  {%- endif -%}
  {%- set mark = two_clocks._watermark_of(rows, watermark, time_zone, epoch) -%}
  {%- set is_id = mark.kind == 'integer' and mark.units_per_second is none -%}
  {%- set grace = two_clocks._read_duration({'value': tolerance, 'name': 'tolerance'}, '2 minutes').amount -%}
  {%- set text = dbt.type_string() -%}
with wall as (
  select {{ two_clocks.logical_now_sql() }} as wall_clock
),
due as (
  select {{ 'cast(null as ' ~ mark.type ~ ')' if is_id else two_clocks.watermark_from_utc(two_clocks.shift_forward('wall.wall_clock', grace, 'timestamp', none, dbt.type_timestamp()), mark.kind, mark.units_per_second, time_zone, mark.type) }} as due,
    wall.wall_clock
  from wall
),
looked_at as (
  select {{ mark.sql }} as two_clocks_mark, tested_rows.*
  from (select * from {{ rows }}) as tested_rows
),
offending as (
  select looked_at.*
  from looked_at
  where looked_at.two_clocks_mark is null
    {%- if not is_id %} or looked_at.two_clocks_mark > (select due.due from due){% endif %}
),
told as (
  select
    case when offending.two_clocks_mark is null then 'the watermark is NULL'
         {%- if not is_id %}
         else 'the watermark ' || cast({{ two_clocks.watermark_to_utc('offending.two_clocks_mark', mark.kind, mark.units_per_second, time_zone) }} as {{ text }}) || ' is '
           || {{ two_clocks._span_sql(two_clocks.seconds_between('(select due.wall_clock from due)', two_clocks.watermark_to_utc('offending.two_clocks_mark', mark.kind, mark.units_per_second, time_zone), 'timestamp', none)) }} || ' ahead of the wall clock'
         {%- endif %} end as what_happened,
    cast({{ two_clocks.text_literal(place ~ ', column ' ~ watermark) }} as {{ text }}) as where_,
    case when offending.two_clocks_mark is null then 'fill it at the source, use an expression such as coalesce(updated_at, created_at), or windowed(..., nulls=''include'')'
         else 'no window reads it before it is due; correct it at the source, or name the zone of its column with time_zone' end as what_to_do,
    offending.*
  from offending
)
select told.* from told
union all
select bare.*, shape.*
from (
  {{ two_clocks._finding_sql(two_clocks._empty_sentence(), place, two_clocks._empty_advice()) }}
) as bare
left join looked_at as shape on 1 = 0
where not exists (select 1 from looked_at)
{% endmacro %}
