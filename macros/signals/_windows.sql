{#-
  The CTEs that every signal from the ledger begins with.
    expected  one row per model that must be alive, with its settings
    attempts  every window of these models, backfills included
    windows   the same without backfills: a backfill brings old rows by intent, so it says nothing about silence or lateness;
              `recency` is 1 for the newest of its stream
  A ledger that does not exist is an empty one, so that its absence is found rather than an error.
-#}
{% macro signal_ctes(scope) %}
  {%- set ledger = two_clocks.ledger_relation() -%}
  {%- set text = dbt.type_string() -%}
  expected as (
    {% for one in scope -%}
    {{ 'union all ' if not loop.first }}select
      cast({{ two_clocks.text_literal(one.id) }} as {{ text }}) as model,
      cast({{ two_clocks.text_literal(one.name) }} as {{ text }}) as name,
      cast({{ two_clocks.text_literal(one.relation_tail) }} as {{ text }}) as relation_tail,
      {{ one.built }} as built,
      {{ one.max_windows }} as max_windows,
      {{ one.max_blind_windows }} as max_blind_windows,
      {{ 1 if one.judges_newer_rows else 0 }} as judges_newer_rows,
      {{ one.min_headroom }} as min_headroom,
      cast({{ one.max_lag if one.max_lag is not none else 'null' }} as {{ dbt.type_bigint() }}) as max_lag
    {% endfor %}
  ),
  expected_streams as (
    {%- set named = scope | selectattr('streams') | list -%}
    {%- if named %}
    {% for one in named %}{% set outer = loop %}{% for stream in one.streams -%}
    {{ 'union all ' if not (loop.first and outer.first) }}select
      cast({{ two_clocks.text_literal(one.id) }} as {{ text }}) as model,
      cast({{ two_clocks.text_literal(stream | string) }} as {{ text }}) as stream_name
    {% endfor %}{% endfor %}
    {%- else %}
    select cast(null as {{ text }}) as model, cast(null as {{ text }}) as stream_name
    from (select 1 as one) as nothing
    where 1 = 0
    {%- endif %}
  ),
  ledger as (
    {{ two_clocks._ledger_rows_sql(ledger) }}
  ),
  attempts as (
    select
      ledger.*,
      expected.name,
      expected.max_windows,
      expected.max_blind_windows,
      expected.judges_newer_rows,
      expected.min_headroom,
      expected.max_lag,
      coalesce(ledger.stream, '') as stream_name,
      coalesce(ledger.rows_inserted, 0) + coalesce(ledger.rows_updated, 0) as rows_fresh,
      coalesce(ledger.rows_inserted, 0) + coalesce(ledger.rows_updated, 0) - coalesce(ledger.rows_late, 0) as rows_newer
    from ledger
    inner join expected
      on ledger.model = expected.model
      -- not the database: a ledger only holds targets of its own, whatever a copy of it is called
      and right('.' || ledger.target_relation, length(expected.relation_tail)) = expected.relation_tail
    where
      not exists (select 1 from expected_streams as listed where listed.model = ledger.model)
      or exists (
        select 1 from expected_streams as listed
        where listed.model = ledger.model and listed.stream_name = coalesce(ledger.stream, '')
      )
  ),
  windows as (
    select
      attempts.*,
      {{ two_clocks._is_quiet_sql(scope) }} as is_quiet,
      row_number() over (
        partition by attempts.model, attempts.stream_name
        order by attempts.started_at desc, attempts.finished_at desc
      ) as recency
    from attempts
    where attempts.kind <> 'backfill'
  )
{%- endmacro %}


{# 1 for a window whose wall clock lies in one of its model's quiet times, both days included #}
{% macro _is_quiet_sql(scope) %}
  {%- set times = [] -%}
  {%- for one in scope -%}
    {%- for rest in one.quiet -%}
      {%- do times.append("(attempts.model = " ~ two_clocks.text_literal(one.id) ~ " and attempts.wall_clock >= " ~ two_clocks.utc_literal(rest.first) ~ " and attempts.wall_clock < " ~ two_clocks.utc_literal(rest.end) ~ ")") -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return('case when ' ~ times | join(' or ') ~ ' then 1 else 0 end' if times else '0') }}
{% endmacro %}


{% macro _ledger_rows_sql(ledger) %}
  {%- if two_clocks._ledger_exists(ledger) -%}
  select * from {{ ledger }}
  {%- else -%}
  select {% for name, kind in two_clocks.ledger_columns().items() %}cast(null as {{ two_clocks._ledger_type(kind) }}) as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
  from (select 1 as one) as nothing
  where 1 = 0
  {%- endif -%}
{%- endmacro %}


{#- Pieces of sentences. `alias` is a row of `windows` or `attempts`. -#}

{% macro _place_sql(alias) %}
  {{ return("'model ' || " ~ alias ~ ".name || case when " ~ alias ~ ".stream_name <> '' then ', stream ' || " ~ alias ~ ".stream_name else '' end") }}
{% endmacro %}

{# a watermark of the ledger as people read it: the time in UTC, or the integer id itself #}
{% macro _mark_sql(alias, name) %}
  {{ return("coalesce(cast(" ~ alias ~ "." ~ name ~ " as " ~ dbt.type_string() ~ "), " ~ alias ~ "." ~ name ~ "_value, 'none')") }}
{% endmacro %}

{% macro _range_sql(alias) %}
  {{ return("case when " ~ alias ~ ".window_to_value is null then 'an empty window' else 'window [' || case when " ~ alias ~ ".window_from_value is null then 'the beginning' else "
      ~ two_clocks._mark_sql(alias, 'window_from') ~ " end || ', ' || " ~ two_clocks._mark_sql(alias, 'window_to') ~ " || ']' end") }}
{% endmacro %}

{% macro _number_sql(expression) %}{{ return("cast(" ~ expression ~ " as " ~ dbt.type_string() ~ ")") }}{% endmacro %}

{#- A watermark of the ledger as text that sorts as the watermark does: the time in UTC, or an id padded with zeros. -#}
{% macro _order_sql(alias, name) %}
  {{ return("case when " ~ alias ~ "." ~ name ~ " is not null then " ~ two_clocks.exact_text(alias ~ '.' ~ name, 'timestamp')
      ~ " else lpad(" ~ alias ~ "." ~ name ~ "_value, 40, '0') end") }}
{% endmacro %}


{# seconds as people say them #}
{% macro _span_sql(seconds) %}
  {%- set text = dbt.type_string() -%}
  case
    when {{ seconds }} >= 172800 then cast(floor({{ seconds }} / 86400.0) as {{ dbt.type_bigint() }}) || ' days'
    when {{ seconds }} >= 7200 then cast(floor({{ seconds }} / 3600.0) as {{ dbt.type_bigint() }}) || ' hours'
    when {{ seconds }} >= 120 then cast(floor({{ seconds }} / 60.0) as {{ dbt.type_bigint() }}) || ' minutes'
    else {{ seconds }} || ' seconds'
  end
{%- endmacro %}
