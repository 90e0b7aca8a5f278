{#-
  The circuit breaker. Counts good and bad rows before anything is written, and refuses a window in which too many are bad:
  that is a change at the source, not a bad record. The window is in the book already, so the ledger will say failed.

  Rows that are in quarantine already were judged when they came and are not counted again: a look-back re-reads them on
  every run, and the few that stay must not jam a quiet one.
-#}
{% macro _check_bad_rows(cut) %}
  {% set quarantine = cut.get('quarantine') %}
  {% if not quarantine %}{{ return(none) }}{% endif %}
  {% do two_clocks.ensure_dead_letters() %}
  {% do two_clocks.prepare_safe_cast() %}
  {% set met = run_query(two_clocks.count_verdicts_sql(cut)).rows %}
  {% set rows, bad = met | sum(attribute='found') | int, met | rejectattr('verdict', 'equalto', 0) | sum(attribute='found') | int %}
  {#- a row that goes bad between here and the merge is left out by the merge too, and met by the next look-back -#}
  {% set open_letters = two_clocks._one_value('select count(*) from ' ~ two_clocks.dead_letters_relation() ~ ' as letters where ' ~ two_clocks._letters_of(cut, 'letters') ~ ' and letters.released_at is null') | int %}
  {% do quarantine.update({'has_work': bad > 0 or open_letters > 0}) %}

  {% if two_clocks._trips(quarantine, bad, rows) %}
    {% set fresh = run_query(two_clocks.count_new_bad_rows_sql(cut)).rows %}
    {% set new = fresh | sum(attribute='found') | int %}
    {% if two_clocks._trips(quarantine, new, rows - bad + new) and two_clocks._breaker_is_on() %}
      {% do cut.update({'breaker_tripped': true}) %}
      {% do two_clocks._refuse(two_clocks._breaker_words(cut, fresh, new, rows - bad + new)) %}
    {% endif %}
  {% endif %}
{% endmacro %}


{% macro _trips(quarantine, bad, rows) %}
  {{ return((quarantine.max_rows is not none and bad > quarantine.max_rows) or (rows >= quarantine.min_rows and bad > rows * quarantine.max_share)) }}
{% endmacro %}


{# var two_clocks_breaker: off, for the one run that is to take the rows in quarantine however many they are #}
{% macro _breaker_is_on() %}
  {% set value = var('two_clocks_breaker', true) %}
  {% if value is true or value | string | lower in ['on', 'true'] %}{{ return(true) }}{% endif %}
  {% if value is false or value | string | lower in ['off', 'false'] %}{{ return(false) }}{% endif %}
  {% do two_clocks._refuse("two_clocks_breaker is " ~ two_clocks._shown(value) ~ "; write on or off") %}
{% endmacro %}


{% macro _breaker_words(cut, fresh, new, rows) %}
  {% set quarantine = cut.quarantine %}
  {% set worst = fresh | sort(attribute='found', reverse=true) | first %}
  {% set rule = quarantine.rules[(worst.verdict | int) - 1] %}
  {% set examples = [] %}
  {% for row in run_query(two_clocks.bad_examples_sql(cut, worst.verdict)).rows %}
    {% do examples.append('key ' ~ two_clocks._shown('NULL' if row[0] is none else row[0]) ~ (' has ' ~ two_clocks._shown(row[1]) if row[1] is not none else '')) %}
  {% endfor %}
  {% set share = '%.1f' | format(100.0 * new / rows) %}
  {% set over = "max_rows = " ~ quarantine.max_rows if quarantine.max_rows is not none and new > quarantine.max_rows else "max_share = " ~ quarantine.max_share %}
  {{ return(new ~ " of the " ~ rows ~ " rows in the window of " ~ model.name ~ " (" ~ share ~ " %) break its rules, more than " ~ over ~ " allows; "
      ~ (worst.found | int) ~ " of them break " ~ rule.name ~ ", such as " ~ examples | join(', ')
      ~ "; so many at once are a change at the source rather than bad records. Nothing was written; mend the source or the rule, or send them to quarantine with --vars '{two_clocks_breaker: off}'") }}
{% endmacro %}


{# good and bad rows of all that this run looks at, by the rule they break; 0 is good #}
{% macro count_verdicts_sql(cut) %}
  select judged.verdict, count(*) as found
  from (select {{ cut.quarantine.verdict }} as verdict from {{ cut.request.relation }} where {{ cut.quarantine.looked_at }}) as judged
  group by judged.verdict
{% endmacro %}


{# bad rows that no open letter speaks of, nor one that a person has let go #}
{% macro count_new_bad_rows_sql(cut) %}
  select judged.verdict, count(*) as found
  from (
    select {{ cut.quarantine.verdict }} as verdict, {{ two_clocks._letter_id(cut, 'source_row') }} as letter_id
    from {{ cut.request.relation }} as source_row
    where ({{ cut.quarantine.looked_at }}) and {{ cut.quarantine.verdict }} > 0
  ) as judged
  where not exists (
    select 1 from {{ two_clocks.dead_letters_relation() }} as letters
    where letters.letter_id = judged.letter_id and (letters.released_at is null or letters.released_by = 'person'))
  group by judged.verdict
{% endmacro %}


{# three rows that break a rule: the key, and the value where the rule speaks of one or the row where it may be kept #}
{% macro bad_examples_sql(cut, verdict) %}
  {%- set quarantine = cut.quarantine -%}
  {%- set rule = quarantine.rules[(verdict | int) - 1] -%}
  {%- set text = dbt.type_string() -%}
  select {{ quarantine.key_text }} as key_text,
    {{ 'cast(null as ' ~ text ~ ')' if not quarantine.keep_row else 'cast(' ~ rule.shows ~ ' as ' ~ text ~ ')' if rule.shows else two_clocks.row_as_json('source_row') }} as shown
  from {{ cut.request.relation }} as source_row
  where ({{ quarantine.looked_at }}) and {{ quarantine.verdict }} = {{ verdict | int }}
  order by 1
  limit 3
{% endmacro %}
