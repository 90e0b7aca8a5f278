{#-
  The rules of newest_wins as SQL, shared by the merge strategy and by the select-level newest_wins():
  one version per key (_version_rank), none older than what is stored (_is_stale), none that changes nothing (_differs_in).
  The aliases are dbt's own, so that incremental_predicates keep their meaning.
-#}

{#- 1 for the newest version of a key; ties are broken by `tie_breakers`, the same way every time. -#}
{% macro _version_rank(keys, watermark, tie_breakers) %}
  {{ return('row_number() over (partition by ' ~ keys | join(', ') ~ ' order by case when ' ~ watermark ~ ' is null then 1 else 0 end, ' ~ watermark ~ ' desc'
      ~ (', ' ~ tie_breakers | join(' desc, ') ~ ' desc' if tie_breakers else '') ~ ')') }}
{% endmacro %}

{# a row without a watermark counts as older than any with one #}
{% macro _is_stale(watermark) %}
  {{ return('(DBT_INTERNAL_DEST.' ~ watermark ~ ' is not null and (DBT_INTERNAL_SOURCE.' ~ watermark ~ ' is null or DBT_INTERNAL_SOURCE.' ~ watermark ~ ' < DBT_INTERNAL_DEST.' ~ watermark ~ '))') }}
{% endmacro %}

{% macro _differs_in(columns) %}
  {% if not columns %}{{ return('1 = 0') }}{% endif %}
  {{ return(two_clocks.differs(two_clocks._comparables(columns, 'DBT_INTERNAL_SOURCE.'), two_clocks._comparables(columns, 'DBT_INTERNAL_DEST.'))) }}
{% endmacro %}

{# columns as two values of their type can be compared and sorted; the engine is asked once per type, since a project has far fewer of them than columns #}
{% macro _comparables(columns, prefix='') %}
  {% set shapes = graph.setdefault('two_clocks_comparables', {}) %}
  {% set found = [] %}
  {% for column in columns %}
    {% if column.dtype not in shapes %}{% do shapes.update({column.dtype: two_clocks.comparable('two_clocks_operand', column.dtype).split('two_clocks_operand')}) %}{% endif %}
    {% do found.append(shapes[column.dtype] | join(prefix ~ column.quoted)) %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{% macro _same_key(keys, predicates) %}
  {% set conditions = [] %}
  {% for key in keys %}
    {% do conditions.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) %}
  {% endfor %}
  {% for predicate in predicates %}{% do conditions.append('(' ~ predicate ~ ')') %}{% endfor %}
  {{ return(conditions | join(' and ')) }}
{% endmacro %}

{# which window a row of the batch belongs to, by the target_filter of its stream #}
{% macro _stream_of_row(windows) %}
  {%- if windows | length < 2 -%}0
  {%- else -%}
  case {% for cut in windows %}when {{ cut.request.target_filter }} then {{ loop.index0 }} {% endfor %}else 0 end
  {%- endif -%}
{% endmacro %}


{#- Condition on the target for rows that a window of this run can hold; empty where one has no lower end. -#}
{% macro _within_windows(plan) %}
  {%- set column = 'DBT_INTERNAL_DEST.' ~ plan.watermark.quoted -%}
  {%- set ranges = [] -%}
  {%- for cut in plan.windows if cut['from'] is not none and cut.to is not none -%}
    {%- do ranges.append('(' ~ column ~ ' >= ' ~ cut['from'] ~ ' and ' ~ column ~ ' <= ' ~ cut.to ~ ')') -%}
  {%- endfor -%}
  {{ return('and (' ~ ranges | join(' or ') ~ ')' if ranges and ranges | length == plan.windows | length else '') }}
{% endmacro %}


{#- The batch with what it is called in all of these: the columns of the target, and the stream that a row belongs to. -#}
{% macro _batch_sql(plan) %}
  {{ return('select ' ~ plan.columns | map(attribute='quoted') | join(', ') ~ ', ' ~ two_clocks._stream_of_row(plan.windows) ~ ' as two_clocks_stream from ' ~ plan.batch ~ ' as batch') }}
{% endmacro %}

{% macro _key_list(plan) %}{{ return(plan['keys'] | map(attribute='quoted') | join(', ')) }}{% endmacro %}

{% macro _key_is_in(plan, relation, alias) %}
  {%- set conditions = [] -%}
  {%- for key in plan['keys'] -%}{%- do conditions.append('among.' ~ key.quoted ~ ' = ' ~ alias ~ '.' ~ key.quoted) -%}{%- endfor -%}
  {{ return('exists (select 1 from ' ~ relation ~ ' as among where ' ~ conditions | join(' and ') ~ ')') }}
{% endmacro %}


{#-
  First step: the batch without the rows that are stored just as they are. In a quiet look-back that leaves one row in a
  hundred. A row that is the same has the same watermark, so it is looked for among the target's rows of this window only:
  the cost follows the window, not the table.
-#}
{% macro candidates_sql(plan) %}
  {%- set watermark = plan.watermark.quoted -%}
  select DBT_INTERNAL_SOURCE.*
  from ({{ two_clocks._batch_sql(plan) }}) as DBT_INTERNAL_SOURCE
  left join {{ plan.target }} as DBT_INTERNAL_DEST
    on {{ two_clocks._same_key(plan['keys'] | map(attribute='quoted'), plan.predicates) }}
    and DBT_INTERNAL_SOURCE.{{ watermark }} = DBT_INTERNAL_DEST.{{ watermark }}
    {{ two_clocks._within_windows(plan) }}
    and not ({{ plan.differs }})
  where DBT_INTERNAL_DEST.{{ plan['keys'][0].quoted }} is null
{% endmacro %}


{#-
  Second step: the candidates' keys that come more than once in the batch, with all their rows there, ranked; 1 is the newest version. Mostly
  none. Only keys of candidates are grouped: of the others every row is stored as it is. The newest version may be such a row, so the batch is asked.
-#}
{% macro versions_sql(plan) %}
  {%- set repeated -%}
    (select {{ two_clocks._key_list(plan) }} from {{ plan.batch }} as batch
    where {{ two_clocks._key_is_in(plan, 'two_clocks_candidates', 'batch') }}
    group by {{ two_clocks._key_list(plan) }} having count(*) > 1)
  {%- endset -%}
  {%- set others = plan.columns | rejectattr('quoted', 'in', plan['keys'] | map(attribute='quoted') | list) | rejectattr('quoted', 'equalto', plan.watermark.quoted) | list -%}
  select versions.*, {{ two_clocks._version_rank(plan['keys'] | map(attribute='quoted') | list, plan.watermark.quoted, two_clocks._comparables(others)) }} as two_clocks_rank
  from ({{ two_clocks._batch_sql(plan) }}) as versions
  where {{ two_clocks._key_is_in(plan, repeated, 'versions') }}
{% endmacro %}


{#-
  Third step: what becomes of the candidates, one row each, in two_clocks_action: insert, update, stale (older than stored), superseded (an
  older version within the batch) or unchanged. Each meets every stored row of its key: a key that is stored twice is seen here, before the
  merge, which would write to both.
-#}
{% macro changes_sql(plan) %}
  {%- set watermark = plan.watermark.quoted -%}
  {%- set columns = plan.columns | map(attribute='quoted') | join(', ') ~ ', two_clocks_stream' -%}
  select
    {% for column in plan.columns %}DBT_INTERNAL_SOURCE.{{ column.quoted }}, {% endfor %}
    DBT_INTERNAL_SOURCE.two_clocks_stream,
    case when DBT_INTERNAL_SOURCE.two_clocks_rank > 1 then 'superseded'
         when DBT_INTERNAL_DEST.{{ plan['keys'][0].quoted }} is null then 'insert'
         when {{ two_clocks._is_stale(watermark) }} then 'stale'
         when {{ plan.differs }} then 'update'
         else 'unchanged' end as two_clocks_action
  from (
    select {{ columns }}, 1 as two_clocks_rank from two_clocks_candidates as candidates
    where not {{ two_clocks._key_is_in(plan, 'two_clocks_versions', 'candidates') }}
    union all
    select {{ columns }}, two_clocks_rank from two_clocks_versions
  ) as DBT_INTERNAL_SOURCE
  left join {{ plan.target }} as DBT_INTERNAL_DEST
    on {{ two_clocks._same_key(plan['keys'] | map(attribute='quoted'), plan.predicates) }} and DBT_INTERNAL_SOURCE.two_clocks_rank = 1
{% endmacro %}


{#-
  Which fresh rows are late (not later than the target's watermark that their stream started from), and by how many seconds the latest
  of them, an aggregate; of rows that carry the watermark and two_clocks_stream, narrowed to the fresh ones by `fresh`.
-#}
{% macro _lateness(plan, fresh) %}
  {% set watermark = plan.watermark.quoted %}
  {% set late, seconds = [], [] %}
  {% for cut in plan.windows if cut.clocks.target_watermark_value is not none %}
    {% set start = two_clocks.watermark_literal(cut.clocks.target_watermark_value, cut.watermark.kind, cut.watermark.type) %}
    {% set is_late = '(two_clocks_stream = ' ~ loop.index0 ~ ' and ' ~ fresh ~ ' and ' ~ watermark ~ ' <= ' ~ start ~ ')' %}
    {% do late.append(is_late) %}
    {% do seconds.append('max(case when ' ~ is_late ~ ' then ' ~ two_clocks.seconds_between(watermark, start, cut.watermark.kind, cut.watermark.units_per_second) ~ ' end)') %}
  {% endfor %}
  {{ return({
      'is_late': late | join(' or ') or '1 = 0',
      'greatest': 'coalesce(' ~ seconds | join(', ') ~ ')' if seconds | length > 1 else seconds | first | default('cast(null as ' ~ dbt.type_bigint() ~ ')')}) }}
{% endmacro %}


{% macro _is_null_key(plan) %}
  {%- set conditions = [] -%}
  {%- for key in plan['keys'] -%}{%- do conditions.append('batch.' ~ key.quoted ~ ' is null') -%}{%- endfor -%}
  {{ return(conditions | join(' or ')) }}
{% endmacro %}


{#-
  What is in the batch, by stream, and what became of it: rows, NULL keys among them, older versions, stale rows, fresh ones and how many of
  those are late, keys that the target holds more than once.
-#}
{% macro count_changes_sql(plan) %}
  {%- set fresh = "two_clocks_action in ('insert', 'update')" -%}
  {%- set lateness = two_clocks._lateness(plan, fresh) -%}
  select counted.stream, counted.extracted, counted.null_keys,
    coalesce(changed.superseded, 0) as superseded, coalesce(changed.stale, 0) as stale, coalesce(changed.fresh, 0) as fresh,
    coalesce(changed.late, 0) as late, changed.max_lateness,
    (select count(*) from (
      select 1 as one from two_clocks_changes where two_clocks_action <> 'superseded'
      group by {{ two_clocks._key_list(plan) }} having count(*) > 1) as repeats) as repeated
  from (
    select {{ two_clocks._stream_of_row(plan.windows) }} as stream, count(*) as extracted, count(case when {{ two_clocks._is_null_key(plan) }} then 1 end) as null_keys
    from {{ plan.batch }} as batch
    {{ 'group by 1' if plan.windows | length > 1 }}
  ) as counted
  left join (
    select two_clocks_stream as stream,
      sum(case when two_clocks_action = 'superseded' then 1 else 0 end) as superseded,
      sum(case when two_clocks_action = 'stale' then 1 else 0 end) as stale,
      sum(case when {{ fresh }} then 1 else 0 end) as fresh,
      sum(case when {{ lateness.is_late }} then 1 else 0 end) as late,
      {{ lateness.greatest }} as max_lateness
    from two_clocks_changes
    group by two_clocks_stream
  ) as changed on changed.stream = counted.stream
{% endmacro %}


{#-
  The merge. Stale rows are kept out whatever was worked out before, against writers that came in between; `only_if` is what an update
  asks for besides, where the rows of `source` are not known to differ from the stored ones.
-#}
{% macro merge_sql(plan, source=none, only_if=none) %}
  {%- set columns = plan.columns | map(attribute='quoted') | join(', ') -%}
  merge into {{ plan.target }} as DBT_INTERNAL_DEST
  using {{ source or "(select * from two_clocks_changes where two_clocks_action in ('insert', 'update'))" }} as DBT_INTERNAL_SOURCE
  on {{ two_clocks._same_key(plan['keys'] | map(attribute='quoted'), plan.predicates) }}
  {% if plan.update_columns -%}
  when matched and not {{ two_clocks._is_stale(plan.watermark.quoted) }}{{ ' and ' ~ only_if if only_if }} then update set
    {% for column in plan.update_columns %}{{ column.quoted }} = DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %}
  {%- endif %}
  when not matched then insert ({{ columns }})
    values ({% for column in plan.columns %}DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %})
{%- endmacro %}
