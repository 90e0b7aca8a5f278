{#-
  The windows of one model that succeeded, newest first, with their ends as text: in UTC, and exact for integer ids.
  No row where there is no ledger yet. Takes the model's unique_id.
-#}
{% macro ledger_windows_query(model_id) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% set names = ['window_from', 'window_to', 'wall_clock', 'started_at', 'finished_at'] %}
  {% if not two_clocks._ledger_exists(ledger) %}
    {{ return('select 1 as one where 1 = 0') }}
  {% endif %}
  {% set sql %}
    select window_id, kind, status, coalesce(stream, '') as stream, window_from_value, window_to_value, rows_extracted,
      {% for name in names %}{{ two_clocks.exact_text(name, 'timestamp') }} as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
    from {{ ledger }}
    where model = {{ two_clocks.text_literal(model_id) }} and status = 'succeeded'
    order by started_at desc, finished_at desc, window_id
  {% endset %}
  {{ return(sql) }}
{% endmacro %}
