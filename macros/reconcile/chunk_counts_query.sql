{#-
  How many rows of a source fall into each of many neighbouring ranges, in one pass. What to count comes in the var
  two_clocks_chunks: relation, watermark (SQL), kind, type, starts (exact texts in order) and end. Each range reaches from
  its start to the next one; the last one includes the end. One row for each range that holds rows: chunk (from 0) and rows_found.
-#}
{% macro chunk_counts_query() %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {{ return(two_clocks.chunk_counts_sql(**var('two_clocks_chunks'))) }}
{% endmacro %}

{% macro chunk_counts_sql(relation, watermark, kind, type, starts, end) %}
  {%- set literals = [] -%}
  {%- for start in starts -%}{%- do literals.append(two_clocks.watermark_literal(start, kind, type)) -%}{%- endfor -%}
  select ranged.chunk, count(*) as rows_found
  from (
    select {{ two_clocks._chunk_case(watermark, literals, 0, literals | length) }} as chunk
    from {{ relation }}
    where {{ watermark }} >= {{ literals[0] }} and {{ watermark }} <= {{ two_clocks.watermark_literal(end, kind, type) }}
  ) as ranged
  group by ranged.chunk
{% endmacro %}

{# a tree of comparisons: ten for a thousand ranges, where a list of them would need five hundred on average #}
{% macro _chunk_case(watermark, literals, first, last) -%}
  {%- if last - first == 1 -%}{{ first }}
  {%- else -%}
    {%- set middle = (first + last) // 2 -%}
    case when {{ watermark }} < {{ literals[middle] }} then {{ two_clocks._chunk_case(watermark, literals, first, middle) }} else {{ two_clocks._chunk_case(watermark, literals, middle, last) }} end
  {%- endif -%}
{%- endmacro %}
