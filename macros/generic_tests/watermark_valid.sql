{#-
  Fails with one row for each watermark that is NULL or later than the wall clock, with the row it stands in; and if there is no row to
  look at (an empty table, or a `where` that hides all of it).
  Passes if every watermark is a time up to now (for an integer id: if none is NULL).
  Assumes nothing about the order of rows. `tolerance` forgives writers whose clocks run a little ahead.

  column_name   the watermark
  time_zone     zone of timestamps stored without one; default UTC
  epoch         s, ms, us or id, for integers whose magnitude would not tell
  tolerance     how far ahead of the wall clock a watermark may be, such as '2 minutes'
-#}
{% test watermark_valid(model, column_name, time_zone=none, epoch=none, tolerance=0) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {{ two_clocks.invalid_watermarks_sql(model, column_name, time_zone, epoch, tolerance) }}
  {% endif %}
{% endtest %}
