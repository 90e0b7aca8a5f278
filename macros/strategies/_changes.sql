{#-
  The rules of newest_wins as SQL, shared by the merge strategy and by the select-level newest_wins():
  one version per key (_version_rank), none older than what is stored (_is_stale), none that changes nothing (_differs).
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
  {% set left, right = [], [] %}
  {% for column in columns %}
    {% do left.append(two_clocks.comparable('DBT_INTERNAL_SOURCE.' ~ column.quoted, column.dtype)) %}
    {% do right.append(two_clocks.comparable('DBT_INTERNAL_DEST.' ~ column.quoted, column.dtype)) %}
  {% endfor %}
  {{ return(two_clocks.differs(left, right) if columns else '1 = 0') }}
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


{#-
  First step: the batch without the rows that are stored just as they are. In a quiet look-back that leaves one row in a
  hundred. A row that is the same has the same watermark, so it is looked for among the target's rows of this window only:
  the cost follows the window, not the table. `two_clocks_rank` is 1 for the newest version of a key.
-#}
{% macro candidates_sql(plan) %}
  {%- set keys = plan['keys'] | map(attribute='quoted') | list -%}
  {%- set watermark = plan.watermark.quoted -%}
  {%- set tie_breakers = [] -%}
  {%- for column in plan.columns if plan.has_versions and column.quoted not in keys and column.quoted != watermark -%}
    {%- do tie_breakers.append(two_clocks.comparable(column.quoted, column.dtype)) -%}
  {%- endfor -%}
  select DBT_INTERNAL_SOURCE.*
  from (
    select {{ plan.columns | map(attribute='quoted') | join(', ') }}, {{ two_clocks._stream_of_row(plan.windows) }} as two_clocks_stream,
      {{ two_clocks._version_rank(keys, watermark, tie_breakers) if plan.has_versions else '1' }} as two_clocks_rank
    from {{ plan.batch }} as batch
  ) as DBT_INTERNAL_SOURCE
  left join {{ plan.target }} as DBT_INTERNAL_DEST
    on {{ two_clocks._same_key(keys, plan.predicates) }}
    and DBT_INTERNAL_SOURCE.{{ watermark }} = DBT_INTERNAL_DEST.{{ watermark }}
    {{ two_clocks._within_windows(plan) }}
    and not ({{ plan.differs }})
  where DBT_INTERNAL_SOURCE.two_clocks_rank > 1
    or DBT_INTERNAL_DEST.{{ keys[0] }} is null
{% endmacro %}


{#-
  Second step: what the candidates would change, one row each, with the reason in two_clocks_action:
  insert, update, stale (older than stored) or superseded (an older version within the batch).
-#}
{% macro changes_sql(plan) %}
  {%- set keys = plan['keys'] | map(attribute='quoted') | list -%}
  {%- set watermark = plan.watermark.quoted -%}
  select
    {% for column in plan.columns %}DBT_INTERNAL_SOURCE.{{ column.quoted }}, {% endfor %}
    DBT_INTERNAL_SOURCE.two_clocks_stream,
    case when DBT_INTERNAL_SOURCE.two_clocks_rank > 1 then 'superseded'
         when DBT_INTERNAL_DEST.{{ keys[0] }} is null then 'insert'
         when {{ two_clocks._is_stale(watermark) }} then 'stale'
         else 'update' end as two_clocks_action
  from two_clocks_candidates as DBT_INTERNAL_SOURCE
  left join {{ plan.target }} as DBT_INTERNAL_DEST
    on {{ two_clocks._same_key(keys, plan.predicates) }} and DBT_INTERNAL_SOURCE.two_clocks_rank = 1
  where DBT_INTERNAL_SOURCE.two_clocks_rank > 1
    or DBT_INTERNAL_DEST.{{ keys[0] }} is null
    or {{ two_clocks._is_stale(watermark) }}
    or {{ plan.differs }}
{% endmacro %}


{# rows, NULL keys and the most versions of one key in the batch, by stream #}
{% macro count_batch_sql(plan) %}
  {%- set keys = plan['keys'] | map(attribute='quoted') | list -%}
  {%- set nulls = [] -%}
  {%- for key in keys -%}{%- do nulls.append('by_key.' ~ key ~ ' is null') -%}{%- endfor -%}
  select by_key.two_clocks_stream as stream, sum(by_key.two_clocks_versions) as extracted, max(by_key.two_clocks_versions) as versions,
    sum(case when {{ nulls | join(' or ') }} then by_key.two_clocks_versions else 0 end) as null_keys
  from (
    select two_clocks_stream, {{ keys | join(', ') }}, count(*) as two_clocks_versions
    from (select batch.*, {{ two_clocks._stream_of_row(plan.windows) }} as two_clocks_stream from {{ plan.batch }} as batch) as batch
    group by two_clocks_stream, {{ keys | join(', ') }}
  ) as by_key
  group by by_key.two_clocks_stream
{% endmacro %}


{# what became of the changes, by stream; fresh rows at or before the target's watermark are late #}
{% macro count_changes_sql(plan) %}
  {%- set watermark = plan.watermark.quoted -%}
  {%- set fresh = "two_clocks_action in ('insert', 'update')" -%}
  {%- set late, lateness = ['1 = 0'], ['null'] -%}
  {%- for cut in plan.windows if cut.clocks.target_watermark_value is not none -%}
    {%- set start = two_clocks.watermark_literal(cut.clocks.target_watermark_value, cut.watermark.kind, cut.watermark.type) -%}
    {%- set is_late = '(two_clocks_stream = ' ~ loop.index0 ~ ' and ' ~ fresh ~ ' and ' ~ watermark ~ ' <= ' ~ start ~ ')' -%}
    {%- do late.append(is_late) -%}
    {%- do lateness.append('max(case when ' ~ is_late ~ ' then ' ~ two_clocks.seconds_between(watermark, start, cut.watermark.kind, cut.watermark.units_per_second) ~ ' end)') -%}
  {%- endfor -%}
  select two_clocks_stream as stream,
    sum(case when two_clocks_action = 'superseded' then 1 else 0 end) as superseded,
    sum(case when two_clocks_action = 'stale' then 1 else 0 end) as stale,
    sum(case when {{ fresh }} then 1 else 0 end) as fresh,
    sum(case when {{ late | join(' or ') }} then 1 else 0 end) as late,
    {{ 'coalesce(' ~ lateness | join(', ') ~ ')' if lateness | length > 1 else 'cast(null as ' ~ dbt.type_bigint() ~ ')' }} as max_lateness,
    (select count(*) from (
      select 1 as one from two_clocks_changes where two_clocks_action <> 'superseded'
      group by {{ plan['keys'] | map(attribute='quoted') | join(', ') }} having count(*) > 1) as repeats) as repeated
  from two_clocks_changes
  group by two_clocks_stream
{% endmacro %}


{# the merge of inserts and updates; stale rows are kept out once more, against writers that came in between #}
{% macro merge_sql(plan) %}
  {%- set columns = plan.columns | map(attribute='quoted') | join(', ') -%}
  merge into {{ plan.target }} as DBT_INTERNAL_DEST
  using (select * from two_clocks_changes where two_clocks_action in ('insert', 'update')) as DBT_INTERNAL_SOURCE
  on {{ two_clocks._same_key(plan['keys'] | map(attribute='quoted'), plan.predicates) }}
  {% if plan.update_columns -%}
  when matched and not {{ two_clocks._is_stale(plan.watermark.quoted) }} then update set
    {% for column in plan.update_columns %}{{ column.quoted }} = DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %}
  {%- endif %}
  when not matched then insert ({{ columns }})
    values ({% for column in plan.columns %}DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %})
{%- endmacro %}
