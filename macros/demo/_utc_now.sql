{# the wall clock of the demo's models as a timestamp without zone in UTC; `two_clocks_now` replaces it #}
{% macro _utc_now() %}
  {% set replayed = two_clocks._replayed_now() %}
  {{ return(two_clocks.utc_literal(replayed) if replayed else two_clocks.wall_clock_sql()) }}
{% endmacro %}
