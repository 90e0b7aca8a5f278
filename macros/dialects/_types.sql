{#-
  The type of an expression over the source, name and dtype of the target's columns (none where there is no target), and what a plan
  can lean on: for source and target {'bytes', 'led'}, led being the columns with which an index begins; none where the engine needs no index.
-#}
{% macro _types_of_both_sides(relation, sql, target) %}
  {{ return(adapter.dispatch('types_of_both_sides', 'two_clocks')(relation, sql, target)) }}
{% endmacro %}

{% macro default__types_of_both_sides(relation, sql, target) %}
  {{ return({'type': two_clocks._one_value(two_clocks.type_probe_sql(relation, sql)), 'target_columns': adapter.get_columns_in_relation(target) if target else none, 'indexed': none}) }}
{% endmacro %}

{# one question in place of several, of which the one that dbt would ask is the slowest of a small run #}
{% macro postgres__types_of_both_sides(relation, sql, target) %}
  {% if not target %}{{ return(two_clocks.default__types_of_both_sides(relation, sql, none)) }}{% endif %}
  {% set question %}
    select ({{ two_clocks.type_probe_sql(relation, sql) }}) as type, (
      select cast(json_agg(json_build_object('name', attname, 'dtype', format_type(atttypid, null)) order by attnum) as text)
      from pg_catalog.pg_attribute
      where attrelid = to_regclass({{ two_clocks.text_literal(target | string) }}) and attnum > 0 and not attisdropped
    ) as target_columns,
    {{ two_clocks._postgres_indexed_sql(target) }} as target_indexed,
    {{ two_clocks._postgres_indexed_sql(relation) }} as source_indexed
  {% endset %}
  {% set row = run_query(question).rows[0] %}
  {{ return({
      'type': row['type'], 'target_columns': fromjson(row['target_columns'] or '[]'),
      'indexed': {'source': fromjson(row['source_indexed'] or 'null'), 'target': fromjson(row['target_indexed'] or 'null')}}) }}
{% endmacro %}

{# NULL for what is no plain table, such as a view, and for names that could not be one #}
{% macro _postgres_indexed_sql(relation) %}
  {% set name = '("[^"]+"|[A-Za-z_][A-Za-z0-9_$]*)' %}
  {% if not modules.re.fullmatch(name ~ '([.]' ~ name ~ '){0,2}', relation | string) %}{{ return('cast(null as text)') }}{% endif %}
  {% set sql %}
    (select cast(json_build_object('bytes', pg_relation_size(seen.oid), 'led', array(
        select first_column.attname
        from pg_catalog.pg_index as indexes
        inner join pg_catalog.pg_class as kept on kept.oid = indexes.indexrelid
        inner join pg_catalog.pg_am as method on method.oid = kept.relam and method.amname = 'btree'
        inner join pg_catalog.pg_attribute as first_column on first_column.attrelid = indexes.indrelid and first_column.attnum = indexes.indkey[0]
        where indexes.indrelid = seen.oid and indexes.indisvalid and indexes.indpred is null)) as text)
    from pg_catalog.pg_class as seen
    where seen.oid = to_regclass({{ two_clocks.text_literal(relation | string) }}) and seen.relkind in ('r', 'm'))
  {% endset %}
  {{ return(sql) }}
{% endmacro %}
