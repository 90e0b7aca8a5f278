{#-
  Is it safe to read something into this table twice? One row: rows with a NULL in the key, keys that stand in more than one row.
  What to look at comes in the var two_clocks_sink: relation (with
  is_name: to be looked up), unique_key (a list) and name, for messages.
-#}
{% macro sink_check_query() %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set sink = var('two_clocks_sink') %}
  {% set relation = two_clocks._relation_by_name(sink.relation) if sink.get('is_name') else sink.relation %}
  {% set columns = two_clocks._columns_of_query(relation) %}
  {% set keys = [] %}
  {% for name in sink.unique_key %}
    {% set column = two_clocks._find_column(columns, name) %}
    {% if column is none %}
      {% do two_clocks._refuse("unique_key of " ~ sink.name ~ " names " ~ two_clocks._shown(name) ~ ", which is no column of its table (it has: " ~ (columns | map(attribute='name') | join(', ')) ~ ")") %}
    {% endif %}
    {% do keys.append(two_clocks.quoted(column.name)) %}
  {% endfor %}
  {{ return(two_clocks.sink_check_sql(relation, keys)) }}
{% endmacro %}

{% macro sink_check_sql(relation, keys) %}
  {%- set nulls = [] -%}
  {%- for key in keys -%}{%- do nulls.append(key ~ ' is null') -%}{%- endfor -%}
  select coalesce(sum(case when by_key.has_null = 1 then by_key.copies else 0 end), 0) as null_rows,
    coalesce(sum(case when by_key.has_null = 0 and by_key.copies > 1 then 1 else 0 end), 0) as repeated_keys
  from (
    select {{ keys | join(', ') }}, max(case when {{ nulls | join(' or ') }} then 1 else 0 end) as has_null, count(*) as copies
    from {{ relation }} group by {{ keys | join(', ') }}
  ) as by_key
{% endmacro %}
