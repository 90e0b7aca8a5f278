{#-
  Takes the bad rows out of a window's predicate and says in cut.quarantine where they are looked for. Makes no query.
  A row breaks the first rule that it breaks: the rules stand in one CASE, in the order they are declared, so a condition
  may lean on the cast that a rule before it has tried.
-#}
{% macro _set_bad_rows_aside(cut) %}
  {% if cut.status == 'skipped' %}{{ return(none) }}{% endif %}
  {% set quarantine = two_clocks._quarantine_request(cut.request, cut.watermark, cut.clocks) %}
  {% if quarantine is none %}{{ return(none) }}{% endif %}

  {#- rows without a place in time lie in no window: a normal run looks at all of them, as nulls='include' would -#}
  {% set places = ['(' ~ cut.predicate ~ ')'] %}
  {% for rule in quarantine.rules if rule.watermark and not cut.request.backfill %}
    {% do places.append(rule.broken) %}
  {% endfor %}
  {% do quarantine.update({'window': cut.predicate, 'looked_at': places | join(' or '), 'verdict': two_clocks.verdict_sql(quarantine.rules)}) %}
  {% do cut.update({'quarantine': quarantine, 'predicate': '(' ~ cut.predicate ~ ') and ' ~ quarantine.verdict ~ ' = 0'}) %}
{% endmacro %}


{# the number of the rule that a row breaks, 0 for a good row #}
{% macro verdict_sql(rules) %}
  {%- set parts = [] -%}
  {%- for rule in rules -%}{%- do parts.append('when ' ~ rule.broken ~ ' then ' ~ loop.index) -%}{%- endfor -%}
  {{ return('case ' ~ parts | join(' ') ~ ' else 0 end') }}
{% endmacro %}


{#-
  What makes a bad row the same letter when it is met again: model, target, stream and key; where the key itself is NULL,
  all of the row. `row` is the alias of the source.
-#}
{% macro _letter_id(cut, row) %}
  {%- set quarantine = cut.quarantine -%}
  {%- set owner = cut.model ~ ' ' ~ two_clocks._plain_name(cut.target_relation) ~ ' ' ~ (cut.request.stream or '') ~ ' ' -%}
  {{ return(dbt.hash(two_clocks.text_literal(owner) ~ ' || case when ' ~ quarantine.null_key ~ ' then ' ~ two_clocks.row_as_json(row) ~ ' else ' ~ quarantine.key_text ~ ' end')) }}
{% endmacro %}
