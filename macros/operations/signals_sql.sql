{#-
  Every signal that the ledger can give, one row per finding: what `two-clocks check` asks for models, whether they carry
  tests or not.

  Takes `models`, a list of mappings: `id` (dbt unique_id), and if it should differ from the default max_windows (3), max_blind_windows
  (max_windows), min_headroom (0.2), max_lag (text such as '36 hours'; none: lag is no finding), quiet, streams; `skip` lists signals that
  the model's own tests see to.
  Returns what_happened, where_, what_to_do, signal, model, stream, window_.
-#}
{% macro signals_sql(models) %}
  {% if not execute or not models %}{{ return(two_clocks._no_signals_sql()) }}{% endif %}
  {%- set scope = two_clocks._scope_of_models(models) -%}
  {%- set queries = {
      'silence': two_clocks.silence_sql, 'headroom': two_clocks.headroom_sql, 'gaps': two_clocks.gaps_sql,
      'failures': two_clocks.open_failures_sql, 'went_back': two_clocks.went_back_sql, 'lag': two_clocks.lag_sql,
      'emptied': two_clocks.emptied_sql} -%}
  {%- if two_clocks._ledger_exists(two_clocks.dead_letters_relation()) -%}{%- do queries.update({'quarantined': two_clocks.quarantined_sql}) -%}{%- endif -%}
  {%- if two_clocks._ledger_exists(two_clocks.open_ranges_relation()) -%}{%- do queries.update({'ranges': two_clocks.range_signals_sql}) -%}{%- endif -%}
  {%- set text = dbt.type_string() -%}
  {%- set parts = [] -%}
  {%- for name, query in queries.items() -%}
    {%- set asked = [] -%}
    {%- for one in scope if name not in one.skip and (name != 'lag' or one.max_lag is not none) -%}{%- do asked.append(one) -%}{%- endfor -%}
    {%- if asked -%}
      {%- set extra = {'silence': 'found.window_', 'gaps': "'[' || found.gap_from || ', ' || found.gap_to || ']'"}.get(name, 'found.window_' if name in ['failures', 'went_back', 'lag', 'quarantined', 'ranges', 'emptied'] else 'cast(null as ' ~ text ~ ')') -%}
      {#- a model that never ran, and a range that is left out, are said to be so once -#}
      {%- set once = " where found.signal not in ('never_ran', 'left_out') and found.signal not like 'not_%'" if name in ['headroom', 'gaps'] else '' -%}
      {%- do parts.append('select found.what_happened, found.where_, found.what_to_do, found.signal, found.model, found.stream, ' ~ extra ~ ' as window_ from (' ~ query(asked) ~ ') as found' ~ once) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(parts | join('\nunion all\n') if parts else two_clocks._no_signals_sql()) }}
{% endmacro %}


{% macro _no_signals_sql() %}
  {%- set text = dbt.type_string() -%}
  select {% for name in ['what_happened', 'where_', 'what_to_do', 'signal', 'model', 'stream', 'window_'] %}cast(null as {{ text }}) as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
  from (select 1 as one) as nothing
  where 1 = 0
{% endmacro %}


{% macro _scope_of_models(models) %}
  {% set scope = [] %}
  {% for asked in models if asked.id in graph.nodes %}
    {% do scope.append(two_clocks._scope_of(graph.nodes[asked.id], asked)) %}
  {% endfor %}
  {{ return(scope) }}
{% endmacro %}


{# windows that failed since the last success of their stream #}
{% macro open_failures_sql(scope) %}
with {{ two_clocks.signal_ctes(scope) }},
open_ as (
  select
    windows.*,
    count(*) over (partition by windows.model, windows.stream_name) as failures,
    row_number() over (partition by windows.model, windows.stream_name order by windows.recency) as place
  from windows
  where windows.status = 'failed'
    and not exists (
      select 1 from windows as later
      where later.model = windows.model and later.stream_name = windows.stream_name and later.status in ('succeeded', 'skipped') and later.recency < windows.recency
    )
)
select
  open_.failures || case when open_.failures = 1 then ' window failed' else ' windows failed' end || ' since the last success: ' || coalesce(open_.message, 'no message') as what_happened,
  {{ two_clocks._place_sql('open_') }} || ', ' || {{ two_clocks._range_sql('open_') }} as where_,
  'mend what the message says, then dbt run --select ' || open_.name || ': it starts again where the last success ended' as what_to_do,
  'open_failures' as signal,
  open_.model,
  nullif(open_.stream_name, '') as stream,
  {{ two_clocks._range_sql('open_') }} as window_
from open_
where open_.place = 1
{% endmacro %}


{# the source lies behind what is already stored: restored from an older state, or its newest rows deleted #}
{% macro went_back_sql(scope) %}
with {{ two_clocks.signal_ctes(scope) }}
select
  'the source went back: its newest watermark is ' || {{ two_clocks._mark_sql('windows', 'source_watermark') }} || ', while the target already holds ' || {{ two_clocks._mark_sql('windows', 'target_watermark') }} as what_happened,
  {{ two_clocks._place_sql('windows') }} || ', ' || {{ two_clocks._range_sql('windows') }} as where_,
  'ask whether ' || windows.source_relation || ' was restored from an older state; once it is filled again, compare with two-clocks reconcile --select ' || windows.name as what_to_do,
  'went_back' as signal,
  windows.model,
  nullif(windows.stream_name, '') as stream,
  {{ two_clocks._range_sql('windows') }} as window_
from windows
where windows.recency = 1
  and ({{ two_clocks._order_sql('windows', 'source_watermark') }} < {{ two_clocks._order_sql('windows', 'target_watermark') }}
    or (windows.source_watermark_value is null and windows.target_watermark_value is not null))
{% endmacro %}


{# the data clock of the newest window is older than the model is allowed to be #}
{% macro lag_sql(scope) %}
with {{ two_clocks.signal_ctes(scope) }},
lags as (
  select
    windows.*,
    {{ two_clocks.seconds_between('windows.window_to', two_clocks.logical_now_sql(), 'timestamp', none) }} as lag_seconds
  from windows
  where windows.status = 'succeeded' and windows.window_to is not null
),
newest as (
  select lags.*, row_number() over (partition by lags.model, lags.stream_name order by lags.recency) as place from lags
)
select
  'it is ' || {{ two_clocks._span_sql('newest.lag_seconds') }} || ' behind the wall clock: its windows reach to ' || {{ two_clocks._mark_sql('newest', 'window_to') }} as what_happened,
  {{ two_clocks._place_sql('newest') }} || ', ' || {{ two_clocks._range_sql('newest') }} as where_,
  'ask the job that loads ' || newest.source_relation || ', and whether this model still runs on its schedule' as what_to_do,
  'lag' as signal,
  newest.model,
  nullif(newest.stream_name, '') as stream,
  {{ two_clocks._range_sql('newest') }} as window_
from newest
where newest.place = 1 and newest.lag_seconds > newest.max_lag
{% endmacro %}


{# the sentences of a test that failed, from its own SQL; no more than a person reads #}
{% macro first_findings_sql(test_sql, rows=20) %}
  select found.what_happened, found.where_, found.what_to_do
  from (
    {{ test_sql }}
  ) as found
  limit {{ rows }}
{% endmacro %}
