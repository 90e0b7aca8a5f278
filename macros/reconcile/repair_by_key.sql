{#-
  Upserts exactly the rows that a comparison names as missing, stale or different, and no other. For sinks that no window can be
  asked to read again: any table whose columns map one to one to those of the source.
  What to compare comes in the var two_clocks_reconcile, as in reconcile_query(). One transaction, under the lock that
  newest_wins takes, by the rules of newest_wins: a row that has become newer in between stays.

  The work is done while this is rendered; it returns a query that says how many rows were written, because that is how the
  command line hears of it (a run-operation hands back neither rows nor the reason why it failed).
-#}
{% macro repair_by_key() %}
  {% if not execute %}{{ return('select 0 as rows_inserted, 0 as rows_updated') }}{% endif %}
  {% set given = var('two_clocks_reconcile') %}
  {% set pair = two_clocks._pair_of(given) %}
  {% set plan = two_clocks._repair_plan(pair, given.get('source_columns') or {}) %}
  {% do two_clocks._in_transaction(two_clocks.lock_target_sql(plan.target)) %}
  {% do two_clocks._in_transaction(two_clocks.set_aside_sql(plan.batch, two_clocks.rows_to_upsert_sql(pair, plan, given.get('in_buckets')))) %}
  {% set counting = "select coalesce(sum(case when two_clocks_action = 'insert' then 1 else 0 end), 0), coalesce(sum(case when two_clocks_action = 'update' then 1 else 0 end), 0) from two_clocks_changes" %}
  {% set written = two_clocks._in_one_trip([two_clocks.create_changes_sql(plan), counting]).rows[0] %}
  {% do two_clocks._in_transaction(two_clocks.merge_sql(plan) ~ '; select 1') %}
  {% do adapter.commit() %}
  {{ return('select ' ~ (written[0] | int) ~ ' as rows_inserted, ' ~ (written[1] | int) ~ ' as rows_updated') }}
{% endmacro %}


{#- What the merge needs to know; refuses a column of the target that the source does not have. -#}
{% macro _repair_plan(pair, names) %}
  {% set columns = two_clocks._with_quoted_names(pair.target.typed_columns or pair.target.columns) %}
  {% set sources, keys, unknown = [], [], [] %}
  {% for column in columns %}
    {% set wanted = namespace(name=column.name) %}
    {% for target_name, source_name in names.items() if two_clocks._find_column([column], target_name) is not none %}
      {% set wanted.name = source_name %}
    {% endfor %}
    {% set found = two_clocks._find_column(pair.source.columns, wanted.name | string) %}
    {% if found is not none %}
      {% do sources.append(two_clocks.quoted(found.name) ~ ' as ' ~ column.quoted) %}
    {% elif wanted.name != column.name %}
      {% do sources.append('(' ~ wanted.name ~ ') as ' ~ column.quoted) %}
    {% else %}
      {% do unknown.append(column.name) %}
    {% endif %}
  {% endfor %}
  {% if unknown %}
    {% do two_clocks._refuse("the target " ~ two_clocks._shown_relation(pair.target.relation) ~ " has columns that the source does not have (" ~ unknown | join(', ') ~ "), so its rows cannot be made from it; say what they are called in the source, or repair it in its own way. Nothing was written") %}
  {% endif %}
  {% for key in pair['keys'] %}
    {% do keys.append(two_clocks._find_column(columns, key.name)) %}
  {% endfor %}
  {% set watermark = two_clocks._find_column(columns, pair.watermark.name) %}
  {% if watermark is none %}
    {% do two_clocks._refuse("the watermark of " ~ two_clocks._shown_relation(pair.target.relation) ~ " is an expression, but an upsert needs a column of the target; name it with target_watermark") %}
  {% endif %}
  {% set update_columns = columns | rejectattr('name', 'in', keys | map(attribute='name') | list) | list %}
  {{ return({
      'target': pair.target.relation, 'batch': 'two_clocks_lost', 'columns': columns, 'sources': sources, 'keys': keys, 'watermark': watermark,
      'update_columns': update_columns, 'differs': two_clocks._differs_in(update_columns), 'predicates': [], 'windows': []}) }}
{% endmacro %}


{# the source's rows of the lost keys: those versions that the comparison looked at #}
{% macro rows_to_upsert_sql(pair, plan, buckets=none) %}
  {%- set joined, picked, lost_keys = [], [], [] -%}
  {%- for key in pair['keys'] -%}
    {%- do picked.append(two_clocks.comparable_text(key.source, key.source_type, key.target_type) ~ ' as two_clocks_key_' ~ loop.index) -%}
    {%- do lost_keys.append('lost.key_' ~ loop.index) -%}
    {%- do joined.append('lost.key_' ~ loop.index ~ ' = candidates.two_clocks_key_' ~ loop.index) -%}
  {%- endfor -%}
  with {{ two_clocks._bound_ctes(pair) }},
  lost as (
    select * from ({{ two_clocks.compare_keys_sql(pair, buckets) }}) as compared where compared.what <> 'orphaned'
  ),
  candidates as (
    select {{ plan.sources | join(', ') }}, {{ picked | join(', ') }}
    from {{ pair.source.relation }}
    where {{ two_clocks._row_state(pair, 'source') }} = 0
      {{ 'and (' ~ pair.source.filter ~ ')' if pair.source.filter }}
  )
  select {% for column in plan.columns %}candidates.{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %}
  from candidates
  inner join lost on {{ joined | join(' and ') }}
{% endmacro %}
