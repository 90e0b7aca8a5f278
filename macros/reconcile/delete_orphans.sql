{#-
  Deletes rows of the target that are gone from the source. Never on its own: it takes the keys that a person was shown, in the var
  two_clocks_orphans (a list of lists of text), and looks once more whether each is still an orphan.
  What to compare comes in the var two_clocks_reconcile. As repair_by_key(), it does its work while it is rendered.
-#}
{% macro delete_orphans() %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set given = var('two_clocks_reconcile') %}
  {% set pair = two_clocks._pair_of(given) %}
  {% do two_clocks._in_transaction(two_clocks.lock_target_sql(pair.target.relation)) %}
  {% do two_clocks._in_transaction(two_clocks.delete_orphans_sql(pair, var('two_clocks_orphans'), given.get('in_buckets')) ~ '; select 1') %}
  {% do adapter.commit() %}
  {{ return('select 1 as one') }}
{% endmacro %}

{% macro delete_orphans_sql(pair, shown, buckets=none) %}
  {%- set texts, names, rows = [], [], [] -%}
  {%- for key in pair['keys'] -%}
    {%- do texts.append(two_clocks.comparable_text(key.target, key.target_type, key.source_type)) -%}
    {%- do names.append('key_' ~ loop.index) -%}
  {%- endfor -%}
  {%- for key in shown -%}
    {%- set literals = [] -%}
    {%- for member in key -%}{%- do literals.append(two_clocks.text_literal(member)) -%}{%- endfor -%}
    {%- do rows.append('(' ~ literals | join(', ') ~ ')') -%}
  {%- endfor -%}
  delete from {{ pair.target.relation }}
  where ({{ texts | join(', ') }}) in (
    select {{ names | join(', ') }} from ({{ two_clocks.compare_keys_sql(pair, buckets) }}) as compared where compared.what = 'orphaned'
  )
  and ({{ texts | join(', ') }}) in (
    select {{ names | join(', ') }} from (values {{ rows | join(', ') }}) as shown({{ names | join(', ') }})
  )
  {%- if pair.target.filter %}
  and ({{ pair.target.filter }})
  {%- endif %}
{% endmacro %}
