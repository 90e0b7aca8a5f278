{#-
  The relation, cut to the window of this run. Stands after `from`, wants an alias:

      from {{ two_clocks.windowed(source('ods', 'grade_grades'), 'timemodified') }} as gg

  Takes the arguments of window(), which says what each one means.
  Returns SQL: a parenthesised select. Reads two clocks, writes nothing to source or target.
  The idea (a closed window that ends where the data ends and starts a look-back before the target's own
  watermark) is the "look-back overlap" of Kleppmann's and Beauchemin's functional data engineering, with the
  upper end taken from the source instead of the wall clock.
-#}
{% macro windowed(relation, watermark, lookback=none, max_window=none, target_watermark=none, stream=none, target_filter=none, nulls='exclude', data_clock=none, time_zone=none) -%}
  {%- set cut = two_clocks.window(relation, watermark, lookback, max_window, target_watermark, stream, target_filter, nulls, data_clock, time_zone) -%}
  {%- set rows = 'select * from ' ~ relation ~ ' where ' ~ cut.predicate -%}
  {{- return(two_clocks.fenced(rows) if cut.quarantine else '(' ~ rows ~ ')') -}}
{%- endmacro %}
