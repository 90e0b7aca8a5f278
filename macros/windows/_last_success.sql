{#-
  SQL for the source watermark of the last window that succeeded and reached it, or none where there is no ledger yet.
  Only with a load log as data_clock does an unmoved watermark prove that there is nothing new: late rows move no maximum.
-#}
{% macro _last_success_sql(request) %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% if not two_clocks._ledger_exists(ledger) %}{{ return(none) }}{% endif %}
  {% set stream = two_clocks.text_literal(request.stream) if request.stream else none %}
  {% set sql %}
    select case when last.window_to_value = last.source_watermark_value then last.source_watermark_value end
    from {{ ledger }} as last
    where last.model = {{ two_clocks.text_literal(model.unique_id) }} and last.status = 'succeeded' and last.kind <> 'backfill'
      and last.target_relation = {{ two_clocks.text_literal(two_clocks._plain_name(this | string)) }}
      and {{ 'last.stream = ' ~ stream if stream else 'last.stream is null' }}
    order by last.started_at desc, last.finished_at desc limit 1
  {% endset %}
  {{ return(sql) }}
{% endmacro %}
