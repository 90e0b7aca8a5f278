{#-
  PostgreSQL 17 and later: MERGE says what it did to each row, so the candidates are merged as they are. Nobody has to look up before what each
  of them is going to be: no second table, no second join with the target. What the merge did nothing to is stale or unchanged, and only looked
  at where there is any.
-#}
{% macro _merge_at_once(plan, book) %}
  {% set rows = two_clocks._in_one_trip([two_clocks.lock_target_sql(plan.target), two_clocks.create_candidates_sql(plan), two_clocks._make_written_sql(), two_clocks.count_candidates_sql(plan)]).rows %}
  {% do two_clocks._refuse_null_keys(plan, rows | sum(attribute='null_keys')) %}
  {% set repeated, superseded = {'keys': rows[0].repeated if rows else 0}, {} %}
  {#- a key comes twice: the rest of what is known of it is only found out then -#}
  {% if rows and rows | sum(attribute='of_candidates') > rows[0].candidate_keys %}
    {% for row in two_clocks._in_one_trip([two_clocks.keep_newest_candidates_sql(plan), two_clocks.count_superseded_sql(plan)]).rows %}
      {% do superseded.update({row.stream: row.superseded}) %}
      {% if row.repeated is not none %}{% do repeated.update({'keys': row.repeated}) %}{% endif %}
    {% endfor %}
  {% endif %}
  {% do two_clocks._refuse_repeated_keys(plan, repeated['keys']) %}
  {% set batch, written = [], [] %}
  {% for cut in plan.windows %}
    {% set stream = loop.index0 %}
    {% set extracted = rows | selectattr('stream', 'equalto', stream) | map(attribute='extracted') | first | default(0) | int %}
    {% set older = superseded.get(stream, 0) | int %}
    {% set sum = '(select coalesce(sum({}), 0) from two_clocks_written where stream = ' ~ stream ~ ')' %}
    {% do written.append({'inserted': sum.replace('{}', 'inserted'), 'updated': sum.replace('{}', 'updated')}) %}
    {% do batch.append({
        'extracted': extracted, 'superseded': older, 'stale': sum.replace('{}', 'stale'),
        'unchanged': (extracted - older) ~ ' - ' ~ sum.replace('{}', 'inserted + updated + stale'),
        'late': sum.replace('{}', 'late'), 'max_lateness': '(select max(max_lateness) from two_clocks_written where stream = ' ~ stream ~ ')'}) %}
  {% endfor %}
  {% do book.update({'batch': batch, 'written': written}) %}
  {{ return(two_clocks.merge_candidates_sql(plan)) }}
{% endmacro %}


{% macro _make_written_sql() %}
  {{ return('create temporary table two_clocks_written (stream integer, inserted bigint, updated bigint, late bigint, max_lateness bigint, stale bigint) on commit drop') }}
{% endmacro %}


{#-
  What is in the batch, by stream: rows, NULL keys, and rows of the candidates' keys; how many such keys there are, and how many of them the
  target holds more than once. More rows than keys: some key comes more than once.
-#}
{% macro count_candidates_sql(plan) %}
  {%- set keys, joined = two_clocks._key_list(plan), [] -%}
  {%- for key in plan['keys'] -%}
    {%- do joined.append('candidate.' ~ key.quoted ~ ' = batch.' ~ key.quoted) -%}
  {%- endfor -%}
  with candidate as (select {{ keys }}, 1 as two_clocks_rank from two_clocks_candidates group by {{ keys }})
  select {{ 'batch.two_clocks_stream' if plan.windows | length > 1 else 0 }} as stream, count(*) as extracted,
    count(case when {{ two_clocks._is_null_key(plan) }} then 1 end) as null_keys,
    count(candidate.two_clocks_rank) as of_candidates,
    (select count(*) from candidate) as candidate_keys,
    {{ two_clocks._count_repeated_sql(plan) }} as repeated
  from ({{ two_clocks._batch_sql(plan) }}) as batch
  left join candidate on {{ joined | join(' and ') }}
  {{ 'group by 1' if plan.windows | length > 1 }}
{% endmacro %}


{#-
  How many of the candidates' keys the target holds more than once. Where a unique index sees to it nobody looks, if a key of the batch is of the
  same type as the stored one: by the equality of two types, one value may be equal to several.
  Predicates may speak of any column, so with them a row of the target is counted once however many candidates meet it.
-#}
{% macro _count_repeated_sql(plan) %}
  {%- set keys, alike, met_keys = plan['keys'] | map(attribute='quoted') | list, [], [] -%}
  {%- for key in keys -%}
    {%- do met_keys.append('DBT_INTERNAL_SOURCE.' ~ key) -%}
    {%- do alike.append('pg_typeof((select ' ~ key ~ ' from two_clocks_candidates limit 0)) = pg_typeof((select ' ~ key ~ ' from ' ~ plan.target ~ ' limit 0))') -%}
  {%- endfor -%}
  {%- if two_clocks._has_unique_index(plan) -%}case when {{ alike | join(' and ') }} then 0 else {% endif -%}
  (select count(*) from (
    select 1 as one
    from (
      {%- if plan.predicates %}
      select distinct {{ met_keys | join(', ') }}, DBT_INTERNAL_DEST.tableoid, DBT_INTERNAL_DEST.ctid
      from two_clocks_candidates as DBT_INTERNAL_SOURCE
      {%- else %}
      select {{ met_keys | join(', ') }}
      from (select distinct {{ keys | join(', ') }} from two_clocks_candidates) as DBT_INTERNAL_SOURCE
      {%- endif %}
      inner join {{ plan.target }} as DBT_INTERNAL_DEST on {{ two_clocks._same_key(keys, plan.predicates) }}
    ) as met
    group by {{ keys | join(', ') }} having count(*) > 1) as repeats)
  {%- if two_clocks._has_unique_index(plan) %} end{% endif -%}
{% endmacro %}

{# an index over some columns of the key is unique over all of them too #}
{% macro _has_unique_index(plan) %}
  {% set names = plan['keys'] | map(attribute='name') | list %}
  {% for cut in plan.windows %}
    {% for columns in ((cut.watermark.indexed or {}).target or {}).unique or [] %}
      {% if columns | reject('in', names) | list | length == 0 %}{{ return(true) }}{% endif %}
    {% endfor %}
  {% endfor %}
  {{ return(false) }}
{% endmacro %}


{#- Puts the newest version of each key that comes more than once in the place of all that the candidates have of it. -#}
{% macro keep_newest_candidates_sql(plan) %}
  {%- set columns = plan.columns | map(attribute='quoted') | join(', ') ~ ', two_clocks_stream' -%}
  {{ two_clocks.make_work_table_sql('two_clocks_versions', two_clocks.versions_sql(plan), two_clocks._key_list(plan)) }};
  delete from two_clocks_candidates as candidates where {{ two_clocks._key_is_in(plan, 'two_clocks_versions', 'candidates') }};
  insert into two_clocks_candidates ({{ columns }}) select {{ columns }} from two_clocks_versions where two_clocks_rank = 1;
  analyze two_clocks_candidates ({{ two_clocks._key_list(plan) }})
{% endmacro %}

{% macro count_superseded_sql(plan) %}
  {#- older versions bring no other keys, so what was counted before still holds, unless predicates have spoken of them -#}
  select two_clocks_stream as stream, count(*) as superseded, {{ two_clocks._count_repeated_sql(plan) if plan.predicates else 'null' }} as repeated
  from two_clocks_versions
  where two_clocks_rank > 1
  group by two_clocks_stream
{% endmacro %}


{#-
  The merge of the candidates, and what it did by stream, in two_clocks_written: inserted, updated and late rows, the greatest lateness in
  seconds, and stale rows, which are looked for only where the merge has left some row as it was.
-#}
{% macro merge_candidates_sql(plan) %}
  {%- set watermark = plan.watermark.quoted -%}
  {%- set lateness = two_clocks._lateness(plan, '1 = 1') -%}
with merged as (
  {{ two_clocks.merge_sql(plan, 'two_clocks_candidates', plan.differs) }}
  returning merge_action() as two_clocks_action, DBT_INTERNAL_SOURCE.two_clocks_stream, DBT_INTERNAL_SOURCE.{{ watermark }}
),
written as (
  select two_clocks_stream as stream,
    count(*) filter (where two_clocks_action = 'INSERT') as inserted,
    count(*) filter (where two_clocks_action = 'UPDATE') as updated,
    count(*) filter (where {{ lateness.is_late }}) as late,
    {{ lateness.greatest }} as max_lateness
  from merged
  group by two_clocks_stream
)
insert into two_clocks_written (stream, inserted, updated, late, max_lateness, stale)
select stream, inserted, updated, late, max_lateness, 0
from written
union all
select DBT_INTERNAL_SOURCE.two_clocks_stream, 0, 0, 0, null, count(*)
from two_clocks_candidates as DBT_INTERNAL_SOURCE
inner join {{ plan.target }} as DBT_INTERNAL_DEST
  on {{ two_clocks._same_key(plan['keys'] | map(attribute='quoted'), plan.predicates) }} and {{ two_clocks._is_stale(watermark) }}
where (select count(*) from two_clocks_candidates) > (select coalesce(sum(inserted + updated), 0) from written)
group by DBT_INTERNAL_SOURCE.two_clocks_stream
{% endmacro %}
