{#- Reads the clocks of a window in one query and says what they are. The SQL is made by clocks_sql(), which is pure. -#}
{% macro _read_clocks(request) %}
  {% set watermark = two_clocks._describe_watermark(request) %}
  {% set target = two_clocks._target_side(request, watermark) %}
  {% set backfill = two_clocks._backfill_bounds(request, watermark, target) if request.backfill else none %}
  {% set nothing_new = two_clocks._nothing_new_sql(request, watermark) if request.data_clock and target and not backfill else none %}
  {% set reached = two_clocks._reached_sql(request, watermark) if request.max_window and target and not backfill else none %}
  {% set row = run_query(two_clocks.clocks_sql(request, watermark, target, backfill, nothing_new, reached)).rows[0] %}
  {% set clocks = {} %}
  {% for name in row.keys() %}
    {% do clocks.update({name | lower: row[name] if row[name] is none or row[name] is boolean else row[name] | string}) %}
  {% endfor %}
  {% for name in ['source_watermark', 'target_watermark', 'window_from', 'window_to'] %}
    {% do clocks.update({name ~ '_value': two_clocks._tidy_value(clocks[name ~ '_value'], watermark.kind), name: two_clocks._tidy_value(clocks[name], 'timestamp')}) %}
  {% endfor %}
  {% do clocks.update({'wall_clock': two_clocks._tidy_value(clocks.wall_clock, 'timestamp')}) %}
  {{ return({'watermark': watermark, 'target': target, 'clocks': clocks}) }}
{% endmacro %}


{# exact text, short: no trailing zeros of a fraction, the zone where the type has one #}
{% macro _tidy_value(text, kind) %}
  {% if text is none %}{{ return(none) }}{% endif %}
  {% set short = text.rstrip('0').rstrip('.') if '.' in text and kind != 'integer' else text %}
  {{ return(short ~ '+00' if kind == 'timestamptz' else short) }}
{% endmacro %}


{#-
  The target's watermark column, or none where there is nothing to continue from (first run, full refresh, a view).
  Refuses a column that the target does not have, or has in another kind of type: both would compare apples and pears.
-#}
{% macro _target_side(request, watermark) %}
  {% if not is_incremental() %}{{ return(none) }}{% endif %}
  {% set columns = watermark.target_columns %}
  {% set column = two_clocks._find_column(columns, request.target_watermark) %}
  {% if column is none %}
    {% do two_clocks._refuse("the target of " ~ model.name ~ " has no column " ~ two_clocks._shown(request.target_watermark) ~ " to read its watermark from; select it in the model, or name it with target_watermark='...' (the target has: " ~ (columns | map(attribute='name') | join(', ')) ~ ")") %}
  {% endif %}
  {% set kind = two_clocks.watermark_kind(column.dtype) %}
  {% if kind != watermark.kind %}
    {% do two_clocks._refuse("the watermark of " ~ model.name ~ " is " ~ watermark.type ~ " in the source and " ~ column.dtype ~ " in the target; give windowed() an expression of the target's type, such as watermark='cast(" ~ request.watermark ~ " as " ~ column.dtype ~ ")' with target_watermark='" ~ request.target_watermark ~ "'") %}
  {% endif %}
  {{ return({'relation': this | string, 'sql': two_clocks.quoted(column.name), 'filter': request.target_filter}) }}
{% endmacro %}


{#-
  SQL for the clocks of one window, as one row of text and booleans.
  Columns: wall_clock, started_at (UTC); source_watermark, target_watermark, window_from, window_to (UTC) and the same
  with _value (exact, in the watermark's own type); for a backfill reversed and after_target; unmoved for a load log.
-#}
{% macro clocks_sql(request, watermark, target, backfill, nothing_new, reached) %}
  {%- set type, kind, units = watermark.type, watermark.kind, watermark.units_per_second -%}
  {%- set is_id = kind == 'integer' and units is none -%}
  {%- set nothing = 'cast(null as ' ~ type ~ ')' -%}
  {%- set due_filter = ' is not null' if is_id else ' <= (select clock.due from clock)' -%}
  {%- set newest_source = '(select max(' ~ watermark.sql ~ ') from ' ~ request.relation ~ ' where ' ~ watermark.sql ~ due_filter ~ ')' -%}
  {%- set exact = two_clocks.exact_text('two_clocks_operand', kind) -%}
  {%- set in_utc = two_clocks.exact_text(two_clocks.watermark_to_utc('two_clocks_operand', kind, units, request.time_zone), 'timestamp') if not is_id else 'cast(null as ' ~ dbt.type_string() ~ ')' -%}
  with wall as (
    select {{ two_clocks.utc_literal(request.now) if request.now else two_clocks.wall_clock_sql() }} as wall_clock, {{ two_clocks.wall_clock_sql() }} as started_at
  ),
  clock as (
    select wall.wall_clock, wall.started_at, {{ nothing if is_id else two_clocks.watermark_from_utc('wall.wall_clock', kind, units, request.time_zone, type) }} as due
    from wall
  ),
  {%- if request.data_clock %}
  load_log as (
    select ({{ request.data_clock }}) as loaded_to
  ),
  {%- endif %}
  marks as (
    select
      clock.wall_clock,
      clock.started_at,
      {%- if request.data_clock %}
      (select case when load_log.loaded_to is null then null
                   {% if not is_id -%}
                   when load_log.loaded_to > (select clock.due from clock) then {{ newest_source }}
                   {%- endif %}
                   else load_log.loaded_to end from load_log) as source_watermark,
      {%- else %}
      {{ newest_source }} as source_watermark,
      {%- endif %}
      {{ '(select max(' ~ target.sql ~ ') from ' ~ target.relation ~ ' where ' ~ target.sql ~ due_filter ~ (' and (' ~ target.filter ~ ')' if target.filter else '') ~ ')' if target else nothing }} as target_watermark
    from clock
  ),
  {%- if request.max_window and target %}
  progress as (
    select {{ two_clocks.greater('marks.target_watermark', '(' ~ reached ~ ')') if reached else 'marks.target_watermark' }} as reached from marks
  ),
  {%- endif %}
  ends as (
    select
      marks.*,
      {%- if backfill %}
      {{ backfill.from }} as window_from,
      {{ two_clocks.lesser('marks.target_watermark', backfill.to) }} as window_to
      {%- else %}
      case when marks.target_watermark is not null and marks.source_watermark is not null
           then {{ two_clocks.shift_back('(' ~ two_clocks.lesser('marks.target_watermark', 'marks.source_watermark') ~ ')', request.lookback.amount, kind, units, request.time_zone, type) }} end as window_from,
      {%- if request.max_window and target %}
      case when marks.target_watermark is null or marks.source_watermark is null or marks.source_watermark <= marks.target_watermark then marks.source_watermark
           else {{ two_clocks.lesser('marks.source_watermark', two_clocks.greater(
               two_clocks.shift_forward('progress.reached', request.max_window.amount, kind, units, type),
               '(select min(' ~ watermark.sql ~ ') from ' ~ request.relation ~ ' where ' ~ watermark.sql ~ ' > (select p.reached from progress as p)' ~ ('' if is_id else ' and ' ~ watermark.sql ~ due_filter) ~ ')')) }} end as window_to
      {%- else %}
      marks.source_watermark as window_to
      {%- endif %}
      {%- endif %}
    from marks{{ ' cross join progress' if request.max_window and target }}
  )
  select
    {{ two_clocks.exact_text('ends.wall_clock', 'timestamp') }} as wall_clock,
    {{ two_clocks.exact_text('ends.started_at', 'timestamp') }} as started_at,
    {%- for name in ['source_watermark', 'target_watermark', 'window_from', 'window_to'] %}
    {{ exact | replace('two_clocks_operand', 'ends.' ~ name) }} as {{ name }}_value,
    {{ in_utc | replace('two_clocks_operand', 'ends.' ~ name) }} as {{ name }},
    {%- endfor %}
    {%- if backfill %}
    {{ two_clocks.exact_text(backfill.to, kind) }} as asked_to_value,
    ({{ backfill.from }} > {{ backfill.to }}) as reversed,
    (ends.target_watermark is null or {{ backfill.from }} > ends.target_watermark) as after_target,
    {%- endif %}
    coalesce(ends.source_watermark < ends.target_watermark, false) as source_is_behind,
    {%- if nothing_new %}
    exists ({{ nothing_new }}) as unmoved
    {%- else %}
    false as unmoved
    {%- endif %}
  from ends
{% endmacro %}
