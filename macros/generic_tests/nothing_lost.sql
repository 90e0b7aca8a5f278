{#-
  Fails with one row for each key that the source shows, up to the target's watermark, and the target lacks or holds in an older version
  (with `columns`: or with other values); with `orphans`, for each key that is gone from the source as well; if there was no row to compare.
  Passes if checksums of key and watermark agree in every bucket.
  Assumes that source and target show the same rows but for `source_filter`, the model's own filter. `where` picks rows on both sides.

  source_relation    source(...) or ref(...), or a query in parentheses
  unique_key         column or columns of the target
  watermark          column of the source, or an SQL expression
  target_watermark   its column in the target, where the name differs
  columns            further columns to compare where the watermarks are equal
  source_columns     {target column: source column or expression}, where names differ
  source_filter      the condition by which the model itself leaves rows of the source out
  orphans            true to report target rows that are gone from the source
  until, settle      compare up to this watermark, or up to the target's watermark minus this long; default: up to the target's watermark
  time_zone, epoch   of the watermark, as everywhere
  buckets            number of checksums, a power of two

  One pass over each side where nothing is lost: the checksums are compared first, and keys are read of the buckets that differ alone.
-#}
{% test nothing_lost(model, source_relation, unique_key, watermark, target_watermark=none, columns=none, source_columns=none, source_filter=none, orphans=false, until=none, settle=none, time_zone=none, epoch=none, buckets=16384) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {{ two_clocks._nothing_lost_sql(model, source_relation, unique_key, watermark, target_watermark, columns, source_columns, source_filter, orphans, until, settle, time_zone, epoch, buckets) }}
  {% endif %}
{% endtest %}
