{#-
  The first step of a comparison: one pass over each side, two aggregates of at most `buckets` groups, no join of rows.
  A bucket is a hash of the key: a row whose watermark differs on the two sides is then in the same bucket on both, which it
  would not be in buckets of watermarks, and a row that moved in time is told apart from one lost and one too many.

  Returns one row for each bucket that differs (differs = 1), and at least one row in any case: totals of the whole
  comparison stand in every row (source_compared, target_compared, ..._later, ..._future, ..._unmarked, ..._keyless). Pure.
-#}
{% macro compare_buckets_sql(pair) %}
  with {{ two_clocks._bound_ctes(pair) }},
  {{ two_clocks._bucket_ctes(pair) }}
  select totalled.* from (
    select
      buckets.bucket,
      buckets.differs,
      row_number() over (order by buckets.differs desc, buckets.bucket) as place,
      {%- for name in ['compared', 'later', 'future', 'unmarked', 'keyless'] %}
      sum(buckets.source_{{ name }}) over () as source_{{ name }},
      sum(buckets.target_{{ name }}) over () as target_{{ name }}{{ ',' if not loop.last }}
      {%- endfor %}
    from buckets
  ) as totalled
  where totalled.differs = 1 or totalled.place = 1
{% endmacro %}
