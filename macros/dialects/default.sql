{#- Answers in standard SQL and dbt's own cross-database macros; engines override what they do otherwise. -#}

{% macro default__wall_clock_sql() %}{{ return(dbt.current_timestamp()) }}{% endmacro %}

{% macro default__utc_literal(text) %}{{ return("cast('" ~ text ~ "' as " ~ dbt.type_timestamp() ~ ")") }}{% endmacro %}

{# the type as the adapter describes a column; expressions are taken as timestamps #}
{% macro default__type_probe_sql(relation, sql) %}
  {{ return("select 'timestamp'") }}
{% endmacro %}

{% macro default__watermark_kinds() %}
  {{ return({
    'timestamp': 'timestamp', 'timestamp without time zone': 'timestamp', 'datetime': 'timestamp', 'timestamp_ntz': 'timestamp',
    'timestamp with time zone': 'timestamptz', 'timestamptz': 'timestamptz', 'timestamp_tz': 'timestamptz', 'timestamp_ltz': 'timestamptz',
    'date': 'date',
    'tinyint': 'integer', 'smallint': 'integer', 'integer': 'integer', 'int': 'integer', 'int64': 'integer', 'bigint': 'integer',
    'numeric': 'integer', 'decimal': 'integer', 'number': 'integer', 'hugeint': 'integer',
    'utinyint': 'integer', 'usmallint': 'integer', 'uinteger': 'integer', 'ubigint': 'integer', 'uhugeint': 'integer'}) }}
{% endmacro %}

{% macro default__column_sql(relation, name) %}{{ return(name) }}{% endmacro %}

{% macro default__exact_text(expression, kind) %}{{ return('cast(' ~ expression ~ ' as ' ~ dbt.type_string() ~ ')') }}{% endmacro %}

{# some come from tables that others may write to: what is no number is not taken for one, and what is text stays text #}
{% macro default__watermark_literal(text, kind, type) %}
  {% if kind == 'integer' and not modules.re.fullmatch('-?[0-9]+(\\.[0-9]+)?', text | string) %}
    {% do two_clocks._refuse("the watermark " ~ two_clocks._shown(text) ~ " is no number, as one of type " ~ type ~ " has to be") %}
  {% endif %}
  {{ return(text if kind == 'integer' else 'cast(' ~ two_clocks.text_literal(text) ~ ' as ' ~ type ~ ')') }}
{% endmacro %}

{% macro default__watermark_to_utc(expression, kind, units, time_zone) %}
  {{ return(expression if kind != 'integer' else dbt.dateadd('second', '(' ~ expression ~ ') / ' ~ (units or 1), "cast('1970-01-01' as " ~ dbt.type_timestamp() ~ ")")) }}
{% endmacro %}

{% macro default__watermark_from_utc(expression, kind, units, time_zone, type) %}
  {{ return('cast(' ~ expression ~ ' as ' ~ type ~ ')' if kind != 'integer' else '(' ~ dbt.datediff("cast('1970-01-01' as " ~ dbt.type_timestamp() ~ ")", expression, 'second') ~ ' * ' ~ (units or 1) ~ ')') }}
{% endmacro %}

{% macro default__shift_back(expression, amount, kind, units, time_zone, type) %}
  {{ return('(' ~ expression ~ ' - ' ~ amount * (units or 1) ~ ')' if kind == 'integer' else dbt.dateadd('second', -amount, expression)) }}
{% endmacro %}

{% macro default__shift_forward(expression, amount, kind, units, type) %}
  {{ return('(' ~ expression ~ ' + ' ~ amount * (units or 1) ~ ')' if kind == 'integer' else dbt.dateadd('second', amount, expression)) }}
{% endmacro %}

{% macro default__seconds_between(earlier, later, kind, units) %}
  {% if kind == 'integer' %}
    {{ return('cast(null as ' ~ dbt.type_bigint() ~ ')' if units is none else '(((' ~ later ~ ') - (' ~ earlier ~ ')) / ' ~ units ~ ')') }}
  {% endif %}
  {{ return(dbt.datediff(earlier, later, 'second')) }}
{% endmacro %}

{% macro default__lesser(a, b) %}{{ return('case when ' ~ a ~ ' is null or ' ~ b ~ ' < ' ~ a ~ ' then ' ~ b ~ ' else ' ~ a ~ ' end') }}{% endmacro %}
{% macro default__greater(a, b) %}{{ return('case when ' ~ a ~ ' is null or ' ~ b ~ ' > ' ~ a ~ ' then ' ~ b ~ ' else ' ~ a ~ ' end') }}{% endmacro %}

{% macro default__comparable(expression, type) %}{{ return(expression) }}{% endmacro %}

{% macro default__differs(left, right) %}
  {% set parts = [] %}
  {% for a in left %}
    {% set b = right[loop.index0] %}
    {% do parts.append('(' ~ a ~ ' <> ' ~ b ~ ' or (' ~ a ~ ' is null and ' ~ b ~ ' is not null) or (' ~ a ~ ' is not null and ' ~ b ~ ' is null))') %}
  {% endfor %}
  {{ return('(' ~ parts | join(' or ') ~ ')') }}
{% endmacro %}

{% macro default__text_literal(text) %}
  {{ return("'" ~ dbt.escape_single_quotes(text) ~ "'") }}
{% endmacro %}

{# dbt puts the marks around a name and leaves those inside it as they are: a column called `a" from t; drop table x; --` would be run #}
{% macro default__quoted(name) %}
  {% set mark = adapter.quote('x')[0] %}
  {{ return(adapter.quote(name | replace(mark, mark ~ mark))) }}
{% endmacro %}

{% macro default__row_address() %}{% do two_clocks._refuse(adapter.type() ~ ' has no address for a row') %}{% endmacro %}
