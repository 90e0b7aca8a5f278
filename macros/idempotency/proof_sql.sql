{#-
  What the second run of one window changed, for `two-clocks idempotency`. The table as it stood after the first run is kept
  in a copy, with the address that the engine gives each row: a row that was written again has another one.
  What to look at comes in the var two_clocks_proof: {database, schema, table, kept, unique_key: [names], name}.
-#}

{# run-operation: the copy #}
{% macro keep_for_proof() %}
  {% set proof = two_clocks._read_proof() %}
  {% do two_clocks._in_transaction('create table ' ~ proof.kept ~ ' as select ' ~ two_clocks.proof_address('seen') ~ ' as two_clocks_address, seen.* from ' ~ proof.table ~ ' as seen') %}
  {% do adapter.commit() %}
{% endmacro %}


{# run-operation: removes the scratch schema, and no other #}
{% macro drop_proof() %}
  {% set proof = var('two_clocks_proof') %}
  {% if not modules.re.match('^.*two_clocks_proof_[0-9a-f]{8}$', proof.schema) %}
    {% do two_clocks._refuse(two_clocks._shown(proof.schema) ~ " is no scratch schema of a proof, so it is not dropped") %}
  {% endif %}
  {% do adapter.drop_schema(api.Relation.create(database=proof.database, schema=proof.schema)) %}
{% endmacro %}


{% macro _read_proof() %}
  {% set given = var('two_clocks_proof') %}
  {{ return({
      'table': api.Relation.create(database=given.database, schema=given.schema, identifier=given.table),
      'kept': api.Relation.create(database=given.database, schema=given.schema, identifier=given.kept),
      'unique_key': given.unique_key, 'name': given.name}) }}
{% endmacro %}


{#- One row: how many rows and keys there are in both, whether they hold the same, and how many rows were written again. -#}
{% macro proof_query() %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set proof = two_clocks._read_proof() %}
  {{ return(two_clocks.proof_sql(proof.table, proof.kept, two_clocks._proof_keys(proof), two_clocks._with_quoted_names(adapter.get_columns_in_relation(proof.table)))) }}
{% endmacro %}


{#- One row for each column: in how many rows it holds another value, and whether its values as a whole are others. -#}
{% macro proof_columns_query() %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set proof = two_clocks._read_proof() %}
  {{ return(two_clocks.proof_columns_sql(proof.table, proof.kept, two_clocks._proof_keys(proof), two_clocks._with_quoted_names(adapter.get_columns_in_relation(proof.table)))) }}
{% endmacro %}


{% macro _proof_keys(proof) %}
  {% set columns, keys = two_clocks._with_quoted_names(adapter.get_columns_in_relation(proof.table)), [] %}
  {% for name in proof.unique_key %}
    {% set column = two_clocks._find_column(columns, name) %}
    {% if column is none %}
      {% do two_clocks._refuse("unique_key of " ~ proof.name ~ " names " ~ two_clocks._shown(name) ~ ", which is no column of its table (it has: " ~ (columns | map(attribute='name') | join(', ')) ~ ")") %}
    {% endif %}
    {% do keys.append(column.quoted) %}
  {% endfor %}
  {{ return(keys) }}
{% endmacro %}


{% macro proof_sql(table, copy, keys, columns) %}
  {%- set fields = [] -%}
  {%- for column in columns -%}{%- do fields.append({'role': 'column', 'source': column.quoted, 'source_type': column.data_type, 'target_type': column.data_type}) -%}{%- endfor -%}
  {%- set row_hash = two_clocks._hash_of(fields, 'source') -%}
  select
    {%- for side, relation in [('once', copy), ('again', table)] %}
    (select count(*) from {{ relation }}) as rows_{{ side }},
    (select {{ two_clocks.exact_text(two_clocks.checksum_sql(row_hash), 'integer') }} from {{ relation }}) as checksum_{{ side }},
    {%- if keys %}
    (select count(*) from (select 1 as one from {{ relation }} group by {{ keys | join(', ') }} having count(*) > 1) as repeats) as repeats_{{ side }},
    {%- else %}
    0 as repeats_{{ side }},
    {%- endif %}
    {%- endfor %}
    (select count(*) from {{ table }} as seen where not exists (select 1 from {{ copy }} as kept where kept.two_clocks_address = {{ two_clocks.proof_address('seen') }})) as rows_written
{% endmacro %}


{% macro proof_columns_sql(table, copy, keys, columns) %}
  {%- for column in columns %}
  {%- set hash = two_clocks._hash_of([{'role': 'column', 'source': column.quoted, 'source_type': column.data_type, 'target_type': column.data_type}], 'source') %}
  {{ 'union all ' if not loop.first }}select
    {{ two_clocks.text_literal(column.name) }} as column_name,
    {%- if keys %}
    (select count(*) from {{ table }} as seen inner join {{ copy }} as kept on {% for key in keys %}seen.{{ key }} = kept.{{ key }}{{ ' and ' if not loop.last }}{% endfor %}
      where {{ two_clocks.differs([two_clocks.comparable('seen.' ~ column.quoted, column.dtype)], [two_clocks.comparable('kept.' ~ column.quoted, column.dtype)]) }}) as rows_changed,
    {%- else %}
    0 as rows_changed,
    {%- endif %}
    (select {{ two_clocks.exact_text(two_clocks.checksum_sql(hash), 'integer') }} from {{ copy }}) as checksum_once,
    (select {{ two_clocks.exact_text(two_clocks.checksum_sql(hash), 'integer') }} from {{ table }}) as checksum_again
  {%- endfor %}
{% endmacro %}
