{#- What a window may learn from earlier ones. Both answers are SQL for one value, or none where there is no ledger yet. -#}

{#-
  Whether the last window proves that there is nothing to read: it reached the source watermark of now, and the target has
  not gone back since (a target that was emptied or cut is read again).
  Only with a load log as data_clock is that a proof: late rows move no maximum.
-#}
{% macro _nothing_new_sql(request, watermark) %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% if not two_clocks._ledger_exists(ledger) %}{{ return(none) }}{% endif %}
  {% set sql %}
    select 1
    from (
      select last.* from {{ ledger }} as last
      where {{ two_clocks._regular_windows(request, 'last', ['succeeded', 'skipped']) }}
      order by last.started_at desc, last.finished_at desc limit 1
    ) as latest
    where (latest.status = 'skipped' or latest.window_to_value = latest.source_watermark_value)
      and cast(latest.source_watermark_value as {{ watermark.type }}) = ends.source_watermark
      and ends.target_watermark is not null
      and (latest.target_watermark_value is null or cast(latest.target_watermark_value as {{ watermark.type }}) <= ends.target_watermark)
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


{# this model's own windows, backfills aside #}
{% macro _regular_windows(request, alias, statuses=['succeeded']) %}
  {%- set stream = alias ~ '.stream = ' ~ two_clocks.text_literal(request.stream) if request.stream else alias ~ '.stream is null' -%}
  {{ return(alias ~ '.model = ' ~ two_clocks.text_literal(model.unique_id) ~ ' and ' ~ alias ~ ".status in ('" ~ statuses | join("', '") ~ "') and " ~ alias ~ ".kind <> 'backfill' and "
      ~ alias ~ '.target_relation = ' ~ two_clocks.text_literal(two_clocks._plain_name(this | string)) ~ ' and ' ~ stream) }}
{% endmacro %}
