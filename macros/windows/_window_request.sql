{#-
  Everything that a window call asks for, with vars filled in and every value read or refused. No query is made here.
  Returns a mapping that two equal calls share, so that they can be told from two different ones.
-#}
{% macro _window_request(relation, watermark, lookback, max_window, target_watermark, stream, target_filter, nulls, data_clock, time_zone) %}
  {% if not relation %}
    {% do two_clocks._refuse("windowed() in " ~ model.name ~ " was given no relation; pass source(...) or ref(...)") %}
  {% endif %}
  {% if '__dbt__cte__' in (relation | string) %}
    {% do two_clocks._refuse("windowed() in " ~ model.name ~ " was given an ephemeral model, which cannot be asked for its clock; make it a view or a table") %}
  {% endif %}
  {% if watermark is not string or not watermark | trim %}
    {% do two_clocks._refuse("windowed() in " ~ model.name ~ " needs the name of the watermark column as text, not " ~ two_clocks._shown(watermark)) %}
  {% endif %}
  {% if nulls not in ['exclude', 'include'] %}
    {% do two_clocks._refuse("nulls is " ~ two_clocks._shown(nulls) ~ " in " ~ model.name ~ "; write 'exclude' or 'include'") %}
  {% endif %}
  {% if time_zone is not none and time_zone not in modules.pytz.all_timezones %}
    {% do two_clocks._refuse("time_zone is " ~ two_clocks._shown(time_zone) ~ " in " ~ model.name ~ ", which is no known zone; write a name such as 'Europe/Berlin'") %}
  {% endif %}
  {% if config.get('incremental_strategy') == 'newest_wins' and not config.get('unique_key') %}
    {% do two_clocks._refuse("model " ~ model.name ~ " has no unique_key, and a look-back without a key would store rows twice; declare unique_key in its config") %}
  {% endif %}

  {% if config.get('materialized') == 'view' and two_clocks._is_writing_command() %}
    {% do two_clocks._refuse("model " ~ model.name ~ " is a view, which would show this one window for ever (and replace a table of its name); set materialized='incremental'") %}
  {% endif %}

  {% set is_column = modules.re.match('^([A-Za-z_][A-Za-z0-9_$]*|"([^"]|"")+"|`[^`]+`)$', watermark | trim) is not none %}
  {% if not is_column and not target_watermark %}
    {% do two_clocks._refuse("the watermark of " ~ model.name ~ " is the expression " ~ two_clocks._shown(watermark) ~ "; name its column in the target with target_watermark='...'") %}
  {% endif %}

  {% set longest = two_clocks._setting(max_window, 'max_window') %}
  {{ return({
      'relation': relation | string,
      'watermark': watermark | trim,
      'is_column': is_column,
      'target_watermark': (target_watermark or watermark) | trim,
      'lookback': two_clocks._read_duration(two_clocks._setting(lookback, 'lookback', '48 hours')),
      'max_window': two_clocks._read_duration(longest, '7 days', zero_allowed=false) if longest.value is not none else none,
      'stream': stream,
      'target_filter': target_filter,
      'nulls': nulls,
      'data_clock': data_clock,
      'time_zone': time_zone,
      'now': two_clocks._replayed_now(),
      'max_shrink': two_clocks._read_share(two_clocks._setting(none, 'max_shrink', 0.1)),
      'backfill': two_clocks._backfill_request()
  }) }}
{% endmacro %}


{# the two backfill vars, or none; refuses everything that can be refused without looking at data #}
{% macro _backfill_request() %}
  {% set lower, upper = var('two_clocks_backfill_from', none), var('two_clocks_backfill_to', none) %}
  {% if lower is none and upper is none %}{{ return(none) }}{% endif %}
  {% for missing, given in [('two_clocks_backfill_from', upper), ('two_clocks_backfill_to', lower)] if var(missing, none) is none %}
    {% do two_clocks._refuse("a backfill needs both ends, but " ~ missing ~ " is not set (the other one is " ~ two_clocks._shown(given) ~ "); set two_clocks_backfill_from and two_clocks_backfill_to") %}
  {% endfor %}
  {% if should_full_refresh() %}
    {% do two_clocks._refuse("a backfill cannot be combined with --full-refresh, which rebuilds " ~ model.name ~ " from everything; leave one of the two out") %}
  {% endif %}
  {% if not config.get('unique_key') %}
    {% do two_clocks._refuse("model " ~ model.name ~ " has no unique_key, so a backfill would store rows twice; declare unique_key in its config") %}
  {% endif %}
  {{ return({'from': lower, 'to': upper}) }}
{% endmacro %}
