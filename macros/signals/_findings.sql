{#-
  Findings: what every signal and every test returns. The first three columns are the same everywhere and made for reading:
  what_happened (a sentence), where_ (model, stream, window), what_to_do (a sentence).
-#}

{# true while dbt only parses, and under --empty: there is nothing that a test could judge #}
{% macro _nothing_to_judge() %}
  {{ return(not execute or (invocation_args_dict.get('empty') or false)) }}
{% endmacro %}


{# the findings of a test that has nothing to judge: none #}
{% macro _no_findings_sql() %}
  {%- set text = dbt.type_string() -%}
  select cast(null as {{ text }}) as what_happened, cast(null as {{ text }}) as where_, cast(null as {{ text }}) as what_to_do
  from (select 1 as one) as nothing
  where 1 = 0
{% endmacro %}


{# one finding that is known before any query is made #}
{% macro _finding_sql(what_happened, where, what_to_do) %}
  select
    cast({{ two_clocks.text_literal(what_happened) }} as {{ dbt.type_string() }}) as what_happened,
    cast({{ two_clocks.text_literal(where) }} as {{ dbt.type_string() }}) as where_,
    cast({{ two_clocks.text_literal(what_to_do) }} as {{ dbt.type_string() }}) as what_to_do
{% endmacro %}


{#-
  Says findings where they are seen, on the console, and returns them as SQL for dbt to count and store.
  The query runs once: its answer is what dbt then counts. Only for signals, whose findings are few; a test that returns
  rows of data leaves them to `dbt test --store-failures`. Compile shows the query itself.
-#}
{% macro _told(sql) %}
  {% if flags.WHICH not in ['test', 'build', 'retry'] %}{{ return(sql) }}{% endif %}
  {% set findings = run_query(sql) %}
  {% for row in findings.rows %}
    {% do log('two_clocks: ' ~ two_clocks._finding_line(row), info=true) %}
  {% endfor %}
  {{ return(two_clocks._rows_as_sql(findings)) }}
{% endmacro %}


{# data may hold control characters; a terminal must not obey them #}
{% macro _finding_line(row) %}
  {% set line = row['where_'] ~ ': ' ~ row['what_happened'] ~ '. To do: ' ~ row['what_to_do'] ~ '.' %}
  {{ return(two_clocks._harmless(line)) }}
{% endmacro %}


{# a small result as a query of the same shape, every value as text #}
{% macro _rows_as_sql(table) %}
  {%- set text = dbt.type_string() -%}
  {%- if table.rows | length == 0 %}
  select {% for name in table.column_names %}cast(null as {{ text }}) as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
  from (select 1 as one) as nothing
  where 1 = 0
  {%- endif %}
  {%- for row in table.rows %}
  {{ 'union all ' if not loop.first }}select {% for name in table.column_names -%}
    cast({{ 'null' if row[name] is none else two_clocks.text_literal(row[name] | string) }} as {{ text }}) as {{ name }}{{ ', ' if not loop.last }}
  {%- endfor %}
  {%- endfor %}
{% endmacro %}


{#-
  A finding where the tested table holds no row: an empty table, or a `where` that hides all of it, must not pass.
  `tested` is the relation as dbt hands it to the test, with `where` in it. `others` are the columns of the findings it joins.
-#}
{% macro _empty_table_sql(tested, one, others) %}
  select
    bare.*
    {%- for name, kind in others.items() %},
    {{ "cast('empty' as " ~ dbt.type_string() ~ ")" if name == 'signal' else 'cast(null as ' ~ two_clocks._ledger_type(kind) ~ ')' }} as {{ name }}
    {%- endfor %}
  from (
    {{ two_clocks._finding_sql(two_clocks._empty_sentence(), 'model ' ~ one.name, two_clocks._empty_advice()) }}
  ) as bare
  where {{ 'not exists (select 1 from ' ~ tested ~ ')' if one.built else '1 = 0' }}
{% endmacro %}

{% macro _empty_sentence() %}
  {% set where = config.get('where') %}
  {{ return('no row was left to look at: the table is empty, or its `where` hides all of it: ' ~ where if where else 'no row was left to look at: the table is empty') }}
{% endmacro %}

{% macro _empty_advice() %}
  {{ return('see whether the source delivered anything' ~ (', and whether the `where` of this test still fits the table' if config.get('where') else '')) }}
{% endmacro %}
