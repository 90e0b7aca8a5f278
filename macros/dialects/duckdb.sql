{#- DuckDB 1.4 and later (MERGE INTO ... RETURNING) -#}

{% macro duckdb__wall_clock_sql() %}{{ return("(get_current_timestamp() at time zone 'UTC')") }}{% endmacro %}

{% macro duckdb__utc_literal(text) %}{{ return("cast('" ~ text ~ "' as timestamp)") }}{% endmacro %}

{% macro duckdb__type_probe_sql(relation, sql) %}
  {{ return('select typeof(max(probe.watermark)) from (select ' ~ sql ~ ' as watermark from ' ~ relation ~ ' limit 0) as probe') }}
{% endmacro %}

{% macro duckdb__watermark_kinds() %}
  {% set kinds = two_clocks.default__watermark_kinds() %}
  {% do kinds.update({'timestamp_s': 'timestamp', 'timestamp_ms': 'timestamp', 'timestamp_ns': 'timestamp', 'int128': 'integer'}) %}
  {{ return(kinds) }}
{% endmacro %}

{# names are compared without regard to case, so quoting is always safe #}
{% macro duckdb__column_sql(relation, name) %}
  {{ return(name if name[0] == '"' else two_clocks.quoted(name)) }}
{% endmacro %}

{% macro duckdb__exact_text(expression, kind) %}
  {{ return('cast(' ~ (expression if kind != 'timestamptz' else "(" ~ expression ~ " at time zone 'UTC')") ~ ' as varchar)') }}
{% endmacro %}

{% macro duckdb__watermark_to_utc(expression, kind, units, time_zone) %}
  {% if kind == 'integer' %}
    {{ return('make_timestamp(cast(' ~ expression ~ ' as bigint) * ' ~ 1000000 // units ~ ')') }}
  {% elif kind == 'timestamptz' %}
    {{ return("(" ~ expression ~ " at time zone 'UTC')") }}
  {% endif %}
  {% set local = 'cast(' ~ expression ~ ' as timestamp)' %}
  {{ return("((" ~ local ~ " at time zone " ~ two_clocks.text_literal(time_zone) ~ ") at time zone 'UTC')" if time_zone else local) }}
{% endmacro %}

{% macro duckdb__watermark_from_utc(expression, kind, units, time_zone, type) %}
  {% if kind == 'integer' %}
    {{ return('(epoch_us(' ~ expression ~ ') // ' ~ 1000000 // units ~ ')') }}
  {% elif kind == 'timestamptz' %}
    {{ return("(" ~ expression ~ " at time zone 'UTC')") }}
  {% endif %}
  {% set local = "((" ~ expression ~ " at time zone 'UTC') at time zone " ~ two_clocks.text_literal(time_zone) ~ ")" if time_zone else expression %}
  {{ return('cast(' ~ local ~ ' as ' ~ type ~ ')') }}
{% endmacro %}

{% macro duckdb__shift_back(expression, amount, kind, units, time_zone, type) %}
  {% if kind == 'integer' %}{{ return('(' ~ expression ~ ' - cast(' ~ amount * (units or 1) ~ ' as bigint))') }}{% endif %}
  {% if kind == 'date' %}{{ return('(' ~ expression ~ ' - ' ~ (amount + 86399) // 86400 ~ ')') }}{% endif %}
  {{ return('cast(' ~ two_clocks._before_clock_change(expression, kind, time_zone) ~ ' - to_seconds(' ~ amount ~ ') as ' ~ type ~ ')') }}
{% endmacro %}

{% macro duckdb__shift_forward(expression, amount, kind, units, type) %}
  {% if kind == 'integer' %}{{ return('(' ~ expression ~ ' + cast(' ~ amount * (units or 1) ~ ' as bigint))') }}{% endif %}
  {% if kind == 'date' %}{{ return('(' ~ expression ~ ' + ' ~ (amount + 86399) // 86400 ~ ')') }}{% endif %}
  {{ return('cast(' ~ expression ~ ' + to_seconds(' ~ amount ~ ') as ' ~ type ~ ')') }}
{% endmacro %}

{% macro duckdb__seconds_between(earlier, later, kind, units) %}
  {% if kind == 'integer' %}
    {{ return('cast(null as bigint)' if units is none else 'cast(ceil(((' ~ later ~ ') - (' ~ earlier ~ ')) / ' ~ units ~ '.0) as bigint)') }}
  {% endif %}
  {{ return("cast(ceil(date_diff('microsecond', cast(" ~ earlier ~ " as timestamp), cast(" ~ later ~ " as timestamp)) / 1000000.0) as bigint)") }}
{% endmacro %}

{% macro duckdb__lesser(a, b) %}{{ return('least(' ~ a ~ ', ' ~ b ~ ')') }}{% endmacro %}
{% macro duckdb__greater(a, b) %}{{ return('greatest(' ~ a ~ ', ' ~ b ~ ')') }}{% endmacro %}

{% macro duckdb__differs(left, right) %}
  {{ return('row(' ~ left | join(', ') ~ ') is distinct from row(' ~ right | join(', ') ~ ')') }}
{% endmacro %}

{% macro duckdb__row_address() %}{{ return('rowid') }}{% endmacro %}

{# backslashes mean nothing in a DuckDB literal #}
{% macro duckdb__text_literal(text) %}{{ return("'" ~ text | replace("'", "''") ~ "'") }}{% endmacro %}
