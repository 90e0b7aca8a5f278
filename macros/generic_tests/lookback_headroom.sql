{#-
  Fails if the greatest lateness that any normal window recorded has used up more than 1 - `min_headroom` of the look-back in force; if
  lateness was never measured (the model never ran, foreign strategy, integer ids with late rows); if the table holds no row (under `where`).
  Passes if the latest row seen left at least `min_headroom` of the look-back unused.
  Assumes that rows older than the look-back are looked for elsewhere (nothing_lost, reconcile): no window reads them.

  min_headroom   the share of the look-back that must have been left, 0 to 1
  streams        the streams to judge; by default every one that the ledger has ever seen
-#}
{% test lookback_headroom(model, min_headroom=0.2, streams=none) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {% set scope = two_clocks._scope_of_test({'min_headroom': min_headroom, 'streams': streams}) %}
    {{ two_clocks._told(two_clocks.headroom_sql(scope, model)) }}
  {% endif %}
{% endtest %}
