{#-
  What the watermark of a request is made of: the SQL that names it, its type, and for integers its unit.
  Asks the database once or, for integers, twice. Where there is a target to continue from, its columns are asked for too.
  Returns {'sql', 'type', 'kind', 'units_per_second', 'target_columns', 'indexed'}; kind is timestamp, timestamptz, date or integer,
  units_per_second is 1, 1000 or 1000000 for an epoch and none for everything else.
-#}
{% macro _describe_watermark(request) %}
  {% set sql = two_clocks._column_sql(request.relation, request.watermark) if request.is_column else '(' ~ request.watermark ~ ')' %}
  {% set found = two_clocks._types_of_both_sides(request.relation, sql, this if is_incremental() else none) %}
  {% set type = found.type %}
  {% set kind = two_clocks.watermark_kind(type) %}
  {% if kind is none %}
    {% do two_clocks._refuse("the watermark " ~ request.watermark ~ " of " ~ model.name ~ " is of type " ~ type ~ "; a watermark must be a timestamp, a date or an integer (or an expression that makes one, with target_watermark naming its column in the target)") %}
  {% endif %}
  {% set units = two_clocks._units_per_second(request, sql) if kind == 'integer' else none %}
  {% do two_clocks._check_lengths(request, kind, units) %}
  {{ return({'sql': sql, 'type': type, 'kind': kind, 'units_per_second': units, 'target_columns': found.target_columns, 'indexed': found.indexed}) }}
{% endmacro %}


{#-
  The unit of an integer watermark: from the model's meta if it says so, else by the magnitude of a small sample:
  numbers that would be times between 1985 and 2052 in seconds, milliseconds or microseconds are taken as such,
  anything else counts up as an id. A minority of odd values does not change the verdict.
-#}
{% macro _units_per_second(request, sql) %}
  {% set units = {'s': 1, 'ms': 1000, 'us': 1000000, 'id': none} %}
  {% set said = (config.get('meta') or {}).get('two_clocks_epoch') %}
  {% if said is not none %}
    {% if said not in units %}
      {% do two_clocks._refuse("meta two_clocks_epoch of " ~ model.name ~ " is " ~ two_clocks._shown(said) ~ "; write s, ms, us or id") %}
    {% endif %}
    {{ return(units[said]) }}
  {% endif %}
  {% set sample = run_query(two_clocks.epoch_sample_sql(request.relation, sql)).rows[0] %}
  {% set votes = [(sample[0] or 0, 1), (sample[1] or 0, 1000), (sample[2] or 0, 1000000), (sample[3] or 0, none)] %}
  {% set best = votes | sort(attribute='0', reverse=true) | first %}
  {{ return(best[1] if best[0] > 0 else none) }}
{% endmacro %}


{% macro epoch_sample_sql(relation, sql) %}
  {%- set first, last = 500000000, 2600000000 -%}
  select
      sum(case when sample.watermark between {{ first }} and {{ last }} then 1 else 0 end),
      sum(case when sample.watermark between {{ first }}000 and {{ last }}000 then 1 else 0 end),
      sum(case when sample.watermark between {{ first }}000000 and {{ last }}000000 then 1 else 0 end),
      sum(case when sample.watermark between {{ first }} and {{ last }} then 0
               when sample.watermark between {{ first }}000 and {{ last }}000 then 0
               when sample.watermark between {{ first }}000000 and {{ last }}000000 then 0
               else 1 end)
  from (select {{ sql }} as watermark from {{ relation }} where {{ sql }} is not null limit 1000) as sample
{% endmacro %}


{# a duration means nothing for an id; the default look-back is a duration, so ids must name their own #}
{% macro _check_lengths(request, kind, units) %}
  {% if kind == 'integer' and units is none %}
    {% for length in [request.lookback, request.max_window] if length and not length.is_number and length.amount > 0 %}
      {% if two_clocks._holds_rows(request) %}
        {% do two_clocks._refuse(length.name ~ " is " ~ two_clocks._shown(length.value) ~ ", a length of time, but the watermark " ~ request.watermark ~ " of " ~ model.name
            ~ " is an integer that does not look like an epoch; give a plain number of ids such as lookback=1000, or say config(meta={'two_clocks_epoch': 's'}) if it is one (s, ms or us)") %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}

{% macro _holds_rows(request) %}
  {% set sql = two_clocks._column_sql(request.relation, request.watermark) if request.is_column else request.watermark %}
  {{ return(run_query('select 1 from ' ~ request.relation ~ ' where ' ~ sql ~ ' is not null limit 1').rows | length > 0) }}
{% endmacro %}


{#-
  A column as SQL. Quoted names stay as they are; plain lower-case names are quoted where that changes nothing but
  makes reserved words safe; other names are looked up, so that "updatedAt" may be written updatedAt.
-#}
{% macro _column_sql(relation, name) %}
  {{ return(adapter.dispatch('column_sql', 'two_clocks')(relation, name)) }}
{% endmacro %}


{# finds a column by name among Column objects: exactly, then by letters alone; none if there is no such column #}
{% macro _find_column(columns, name) %}
  {% set bare = name | trim %}
  {% if bare[0] in ['"', '`'] %}
    {#- a mark inside a quoted name is written twice; dbt hands over names that it has quoted without doing so -#}
    {% set bare = bare[1:-1] %}
    {% set bare = bare if bare in (columns | map(attribute='name')) else bare | replace('""', '"') %}
  {% else %}
    {% set folded = columns | selectattr('name', 'in', [bare, bare | lower, bare | upper]) | list %}
    {% for candidate in [bare, bare | lower, bare | upper] %}
      {% for column in folded if column.name == candidate %}{{ return(column) }}{% endfor %}
    {% endfor %}
  {% endif %}
  {% for column in columns if column.name == bare %}{{ return(column) }}{% endfor %}
  {% for column in columns if column.name | lower == bare | lower %}{{ return(column) }}{% endfor %}
  {{ return(none) }}
{% endmacro %}


{# dbt's columns with names that may be put into SQL whatever stands in them; plain ones, which nearly all are, need no more than the marks #}
{% macro _with_quoted_names(columns) %}
  {% set named, marks = [], two_clocks.quoted('x').split('x') %}
  {% for column in columns %}
    {% set quoted = marks[0] ~ column.name ~ marks[1] if modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', column.name) else two_clocks.quoted(column.name) %}
    {% do named.append({'name': column.name, 'quoted': quoted, 'dtype': column.dtype, 'data_type': column.data_type}) %}
  {% endfor %}
  {{ return(named) }}
{% endmacro %}


{% macro _one_value(sql) %}
  {{ return(run_query(sql).rows[0][0]) }}
{% endmacro %}
