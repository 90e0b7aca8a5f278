{#-
  Emptied: a table that holds no row, or is no longer there, though its windows have stored rows.
  The ledger alone cannot see it before the next run, which reads everything again, so this looks into the tables: one row each is enough.

  Takes `scope` (see _scope.sql). Returns SQL, one row per finding; `signal` is emptied.
-#}
{% macro emptied_sql(scope) %}
with {{ two_clocks.signal_ctes(scope) }},
tables as (
  {% for one in scope -%}
  {{ 'union all ' if not loop.first }}select
    cast({{ two_clocks.text_literal(one.id) }} as {{ dbt.type_string() }}) as model,
    {{ 1 if one.built else 0 }} as is_there,
    {{ 'case when exists (select 1 from ' ~ one.relation ~ ') then 1 else 0 end' if one.built else '0' }} as has_rows
  {% endfor %}
),
stored as (
  select attempts.model, attempts.name, sum(coalesce(attempts.rows_inserted, 0)) as rows_stored, max(attempts.finished_at) as finished_at
  from attempts
  where attempts.status = 'succeeded'
  group by attempts.model, attempts.name
)
select
  case when tables.is_there = 1 then 'the table holds no row' else 'the table is not there' end || ', though its windows have stored ' || {{ two_clocks._number_sql('stored.rows_stored') }}
    || ' rows, the last of them ending at ' || {{ two_clocks.exact_text('stored.finished_at', 'timestamp') }} as what_happened,
  'model ' || stored.name as where_,
  'find out who emptied it; then dbt run --select ' || stored.name || ', which reads everything again' as what_to_do,
  'emptied' as signal,
  stored.model,
  cast(null as {{ dbt.type_string() }}) as stream,
  cast(null as {{ dbt.type_string() }}) as window_
from stored
inner join tables on stored.model = tables.model
where tables.has_rows = 0 and stored.rows_stored > 0
{% endmacro %}
