{#-
  The wall clock in epoch seconds, written as people write it by hand; `two_clocks_now` replaces it.
  For the demo's syncs by hand only: nothing in the package ends a window here.
-#}
{% macro _epoch_now() %}
  {% set replayed = var('two_clocks_now', none) %}
  {% set now = "cast('" ~ replayed ~ "' as timestamp with time zone)" if replayed else 'current_timestamp' %}
  {{ return('cast(extract(epoch from ' ~ now ~ ') as bigint)') }}
{% endmacro %}
