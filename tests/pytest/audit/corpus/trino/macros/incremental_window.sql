{% macro incremental_window(column) -%}
{{ column }} >= date_trunc('day', now() - interval '{{ var("window_days") }}' day)
{%- endmacro %}
