{% macro recent_only(column, days=2) %}
    {% if is_incremental() %}
        where {{ column }} >= now() - interval '{{ days }} days'
    {% endif %}
{% endmacro %}

{% macro since_target(column, days=2) -%}
    {{ return(adapter.dispatch('since_target')(column, days)) }}
{%- endmacro %}

{% macro default__since_target(column, days) -%}
    {{ column }} >= (select coalesce(max({{ column }}), '1900-01-03'::timestamp) - interval '{{ days }} days' from {{ this }})
{%- endmacro %}
