{#- The parts that the queries of a comparison share. Every query begins with the CTE `bound`. -#}

{#-
  due: the greatest watermark that is eligible now; upto: the last one to compare. Where the target has no watermark, or
  until is 'now', nothing but eligibility bounds the comparison: an empty target lacks every row, which is no success.
-#}
{% macro _bound_ctes(pair) %}
  clock as (
    select {{ 'cast(null as ' ~ pair.type ~ ')' if pair.is_id else two_clocks.watermark_from_utc('wall.wall_clock', pair.kind, pair.units_per_second, pair.time_zone, pair.type) }} as due,
      wall.wall_clock
    from (select {{ two_clocks.logical_now_sql() }} as wall_clock) as wall
  ),
  marks as (
    select clock.due, clock.wall_clock,
      {{ two_clocks._newest_eligible(pair, 'target') }} as target_watermark
    from clock
  ),
  bound as (
    select marks.due, marks.wall_clock, marks.target_watermark, {{ pair.bound }} as upto from marks
  )
{% endmacro %}

{% macro _newest_eligible(pair, side_name) %}
  {%- set side, sql = pair[side_name], pair.watermark[side_name] -%}
  {{ return('(select max(' ~ sql ~ ') from ' ~ side.relation ~ ' where ' ~ sql ~ (' is not null' if pair.is_id else ' <= (select clock.due from clock)')
      ~ (' and (' ~ side.filter ~ ')' if side.filter else '') ~ ')') }}
{% endmacro %}


{#- What becomes of a row: 0 compared; 1 later than the bound; 2 in the future; 3 no watermark; 4 a NULL in its key. -#}
{% macro _row_state(pair, side_name) %}
  {%- set sql, nulls = pair.watermark[side_name], [] -%}
  {%- for key in pair['keys'] -%}{%- do nulls.append(key[side_name] ~ ' is null') -%}{%- endfor -%}
  case when {{ nulls | join(' or ') }} then 4
       when {{ sql }} is null then 3
       {% if not pair.is_id -%}
       when {{ sql }} > (select bound.due from bound) then 2
       {% endif -%}
       when {{ sql }} > (select bound.upto from bound) then 1
       else 0 end
{%- endmacro %}


{% macro _hash_of(pair_fields, side_name, seed=none) %}
  {% set other = {'source': 'target', 'target': 'source'}[side_name] %}
  {% set chain = namespace(sql=seed) %}
  {% for field in pair_fields %}
    {% set hash = two_clocks.hash_sql(field[side_name], field[side_name ~ '_type'], field[other ~ '_type'], chain.sql) %}
    {#- a NULL is a value of its own: it must not swallow the hash of what stands before it -#}
    {% set chain.sql = hash if field.role != 'column' else 'case when ' ~ field[side_name] ~ ' is null then ' ~ two_clocks.hash_sql("'two_clocks NULL'", 'text', 'text', chain.sql) ~ ' else ' ~ hash ~ ' end' %}
  {% endfor %}
  {{ return(chain.sql) }}
{% endmacro %}


{#- One row for each bucket of one side: how many rows are compared, their checksum, and how many are not compared and why. -#}
{% macro _bucket_counts(pair, side_name) %}
  {%- set side = pair[side_name] -%}
  select
    rows_by_bucket.bucket,
    sum(case when rows_by_bucket.state = 0 then 1 else 0 end) as compared,
    {{ two_clocks.checksum_sql('case when rows_by_bucket.state = 0 then rows_by_bucket.row_hash end') }} as checksum,
    sum(case when rows_by_bucket.state = 1 then 1 else 0 end) as later,
    sum(case when rows_by_bucket.state = 2 then 1 else 0 end) as future,
    sum(case when rows_by_bucket.state = 3 then 1 else 0 end) as unmarked,
    sum(case when rows_by_bucket.state = 4 then 1 else 0 end) as keyless
  from (
    select
      coalesce({{ two_clocks.bucket_sql(two_clocks._hash_of(pair['keys'], side_name), pair.buckets) }}, 0) as bucket,
      {{ two_clocks._row_state(pair, side_name) }} as state,
      {{ two_clocks._hash_of([pair.watermark] + pair.columns, side_name, two_clocks._hash_of(pair['keys'], side_name)) }} as row_hash
    from {{ side.relation }}
    {{ 'where ' ~ side.filter if side.filter }}
  ) as rows_by_bucket
  group by rows_by_bucket.bucket
{% endmacro %}


{% macro _bucket_ctes(pair) %}
  source_buckets as (
    {{ two_clocks._bucket_counts(pair, 'source') }}
  ),
  target_buckets as (
    {{ two_clocks._bucket_counts(pair, 'target') }}
  ),
  buckets as (
    select
      coalesce(s.bucket, t.bucket) as bucket,
      case when coalesce(s.compared, 0) = coalesce(t.compared, 0) and coalesce(s.checksum, 0) = coalesce(t.checksum, 0) then 0 else 1 end as differs,
      {% for name in ['compared', 'later', 'future', 'unmarked', 'keyless'] -%}
      coalesce(s.{{ name }}, 0) as source_{{ name }}, coalesce(t.{{ name }}, 0) as target_{{ name }}{{ ',' if not loop.last }}
      {% endfor %}
    from source_buckets as s
    full outer join target_buckets as t on s.bucket = t.bucket
  )
{% endmacro %}
