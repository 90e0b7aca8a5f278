{#- The type of an expression over the source, and name and dtype of the target's columns (none where there is no target). -#}
{% macro _types_of_both_sides(relation, sql, target) %}
  {{ return(adapter.dispatch('types_of_both_sides', 'two_clocks')(relation, sql, target)) }}
{% endmacro %}

{% macro default__types_of_both_sides(relation, sql, target) %}
  {{ return({'type': two_clocks._one_value(two_clocks.type_probe_sql(relation, sql)), 'target_columns': adapter.get_columns_in_relation(target) if target else none}) }}
{% endmacro %}

{# one question in place of two, of which the one that dbt would ask is the slowest of a small run #}
{% macro postgres__types_of_both_sides(relation, sql, target) %}
  {% if not target %}{{ return(two_clocks.default__types_of_both_sides(relation, sql, none)) }}{% endif %}
  {% set question %}
    select ({{ two_clocks.type_probe_sql(relation, sql) }}) as type, (
      select cast(json_agg(json_build_object('name', attname, 'dtype', format_type(atttypid, null)) order by attnum) as text)
      from pg_catalog.pg_attribute
      where attrelid = to_regclass({{ two_clocks.text_literal(target | string) }}) and attnum > 0 and not attisdropped
    ) as target_columns
  {% endset %}
  {% set row = run_query(question).rows[0] %}
  {{ return({'type': row['type'], 'target_columns': fromjson(row['target_columns'] or '[]')}) }}
{% endmacro %}
