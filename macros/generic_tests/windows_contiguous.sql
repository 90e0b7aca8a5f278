{#-
  Fails if two windows in a row leave a range between them that no window read, backfills included; if windows leave a range out
  because nothing in it could be read (see docs/quarantine.md), until it is closed or written off; if the model never ran or has no ledger; if the table holds no row (under `where`).
  Passes if the windows since the last first build or full refresh join up and leave nothing out.
  Assumes that a window that succeeded delivered what it read; nothing_lost proves that.

  streams   the streams to judge; by default every one that the ledger has ever seen
-#}
{% test windows_contiguous(model, streams=none) %}
  {% if two_clocks._nothing_to_judge() %}
    {{ two_clocks._no_findings_sql() }}
  {% else %}
    {% set scope = two_clocks._scope_of_test({'streams': streams}) %}
    {{ two_clocks._told(two_clocks.gaps_sql(scope, model)) }}
  {% endif %}
{% endtest %}
