{#-
  The ledger: one row for every window attempted. Returns its Relation, whether it exists yet or not.
  It lives in var two_clocks_ledger_schema, by default the target's schema, and is no dbt model: nothing but a person
  with a DROP ever removes it, --full-refresh included.
-#}
{% macro ledger_relation() %}
  {% set schema = var('two_clocks_ledger_schema', none) or target.schema %}
  {% if schema is not string or not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_$]{0,62}', schema) %}
    {% do two_clocks._refuse("two_clocks_ledger_schema is " ~ two_clocks._shown(schema) ~ ", which is no plain schema name; write letters, digits and underscores, 63 at most, such as 'monitoring'") %}
  {% endif %}
  {{ return(api.Relation.create(database=target.database or target.dbname, schema=schema, identifier='two_clocks_window_ledger', type='table')) }}
{% endmacro %}


{#- Columns of the ledger in order, each with what kind of value it holds: text, time (UTC, no zone) or number. -#}
{% macro ledger_columns() %}
  {{ return({
    'window_id': 'text', 'invocation_id': 'text', 'model': 'text', 'target_relation': 'text', 'source_relation': 'text',
    'stream': 'text', 'kind': 'text', 'status': 'text', 'message': 'text', 'watermark_column': 'text',
    'wall_clock': 'time', 'source_watermark': 'time', 'target_watermark': 'time', 'window_from': 'time', 'window_to': 'time',
    'source_watermark_value': 'text', 'target_watermark_value': 'text', 'window_from_value': 'text', 'window_to_value': 'text',
    'lookback_seconds': 'number',
    'rows_extracted': 'number', 'rows_inserted': 'number', 'rows_updated': 'number', 'rows_unchanged': 'number',
    'rows_stale': 'number', 'rows_superseded': 'number', 'rows_late': 'number', 'max_lateness_seconds': 'number',
    'rows_quarantined': 'number',
    'started_at': 'time', 'finished_at': 'time'}) }}
{% endmacro %}


{# the engine's type for a kind of ledger value #}
{% macro _ledger_type(kind) %}
  {{ return({'text': dbt.type_string(), 'time': dbt.type_timestamp(), 'number': dbt.type_bigint()}[kind]) }}
{% endmacro %}


{% macro create_table_sql(relation, columns) %}
  create table if not exists {{ relation }} (
    {% for name, kind in columns.items() %}{{ name }} {{ two_clocks._ledger_type(kind) }}{{ ', ' if not loop.last }}{% endfor %}
  )
{% endmacro %}
