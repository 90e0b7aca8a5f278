{#-
  The second step: the keys in the buckets that differ, each with what is wrong with it. Pure.

  Takes a comparison() and `buckets`: none to find them in the same statement (so that one query is the whole comparison, as
  a test needs it), a list to look into these alone, or 'all'.
  Returns one row for each key, and none where nothing is wrong:
    what                missing    the source has an eligible row up to the bound and the target has no row of this key
                        stale      the target's newest row of this key is older than that of the source
                        differs    the same watermark, but other values in `columns`
                        orphaned   the target has an eligible row up to the bound and the source no row of this key at all
    key_1, key_2, ...   the key as text, in the order of unique_key
    source_watermark, target_watermark            exact text in the watermark's own type
    source_watermark_utc, target_watermark_utc    the same for people; NULL for integer ids
  A target row newer than the source's is no loss. Rows whose key holds a NULL are not compared.
-#}
{% macro compare_keys_sql(pair, buckets=none) %}
  {%- set texts, joined, found_in_source, found_in_target = [], [], 's.key_1 is not null', 't.key_1 is not null' -%}
  {%- for key in pair['keys'] -%}
    {%- do texts.append('coalesce(s.key_' ~ loop.index ~ ', t.key_' ~ loop.index ~ ') as key_' ~ loop.index) -%}
    {%- do joined.append('s.key_' ~ loop.index ~ ' = t.key_' ~ loop.index) -%}
  {%- endfor -%}
  with {{ two_clocks._bound_ctes(pair) }},
  {%- if buckets is none %}
  {{ two_clocks._bucket_ctes(pair) }},
  {%- endif %}
  {%- if pair.columns %}
  source_versions as (
    {{ two_clocks._versions_of_keys(pair, 'source', buckets) }}
  ),
  {#- several versions may share the newest watermark, and any of them may be the one that is stored #}
  source_values as (
    select distinct {{ two_clocks._key_names(pair) }}, columns_hash
    from source_versions
    where compared_watermark = newest_of_key
  ),
  {%- endif %}
  source_keys as (
    {{ two_clocks._newest_by_key(pair, 'source', buckets, 'source_versions' if pair.columns else none) }}
  ),
  target_keys as (
    {{ two_clocks._newest_by_key(pair, 'target', buckets) }}
  ),
  verdicts as (
    select
      case when s.compared_watermark is not null and t.key_1 is null then 'missing'
           when s.compared_watermark is not null and (t.newest_watermark is null or t.newest_watermark < s.compared_watermark) then 'stale'
           {% if pair.columns -%}
           when s.compared_watermark is not null and t.newest_watermark = s.compared_watermark and same.key_1 is null then 'differs'
           {% endif -%}
           when t.compared_watermark is not null and s.key_1 is null then 'orphaned' end as what,
      {{ texts | join(', ') }},
      s.compared_watermark as source_watermark,
      t.newest_watermark as target_watermark
    from source_keys as s
    full outer join target_keys as t on {{ joined | join(' and ') }}
    {%- if pair.columns %}
    left join source_values as same on {{ joined | join(' and ') | replace('s.key_', 'same.key_') }} and same.columns_hash = t.columns_hash
    {%- endif %}
  )
  select
    verdicts.what,
    {% for key in pair['keys'] %}verdicts.key_{{ loop.index }}, {% endfor %}
    {{ two_clocks.exact_text('verdicts.source_watermark', pair.kind) }} as source_watermark,
    {{ two_clocks.exact_text('verdicts.target_watermark', pair.kind) }} as target_watermark,
    {{ two_clocks._spoken_watermark(pair, 'verdicts.source_watermark') }} as source_watermark_utc,
    {{ two_clocks._spoken_watermark(pair, 'verdicts.target_watermark') }} as target_watermark_utc
  from verdicts
  where verdicts.what is not null
{% endmacro %}


{#-
  By key: the newest watermark that is compared, and the newest of all. The second says whether a key is there at all and
  whether the target is ahead; the first is what has to be there.
-#}
{% macro _newest_by_key(pair, side_name, buckets, versions=none) %}
  select {{ two_clocks._key_names(pair) }},
    max(compared_watermark) as compared_watermark,
    max(watermark) as newest_watermark
    {%- if pair.columns %},
    min(case when watermark = newest_of_key then columns_hash end) as columns_hash
    {%- endif %}
  from {% if versions %}{{ versions }}{% else %}(
    {{ two_clocks._versions_of_keys(pair, side_name, buckets) }}
  ) as versions{% endif %}
  group by {{ two_clocks._key_names(pair) }}
{% endmacro %}


{% macro _key_names(pair) %}
  {%- set names = [] -%}
  {%- for key in pair['keys'] -%}{%- do names.append('key_' ~ loop.index) -%}{%- endfor -%}
  {{ return(names | join(', ')) }}
{% endmacro %}


{# the rows of one side in these buckets: keys as text, both watermarks, and with `columns` the hash of their values #}
{% macro _versions_of_keys(pair, side_name, buckets) %}
  {%- set side = pair[side_name] -%}
  {%- set other = {'source': 'target', 'target': 'source'}[side_name] -%}
  {%- set texts, conditions = [], [] -%}
  {%- for key in pair['keys'] -%}
    {%- do texts.append(two_clocks.comparable_text(key[side_name], key[side_name ~ '_type'], key[other ~ '_type']) ~ ' as key_' ~ loop.index) -%}
    {%- do conditions.append(key[side_name] ~ ' is not null') -%}
  {%- endfor -%}
  {%- if side.filter -%}{%- do conditions.append('(' ~ side.filter ~ ')') -%}{%- endif -%}
  {%- if buckets != 'all' -%}
    {%- do conditions.append(two_clocks.bucket_sql(two_clocks._hash_of(pair['keys'], side_name), pair.buckets) ~ ' in ('
        ~ ('select buckets.bucket from buckets where buckets.differs = 1' if buckets is none else (buckets | join(', ') if buckets else 'null')) ~ ')') -%}
  {%- endif -%}
  select rows_of_keys.*
    {%- if pair.columns %},
    max({{ 'compared_watermark' if side_name == 'source' else 'watermark' }}) over (partition by {{ two_clocks._key_names(pair) }}) as newest_of_key
    {%- endif %}
  from (
    select {{ texts | join(', ') }}, {{ pair.watermark[side_name] }} as watermark,
      case when {{ two_clocks._row_state(pair, side_name) }} = 0 then {{ pair.watermark[side_name] }} end as compared_watermark
      {%- if pair.columns %},
      {{ two_clocks._hash_of(pair.columns, side_name) }} as columns_hash
      {%- endif %}
    from {{ side.relation }}
    where {{ conditions | join(' and ') }}
  ) as rows_of_keys
{% endmacro %}
