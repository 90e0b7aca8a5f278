{#- Keys that repeat, and keys with a NULL in them; one finding where there is no row at all. -#}
{% macro repeated_keys_sql(rows, unique_key) %}
  {%- set place = two_clocks._place_of(none) -%}
  {%- if not two_clocks._is_there(none) -%}
    {{ return(two_clocks._finding_sql('there is no such table, so no key could be looked at', place, 'build it first')) }}
  {%- endif -%}
  {%- set named = [unique_key] if unique_key is string else unique_key -%}
  {%- if not named or named is not iterable -%}
    {%- do two_clocks._refuse("unique_key is " ~ two_clocks._shown(unique_key) ~ "; write the name of a column, or a list of names") -%}
  {%- endif -%}
  {%- set text = dbt.type_string() -%}
  {%- set keys, nulls, shown = [], [], [] -%}
  {%- for name in named -%}
    {%- set is_column = modules.re.match('^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"|`[^`]+`)$', name | trim) is not none -%}
    {%- set sql = two_clocks._column_sql(rows, name | trim) if is_column else '(' ~ name ~ ')' -%}
    {%- do keys.append(sql) -%}
    {%- do nulls.append('by_key.key_' ~ loop.index ~ ' is null') -%}
    {%- do shown.append("coalesce(cast(by_key.key_" ~ loop.index ~ " as " ~ text ~ "), 'NULL')") -%}
  {%- endfor -%}
  {%- set key = named | join(', ') -%}
  {%- set advice = 'find what multiplied it upstream; a model with newest_wins keeps one of them' if place.startswith('source ') else 'remove the copies, or rebuild with --full-refresh; nothing may be re-read before' -%}
with by_key as (
  select {% for sql in keys %}keyed.key_{{ loop.index }}, {% endfor %}count(*) as copies
  from (select {% for sql in keys %}{{ sql }} as key_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %} from {{ rows }}) as keyed
  group by {% for sql in keys %}keyed.key_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}
),
findings as (
  select
    case when {{ nulls | join(' or ') }} then by_key.copies || case when by_key.copies = 1 then ' row has' else ' rows have' end || ' a NULL in the key (' || {{ shown | join(" || ', ' || ") }} || ')'
         else 'the key (' || {{ shown | join(" || ', ' || ") }} || ') stands in ' || by_key.copies || ' rows' end as what_happened,
    cast({{ two_clocks.text_literal(place ~ ', key ' ~ key) }} as {{ text }}) as where_,
    case when {{ nulls | join(' or ') }} then 'fill or filter it in the model: a NULL can neither be merged nor told apart'
         else {{ two_clocks.text_literal(advice) }} end as what_to_do,
    {{ shown | join(" || ', ' || ") }} as key_,
    by_key.copies
  from by_key
  where by_key.copies > 1 or {{ nulls | join(' or ') }}
)
select findings.* from findings
union all
select bare.*, cast(null as {{ text }}) as key_, cast(0 as {{ dbt.type_bigint() }}) as copies
from (
  {{ two_clocks._finding_sql(two_clocks._empty_sentence(), place, two_clocks._empty_advice()) }}
) as bare
where not exists (select 1 from by_key)
{% endmacro %}
