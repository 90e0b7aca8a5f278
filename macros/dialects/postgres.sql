{#- PostgreSQL 15 to 18 -#}

{# clock_timestamp(), not now(): dbt's transaction may have begun long before #}
{% macro postgres__wall_clock_sql() %}{{ return("(clock_timestamp() at time zone 'UTC')") }}{% endmacro %}

{% macro postgres__utc_literal(text) %}{{ return("cast('" ~ text ~ "' as timestamp without time zone)") }}{% endmacro %}

{% macro postgres__type_probe_sql(relation, sql) %}
  {{ return('select cast(pg_typeof((select ' ~ sql ~ ' from ' ~ relation ~ ' limit 0)) as text)') }}
{% endmacro %}

{# PostgreSQL folds unquoted names to lower case: quoting a lower-case one changes nothing and saves reserved words #}
{% macro postgres__column_sql(relation, name) %}
  {% if name[0] == '"' %}{{ return(name) }}{% endif %}
  {% if name == name | lower %}{{ return(two_clocks.quoted(name)) }}{% endif %}
  {% set column = two_clocks._find_column(two_clocks._columns_of_query(relation), name) %}
  {{ return(two_clocks.quoted(column.name) if column else name) }}
{% endmacro %}

{% macro _columns_of_query(relation) %}
  {{ return(adapter.get_column_schema_from_query('select * from ' ~ relation ~ ' limit 0')) }}
{% endmacro %}

{% macro postgres__exact_text(expression, kind) %}
  {% if kind == 'integer' %}{{ return('cast(' ~ expression ~ ' as text)') }}{% endif %}
  {% if kind == 'date' %}{{ return("to_char(" ~ expression ~ ", 'YYYY-MM-DD')") }}{% endif %}
  {{ return("to_char(" ~ expression ~ (" at time zone 'UTC'" if kind == 'timestamptz' else "") ~ ", 'YYYY-MM-DD HH24:MI:SS.US')") }}
{% endmacro %}

{% macro postgres__watermark_to_utc(expression, kind, units, time_zone) %}
  {% if kind == 'integer' %}
    {#- seconds and microseconds apart: one multiplication of an interval goes through a float -#}
    {{ return("(timestamp 'epoch' + div(" ~ expression ~ ", " ~ units ~ ") * interval '1 second' + mod(" ~ expression ~ ", " ~ units ~ ") * " ~ 1000000 // units ~ " * interval '1 microsecond')") }}
  {% elif kind == 'timestamptz' %}
    {{ return("(" ~ expression ~ " at time zone 'UTC')") }}
  {% endif %}
  {% set local = 'cast(' ~ expression ~ ' as timestamp without time zone)' %}
  {{ return("((" ~ local ~ " at time zone " ~ two_clocks.text_literal(time_zone) ~ ") at time zone 'UTC')" if time_zone else local) }}
{% endmacro %}

{% macro postgres__watermark_from_utc(expression, kind, units, time_zone, type) %}
  {% if kind == 'integer' %}
    {{ return('cast(floor(extract(epoch from ' ~ expression ~ ') * ' ~ units ~ ') as bigint)') }}
  {% elif kind == 'timestamptz' %}
    {{ return("(" ~ expression ~ " at time zone 'UTC')") }}
  {% endif %}
  {% set local = "((" ~ expression ~ " at time zone 'UTC') at time zone " ~ two_clocks.text_literal(time_zone) ~ ")" if time_zone else expression %}
  {{ return('cast(' ~ local ~ ' as date)' if kind == 'date' else local) }}
{% endmacro %}

{% macro postgres__shift_back(expression, amount, kind, units, time_zone, type) %}
  {% if kind == 'integer' %}{{ return('(' ~ expression ~ ' - cast(' ~ amount * (units or 1) ~ ' as bigint))') }}{% endif %}
  {% if kind == 'date' %}{{ return('(' ~ expression ~ ' - ' ~ (amount + 86399) // 86400 ~ ')') }}{% endif %}
  {{ return(two_clocks._before_clock_change(expression, kind, time_zone) ~ " - interval '" ~ amount ~ " seconds'") }}
{% endmacro %}

{#-
  Where clocks are set back, local times repeat: a row written half an hour after 02:50 may say 02:20. If the
  watermark lies in such an hour, the window starts an hour earlier still, so that no look-back can be too short.
-#}
{% macro _before_clock_change(expression, kind, time_zone) %}
  {% if kind != 'timestamp' or not time_zone %}{{ return(expression) }}{% endif %}
  {% set zone = two_clocks.text_literal(time_zone) %}
  {% set instant = '(' ~ expression ~ ' at time zone ' ~ zone ~ ')' %}
  {{ return("(case when (" ~ instant ~ " - interval '1 hour') at time zone " ~ zone ~ " = " ~ expression
      ~ " or (" ~ instant ~ " + interval '1 hour') at time zone " ~ zone ~ " = " ~ expression
      ~ " then " ~ expression ~ " - interval '1 hour' else " ~ expression ~ " end)") }}
{% endmacro %}

{% macro postgres__shift_forward(expression, amount, kind, units, type) %}
  {% if kind == 'integer' %}{{ return('(' ~ expression ~ ' + cast(' ~ amount * (units or 1) ~ ' as bigint))') }}{% endif %}
  {% if kind == 'date' %}{{ return('(' ~ expression ~ ' + ' ~ (amount + 86399) // 86400 ~ ')') }}{% endif %}
  {{ return('(' ~ expression ~ " + interval '" ~ amount ~ " seconds')") }}
{% endmacro %}

{% macro postgres__seconds_between(earlier, later, kind, units) %}
  {% if kind == 'integer' %}
    {{ return('cast(null as bigint)' if units is none else 'cast(ceil(((' ~ later ~ ') - (' ~ earlier ~ ')) / ' ~ units ~ '.0) as bigint)') }}
  {% elif kind == 'date' %}
    {{ return('((' ~ later ~ ') - (' ~ earlier ~ ')) * cast(86400 as bigint)') }}
  {% endif %}
  {{ return('cast(ceil(extract(epoch from ((' ~ later ~ ') - (' ~ earlier ~ ')))) as bigint)') }}
{% endmacro %}

{% macro postgres__lesser(a, b) %}{{ return('least(' ~ a ~ ', ' ~ b ~ ')') }}{% endmacro %}
{% macro postgres__greater(a, b) %}{{ return('greatest(' ~ a ~ ', ' ~ b ~ ')') }}{% endmacro %}

{# these types have no equality, or one that is not an order #}
{% macro postgres__comparable(expression, type) %}
  {{ return('cast(' ~ expression ~ ' as text)' if type | lower in ['json', 'xml', 'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'user-defined', 'array'] else expression) }}
{% endmacro %}

{% macro postgres__differs(left, right) %}
  {{ return('row(' ~ left | join(', ') ~ ') is distinct from row(' ~ right | join(', ') ~ ')') }}
{% endmacro %}

{% macro postgres__row_address() %}{{ return('ctid') }}{% endmacro %}

{# E'' would read backslashes; a plain literal does not, whatever standard_conforming_strings says only if there are none #}
{% macro postgres__text_literal(text) %}
  {% set doubled = text | replace("'", "''") %}
  {{ return(" E'" ~ doubled | replace('\\', '\\\\') ~ "'" if '\\' in text else "'" ~ doubled ~ "'") }}
{% endmacro %}
