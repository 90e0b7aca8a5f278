{#-
  Fails if the last `max_windows` windows of the model, or of one of its streams, brought no fresh row (inserted or updated); if a
  stream is no longer read while others are; if the model never ran, has no ledger, or holds no row (under `where`).
  Passes if every stream brought a fresh row within its last `max_windows` windows.
  Assumes that the model's rows are counted: post-hook record_window(), strategy newest_wins.

  max_windows         how many windows in a row may be empty, minus one; fit it to the source's rhythm and the schedule
  max_blind_windows   the same for windows that brought nothing although the source moved on; default max_windows. 1 for a model
                      that keeps every row: it is blind from the first such window
  quiet               times in which the source may rest: days and pairs of days, [['2024-12-21', '2025-01-06'], '2025-05-01']
  streams             the streams that must be alive; by default every one that the ledger has ever seen
-#}
{% test no_empty_window_streak(model, max_windows=3, max_blind_windows=none, quiet=none, streams=none) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {% set scope = two_clocks._scope_of_test({'max_windows': max_windows, 'max_blind_windows': max_blind_windows, 'quiet': quiet, 'streams': streams}) %}
    {{ two_clocks._told(two_clocks.silence_sql(scope, model)) }}
  {% endif %}
{% endtest %}
