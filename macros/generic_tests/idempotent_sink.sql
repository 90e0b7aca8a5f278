{#-
  Fails with one row for each key that stands in the target more than once, and for each that has a NULL in it; and if there is no row to
  look at (an empty table, or a `where` that hides all of it).
  Passes if every row has a whole key of its own, so that a window may be read again.
  Assumes that `unique_key` is the model's own.

  unique_key   one column or a list
-#}
{% test idempotent_sink(model, unique_key) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {{ two_clocks.repeated_keys_sql(model, unique_key) }}
  {% endif %}
{% endtest %}
