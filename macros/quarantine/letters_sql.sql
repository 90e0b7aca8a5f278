{#-
  The letters of some models, newest first: what `two-clocks quarantine list` shows.
  Takes dbt unique_ids; `released` adds those that are settled.
-#}
{% macro letters_sql(models, released=false) %}
  {% set letters = two_clocks.dead_letters_relation() %}
  {% if not execute or not models or not two_clocks._ledger_exists(letters) %}
    {{ return(two_clocks._no_letters_sql()) }}
  {% endif %}
  select letters.*
  from {{ letters }} as letters
  where ({{ two_clocks._letters_of_models(models) }}){{ '' if released else ' and letters.released_at is null' }}
  order by letters.last_seen desc, letters.model, letters.rule, letters.watermark_value, letters.key
{% endmacro %}


{#- How many rows of one stream of a model are in quarantine: one row with `held`. -#}
{% macro held_rows_query(model_id, stream) %}
  select count(*) as held from ({{ two_clocks.letters_sql([model_id]) }}) as letters
  where coalesce(letters.stream, '') = {{ two_clocks.text_literal(stream) }}
{% endmacro %}


{% macro _no_letters_sql() %}
  select {% for name, kind in two_clocks.dead_letter_columns().items() %}cast(null as {{ two_clocks._ledger_type(kind) }}) as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
  from (select 1 as one) as nothing
  where 1 = 0
{% endmacro %}


{# letters of these models as they stand in this target, by the alias `letters` #}
{% macro _letters_of_models(models) %}
  {% set parts = ['1 = 0'] %}
  {% for id in models if id in graph.nodes %}
    {% set node = graph.nodes[id] %}
    {% set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) %}
    {% do parts.append('(letters.model = ' ~ two_clocks.text_literal(id) ~ ' and letters.target_relation = ' ~ two_clocks.text_literal(two_clocks._plain_name(relation | string)) ~ ')') %}
  {% endfor %}
  {{ return(parts | join(' or ')) }}
{% endmacro %}


{#-
  run-operation: lets letters go because a person says so. What to let go comes in the var two_clocks_release:
  {models: [unique_id], letters: [letter_id], reason: text}. The rows themselves are delivered no more than before.
-#}
{% macro release_letters_by_hand() %}
  {% set given = var('two_clocks_release') %}
  {% set ids = [] %}
  {% for id in given.letters %}{% do ids.append(two_clocks.text_literal(id | string)) %}{% endfor %}
  {% set sql %}
    update {{ two_clocks.dead_letters_relation() }} as letters set
      released_at = {{ two_clocks.logical_now_sql() }},
      released_by = 'person',
      released_why = {{ two_clocks.text_literal(two_clocks._safe_message(given.reason)) }}
    where ({{ two_clocks._letters_of_models(given.models) }}) and letters.released_at is null and letters.letter_id in ({{ ids | join(', ') }})
  {% endset %}
  {% do two_clocks._in_transaction(sql) %}
  {% do adapter.commit() %}
{% endmacro %}


{#-
  The signal: open letters, one finding for each model and stream. Takes the scope of signals_sql.
-#}
{% macro quarantined_sql(scope) %}
  {%- set models = scope | map(attribute='id') | list -%}
  {%- set text = dbt.type_string() -%}
with names as (
  {% for one in scope -%}
  {{ 'union all ' if not loop.first }}select cast({{ two_clocks.text_literal(one.id) }} as {{ text }}) as model, cast({{ two_clocks.text_literal(one.name) }} as {{ text }}) as name
  {% endfor %}
),
by_rule as (
  select letters.model, coalesce(letters.stream, '') as stream_name, letters.rule, count(*) as letters, min(letters.first_seen) as first_seen
  from ({{ two_clocks.letters_sql(models) }}) as letters
  group by letters.model, coalesce(letters.stream, ''), letters.rule
),
by_stream as (
  select by_rule.model, by_rule.stream_name, sum(by_rule.letters) as letters, min(by_rule.first_seen) as first_seen,
    {{ dbt.listagg('by_rule.rule || ' ~ "' ' || " ~ two_clocks._number_sql('by_rule.letters'), "', '", 'order by by_rule.letters desc, by_rule.rule') }} as rules
  from by_rule
  group by by_rule.model, by_rule.stream_name
)
select
  {{ two_clocks._number_sql('by_stream.letters') }} || case when by_stream.letters = 1 then ' row is' else ' rows are' end || ' in quarantine (' || by_stream.rules || '), the first since ' || {{ two_clocks.exact_text('by_stream.first_seen', 'timestamp') }} as what_happened,
  'model ' || names.name || case when by_stream.stream_name <> '' then ', stream ' || by_stream.stream_name else '' end as where_,
  'two-clocks quarantine list --select ' || names.name || ' shows them; mend them at the source and the next run that reads them delivers them' as what_to_do,
  'quarantined' as signal,
  by_stream.model,
  nullif(by_stream.stream_name, '') as stream,
  cast(null as {{ text }}) as window_
from by_stream
inner join names on by_stream.model = names.model
{% endmacro %}
