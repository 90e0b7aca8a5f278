{#-
  Fails if the last `max_windows` windows of the model, or of one of its streams, brought no fresh row (inserted or updated); if a
  stream is no longer read while others are; if the model never ran, has no ledger, or holds no row (under `where`).
  Passes if every stream brought a fresh row within its last `max_windows` windows.
  Assumes that the model's rows are counted: post-hook record_window(), strategy newest_wins.

  max_windows   how many windows in a row may be empty, minus one; fit it to the source's rhythm and the schedule
  streams       the streams that must be alive; by default every one that the ledger has ever seen
-#}
{% test no_empty_window_streak(model, max_windows=3, streams=none) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {% set scope = two_clocks._scope_of_test(streams, max_windows=max_windows) %}
    {{ two_clocks._told(two_clocks.silence_sql(scope, model)) }}
  {% endif %}
{% endtest %}
