{#- What a window may learn from earlier ones. Both answers are SQL for one value, or none where there is no ledger yet. -#}

{#-
  The source watermark of the last window that succeeded and reached it.
  Only with a load log as data_clock does an unmoved watermark prove that there is nothing new: late rows move no maximum.
-#}
{% macro _last_success_sql(request) %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% if not two_clocks._ledger_exists(ledger) %}{{ return(none) }}{% endif %}
  {% set sql %}
    select case when last.window_to_value = last.source_watermark_value then last.source_watermark_value end
    from {{ ledger }} as last
    where {{ two_clocks._regular_windows(request, 'last') }}
    order by last.started_at desc, last.finished_at desc limit 1
  {% endset %}
  {{ return(sql) }}
{% endmacro %}


{#-
  Where the last window ended if the target's watermark has not moved since. With max_window a model that filters its
  source may write nothing from a piece; measured from the target alone, the next run would read that piece for ever.
-#}
{% macro _reached_sql(request, watermark) %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% if not two_clocks._ledger_exists(ledger) %}{{ return(none) }}{% endif %}
  {% set sql %}
    select cast(last.window_to_value as {{ watermark.type }})
    from {{ ledger }} as last
    where {{ two_clocks._regular_windows(request, 'last') }}
      and cast(last.target_watermark_value as {{ watermark.type }}) = (select m.target_watermark from marks as m)
    order by last.started_at desc, last.finished_at desc limit 1
  {% endset %}
  {{ return(sql) }}
{% endmacro %}


{# this model's own windows that succeeded, backfills aside #}
{% macro _regular_windows(request, alias) %}
  {%- set stream = alias ~ '.stream = ' ~ two_clocks.text_literal(request.stream) if request.stream else alias ~ '.stream is null' -%}
  {{ return(alias ~ '.model = ' ~ two_clocks.text_literal(model.unique_id) ~ ' and ' ~ alias ~ ".status = 'succeeded' and " ~ alias ~ ".kind <> 'backfill' and "
      ~ alias ~ '.target_relation = ' ~ two_clocks.text_literal(two_clocks._plain_name(this | string)) ~ ' and ' ~ stream) }}
{% endmacro %}
