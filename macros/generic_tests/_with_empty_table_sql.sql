{#-
  The findings of a ledger test, and one more where the tested table holds no row: an empty table, or a `where` that hides all of it,
  must not pass. `tested` is the relation as dbt hands it to the test, so `where` is in it already.
-#}
{% macro _with_empty_table_sql(findings_sql, tested, one) %}
  {%- if not one.built %}
    {{ findings_sql }}
  {%- else %}
    select found.* from (
      {{ findings_sql }}
    ) as found
    union all
    select bare.*, shape.* from (
      {{ two_clocks._finding_sql(
          two_clocks._nothing_in_table_sentence(), 'model ' ~ one.name,
          "see whether the source delivered anything" ~ (" and whether this `where` fits the table" if config.get('where') else '')) }}
    ) as bare
    left join (
      select {% for name in two_clocks._other_columns(findings_sql) %}{{ name }}{{ ', ' if not loop.last }}{% endfor %} from (
        {{ findings_sql }}
      ) as unused
    ) as shape on 1 = 0
    where not exists (select 1 from {{ tested }})
  {%- endif %}
{% endmacro %}
