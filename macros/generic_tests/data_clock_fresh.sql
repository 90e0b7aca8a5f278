{#-
  Fails if the source watermark S, the greatest one that is not later than the wall clock, is older than `max_age`; or if there is no S:
  no row (under `where`), all NULL, all in the future.
  Passes if S is at most `max_age` old.
  Assumes that the watermark is a time: timestamp, date or epoch integer.

  relation    source(...) or ref(...) whose clock is read, with `where` applied; by default the tested one
  watermark   the column, or an SQL expression
  max_age     text such as '36 hours', or seconds
  time_zone   zone of timestamps stored without one; default UTC
  epoch       s, ms or us, for integers whose magnitude would not tell
-#}
{% test data_clock_fresh(model, watermark, max_age, relation=none, time_zone=none, epoch=none) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {{ two_clocks._told(two_clocks.stale_clock_sql(get_where_subquery(relation) if relation is not none else model, relation, watermark, max_age, time_zone, epoch)) }}
  {% endif %}
{% endtest %}
