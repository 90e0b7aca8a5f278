{#- What quarantine asks of an engine: a cast that does not fail, a row as text, and a wall in front of the model's own conditions. -#}

{#-
  The value cast to a type, or NULL where it cannot be cast. Never fails.

      select {{ two_clocks.safe_cast('gg.finalgrade', 'numeric') }} as finalgrade

  Takes an SQL expression and a type as the engine names it. Returns SQL.
  On PostgreSQL the value passes through its text, as with ::text::numeric.
-#}
{% macro safe_cast(expression, type) %}
  {{ return(adapter.dispatch('safe_cast', 'two_clocks')(expression, two_clocks._type_name(type))) }}
{% endmacro %}

{# the same outside of a run, for an administrator #}
{% macro make_safe_cast() %}{{ return(adapter.dispatch('make_safe_cast', 'two_clocks')()) }}{% endmacro %}
{% macro default__make_safe_cast() %}{% endmacro %}
{% macro postgres__make_safe_cast() %}
  {% if two_clocks.postgres_version() < 160000 %}{% do two_clocks._ensure_valid_input_function(two_clocks._input_function()) %}{% endif %}
{% endmacro %}
{% macro redshift__make_safe_cast() %}{% endmacro %}

{# makes what safe_cast needs before a run writes: making it later would commit half of what is being written #}
{% macro prepare_safe_cast() %}{{ return(adapter.dispatch('prepare_safe_cast', 'two_clocks')()) }}{% endmacro %}

{# a condition that is true where a value is there but cannot be cast #}
{% macro cannot_cast(expression, type) %}
  {{ return(adapter.dispatch('cannot_cast', 'two_clocks')(expression, two_clocks._type_name(type))) }}
{% endmacro %}

{# a whole row, by the alias of its relation, as one line of JSON #}
{% macro row_as_json(alias) %}{{ return(adapter.dispatch('row_as_json', 'two_clocks')(alias)) }}{% endmacro %}

{# several values as one line of JSON; a NULL stays visible #}
{% macro values_as_json(expressions) %}{{ return(adapter.dispatch('values_as_json', 'two_clocks')(expressions)) }}{% endmacro %}

{#-
  A select whose conditions are met before those of the query around it are looked at. An engine that merges the two may
  try the model's own `where cast(x as numeric) > 5` first, on the very row that quarantine was to keep from it.
-#}
{% macro fenced(select_sql) %}{{ return(adapter.dispatch('fenced', 'two_clocks')(select_sql)) }}{% endmacro %}

{# a small table of this transaction, made anew #}
{% macro make_scratch_sql(name, select_sql) %}{{ return(adapter.dispatch('make_scratch_sql', 'two_clocks')(name, select_sql)) }}{% endmacro %}


{# a type comes from the project's files and goes into SQL as it stands #}
{% macro _type_name(type) %}
  {% if not modules.re.match('^[A-Za-z_"][A-Za-z0-9_ ".,()\\[\\]]*$', type | string) %}
    {% do two_clocks._refuse("cast_to is " ~ two_clocks._shown(type) ~ ", which is no name of a type; write one of " ~ adapter.type() ~ "'s, such as 'integer' or 'numeric(10, 2)'") %}
  {% endif %}
  {{ return(type | string) }}
{% endmacro %}


{% macro default__safe_cast(expression, type) %}{{ return(dbt.safe_cast(expression, type)) }}{% endmacro %}

{% macro default__prepare_safe_cast() %}{% endmacro %}

{% macro default__cannot_cast(expression, type) %}
  {{ return('(' ~ expression ~ ' is not null and ' ~ two_clocks.safe_cast(expression, type) ~ ' is null)') }}
{% endmacro %}

{% macro default__row_as_json(alias) %}
  {% do two_clocks._refuse('keeping bad rows is not known for ' ~ adapter.type() ~ ' yet; define ' ~ adapter.type() ~ '__row_as_json and ' ~ adapter.type() ~ '__values_as_json to teach it') %}
{% endmacro %}

{% macro default__values_as_json(expressions) %}
  {% do two_clocks.default__row_as_json(none) %}
{% endmacro %}

{% macro default__make_scratch_sql(name, select_sql) %}
  {{ return('create or replace temporary table ' ~ name ~ ' as ' ~ select_sql) }}
{% endmacro %}

{% macro default__fenced(select_sql) %}{{ return('(' ~ select_sql ~ ')') }}{% endmacro %}


{% macro duckdb__safe_cast(expression, type) %}{{ return('try_cast(' ~ expression ~ ' as ' ~ type ~ ')') }}{% endmacro %}
{% macro duckdb__row_as_json(alias) %}{{ return('cast(to_json(' ~ alias ~ ') as varchar)') }}{% endmacro %}
{% macro duckdb__values_as_json(expressions) %}{{ return('cast(json_array(' ~ expressions | join(', ') ~ ') as varchar)') }}{% endmacro %}

{# a limit that limits nothing: no condition moves through it #}
{% macro duckdb__fenced(select_sql) %}{{ return('(' ~ select_sql ~ ' limit 4611686018427387904)') }}{% endmacro %}


{% macro postgres__safe_cast(expression, type) %}
  {% set text = 'cast(' ~ expression ~ ' as text)' %}
  {{ return('case when ' ~ two_clocks._is_valid_input(text, type) ~ ' then cast(' ~ text ~ ' as ' ~ type ~ ') end') }}
{% endmacro %}

{% macro postgres__cannot_cast(expression, type) %}
  {{ return('not ' ~ two_clocks._is_valid_input('cast(' ~ expression ~ ' as text)', type)) }}
{% endmacro %}

{% macro postgres__row_as_json(alias) %}{{ return('cast(to_jsonb(' ~ alias ~ ') as text)') }}{% endmacro %}
{% macro postgres__values_as_json(expressions) %}{{ return('cast(jsonb_build_array(' ~ expressions | join(', ') ~ ') as text)') }}{% endmacro %}
{% macro postgres__make_scratch_sql(name, select_sql) %}
  {{ return('drop table if exists pg_temp.' ~ name ~ '; create temporary table ' ~ name ~ ' on commit drop as ' ~ select_sql ~ '; select 1') }}
{% endmacro %}

{% macro postgres__fenced(select_sql) %}{{ return('(' ~ select_sql ~ ' offset 0)') }}{% endmacro %}

{% macro postgres__prepare_safe_cast() %}{% do two_clocks._is_valid_input('null', 'text') %}{% endmacro %}

{#-
  PostgreSQL 16 and later can be asked whether a text is valid for a type. For 15 a function beside the ledger tries it and
  catches the error: slower by the cost of a savepoint a row, and right for every type, which no pattern would be.
-#}
{% macro _is_valid_input(text, type) %}
  {% set literal = two_clocks.text_literal(type) %}
  {% if not two_clocks._may_read_clocks() or two_clocks.postgres_version() >= 160000 %}
    {{ return('pg_input_is_valid(' ~ text ~ ', ' ~ literal ~ ')') }}
  {% endif %}
  {% set function = two_clocks._input_function() %}
  {% if two_clocks._is_writing_command() %}{% do two_clocks._ensure_valid_input_function(function) %}{% endif %}
  {{ return(function.include(database=false) ~ '(' ~ text ~ ', ' ~ literal ~ ')') }}
{% endmacro %}

{% macro _input_function() %}{{ return(two_clocks.ledger_relation().incorporate(path={'identifier': 'two_clocks_input_is_valid'})) }}{% endmacro %}

{# made once for the database, by the run that first needs it #}
{% macro _ensure_valid_input_function(function) %}
  {% set state = graph.setdefault('two_clocks_input_is_valid', {}).setdefault(invocation_id, {}) %}
  {% if state.get('ready') %}{{ return(none) }}{% endif %}
  {% set name = function.include(database=false) | string %}
  {% if two_clocks._one_value("select to_regprocedure(" ~ two_clocks.text_literal(name ~ '(text, text)') ~ ") is null") %}
    {#- an error of the type itself, such as one that does not exist, is not a bad value and is not caught -#}
    {% set create_sql %}
      create or replace function {{ name }}(value text, type text) returns boolean language plpgsql strict stable as $two_clocks$
      begin
        execute 'select cast($1 as ' || type || ')' using value;
        return true;
      exception when data_exception or integrity_constraint_violation then
        return false;
      end $two_clocks$
    {% endset %}
    {% do two_clocks.postgres__make_table(function, create_sql, state) %}
  {% endif %}
  {% do state.update({'ready': true}) %}
{% endmacro %}


{% macro redshift__safe_cast(expression, type) %}{{ return('try_cast(' ~ expression ~ ' as ' ~ type ~ ')') }}{% endmacro %}
{% macro redshift__prepare_safe_cast() %}{% endmacro %}
{% macro redshift__cannot_cast(expression, type) %}{{ return(two_clocks.default__cannot_cast(expression, type)) }}{% endmacro %}
{% macro redshift__fenced(select_sql) %}{{ return(two_clocks.default__fenced(select_sql)) }}{% endmacro %}

{% macro spark__safe_cast(expression, type) %}{{ return('try_cast(' ~ expression ~ ' as ' ~ type ~ ')') }}{% endmacro %}
{% macro spark__row_as_json(alias) %}{{ return('to_json(struct(' ~ alias ~ '.*))') }}{% endmacro %}
{% macro spark__values_as_json(expressions) %}{{ return('to_json(array(' ~ expressions | join(', ') ~ '))') }}{% endmacro %}

{% macro snowflake__row_as_json(alias) %}{{ return('to_json(object_construct_keep_null(' ~ alias ~ '.*))') }}{% endmacro %}
{% macro snowflake__values_as_json(expressions) %}{{ return('to_json(array_construct(' ~ expressions | join(', ') ~ '))') }}{% endmacro %}

{% macro bigquery__row_as_json(alias) %}{{ return('to_json_string(' ~ alias ~ ')') }}{% endmacro %}
{% macro bigquery__values_as_json(expressions) %}{{ return('to_json_string(struct(' ~ expressions | join(', ') ~ '))') }}{% endmacro %}
