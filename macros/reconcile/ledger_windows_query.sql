{#-
  The windows of one model that succeeded, newest first, with their ends as text: in UTC, and exact in the watermark's own
  type. No row where there is no ledger yet. Takes the model's unique_id.
-#}
{% macro ledger_windows_query(model_id) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% set moments = ['window_from', 'window_to', 'wall_clock', 'started_at', 'finished_at'] %}
  {% set counts = ['rows_extracted', 'rows_inserted', 'rows_updated', 'rows_unchanged'] %}
  {% if not two_clocks._ledger_exists(ledger) %}
    {{ return('select 1 as one where 1 = 0') }}
  {% endif %}
  {% set sql %}
    select window_id, kind, message, coalesce(stream, '') as stream, window_from_value, window_to_value,
      {% for name in moments %}{{ two_clocks.exact_text(name, 'timestamp') }} as {{ name }}, {% endfor %}
      {% for name in counts %}coalesce({{ name }}, 0) as {{ name }}, {% endfor %}
      {{ two_clocks.exact_text(two_clocks.wall_clock_sql(), 'timestamp') }} as asked_at
    from {{ ledger }}
    where model = {{ two_clocks.text_literal(model_id) }} and status = 'succeeded'
    order by started_at desc, finished_at desc, window_id
  {% endset %}
  {{ return(sql) }}
{% endmacro %}
