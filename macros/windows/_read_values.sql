{#- Readers for values that come from vars and arguments. Pure: text in, mapping out, or a refusal of one sentence. -#}

{#- An argument beats a var. Returns {'value', 'name'}, the name as the user knows it, for messages. -#}
{% macro _setting(argument, argument_name, default=none) %}
  {% if argument is not none %}
    {{ return({'value': argument, 'name': argument_name}) }}
  {% endif %}
  {% set var_name = 'two_clocks_' ~ argument_name %}
  {{ return({'value': var(var_name, default), 'name': var_name}) }}
{% endmacro %}


{#-
  A length of time or, for integer ids, a distance.
  Takes text ('48 hours', '1 day 12 hours', '90min', '3600') or a number of seconds.
  Returns {'amount': whole seconds or units, 'is_number': no unit was named, 'text': for people}.
-#}
{% macro _read_duration(setting, example='48 hours', zero_allowed=true) %}
  {% set value = setting.value %}
  {% set advice = "; write text such as '" ~ example ~ "', '2 days' or '90 minutes', or a plain number of seconds (of units for an integer id), "
      ~ ("0 or more" if zero_allowed else "greater than 0") %}
  {% set complaint = setting.name ~ " is " ~ two_clocks._shown(value) ~ ", which cannot be read as a length of time" ~ advice %}
  {% set seconds_in = {
      's': 1, 'sec': 1, 'secs': 1, 'second': 1, 'seconds': 1,
      'm': 60, 'min': 60, 'mins': 60, 'minute': 60, 'minutes': 60,
      'h': 3600, 'hr': 3600, 'hrs': 3600, 'hour': 3600, 'hours': 3600,
      'd': 86400, 'day': 86400, 'days': 86400,
      'w': 604800, 'week': 604800, 'weeks': 604800} %}
  {% set re = modules.re %}
  {% set text = (value | string | trim | lower) %}
  {% set found = namespace(total=0, is_number=true) %}

  {% if value is boolean or value is none %}
    {% do two_clocks._refuse(complaint) %}
  {% elif re.match('^-', text) %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(value) ~ ", which is negative" ~ advice) %}
  {% elif re.match('^[0-9]{1,18}(\\.0+)?$', text) %}
    {% set found.total = text.split('.')[0] | int %}
  {% elif re.match('^([0-9]{1,9}(\\.[0-9]{1,6})?\\s*[a-z]+[\\s,]*)+$', text) %}
    {% set found.is_number = false %}
    {% for number, fraction, unit in re.findall('([0-9]+)(\\.[0-9]+)?\\s*([a-z]+)', text) %}
      {% if unit not in seconds_in %}{% do two_clocks._refuse(complaint) %}{% endif %}
      {% set part = (number | int) * seconds_in[unit] %}
      {% if fraction %}
        {% set scale = 10 ** ((fraction | length) - 1) %}
        {% set millionths = (fraction[1:] | int) * seconds_in[unit] %}
        {% if millionths % scale != 0 %}{% do two_clocks._refuse(complaint) %}{% endif %}
        {% set part = part + millionths // scale %}
      {% endif %}
      {% set found.total = found.total + part %}
    {% endfor %}
  {% else %}
    {% do two_clocks._refuse(complaint) %}
  {% endif %}
  {% if found.total == 0 and not zero_allowed %}{% do two_clocks._refuse(complaint) %}{% endif %}
  {{ return({'amount': found.total, 'is_number': found.is_number, 'text': text, 'name': setting.name, 'value': value}) }}
{% endmacro %}


{#-
  A moment written by a person: a date or an ISO 8601 time, quoted or not (YAML hands over dates as dates).
  Returns {'is_date', 'has_zone', 'value'}: value is a naive datetime, in UTC where a zone was written, else as written.
  Microseconds are kept; nothing passes through a float.
-#}
{% macro _read_moment(setting, zone_needed=false) %}
  {% set value = setting.value %}
  {% set text = value | string | trim %}
  {% set right = "an ISO 8601 time with a zone such as '2024-06-03T12:00:00Z'" if zone_needed else "a date such as '2024-06-01' or an ISO 8601 time such as '2024-06-01T10:00:00Z'" %}
  {% set complaint = setting.name ~ " is " ~ two_clocks._shown(value) ~ ", which cannot be read; write " ~ right %}
  {% set pattern = '^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]{1,6}))?)? ?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$' %}
  {% set match = modules.re.match(pattern, text) %}
  {% if not match %}{% do two_clocks._refuse(complaint) %}{% endif %}
  {% set part = match.groups() %}
  {% set year, month, day = part[0] | int, part[1] | int, part[2] | int %}
  {% set hour, minute, second = (part[3] or '0') | int, (part[4] or '0') | int, (part[5] or '0') | int %}
  {% set micros = ((part[6] or '0') ~ '000000')[:6] | int %}
  {% set leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) %}
  {% set days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] %}
  {% if year < 1000 or year > 9998 or month < 1 or month > 12 or day < 1 or day > days[month - 1] or hour > 23 or minute > 59 or second > 59 %}
    {% do two_clocks._refuse(complaint) %}
  {% endif %}
  {% set offset = namespace(minutes=0) %}
  {% set zone = part[7] %}
  {% if zone and zone not in ['Z', 'z'] %}
    {% set digits = zone[1:] | replace(':', '') %}
    {% set offset.minutes = (digits[:2] | int) * 60 + ((digits[2:] or '0') | int) %}
    {% if offset.minutes > 900 %}{% do two_clocks._refuse(complaint) %}{% endif %}
    {% if zone[0] == '-' %}{% set offset.minutes = -offset.minutes %}{% endif %}
  {% endif %}
  {% if zone_needed and not zone %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(value) ~ ", which names no zone; write " ~ right) %}
  {% endif %}
  {% set moment = modules.datetime.datetime(year, month, day, hour, minute, second, micros) - modules.datetime.timedelta(minutes=offset.minutes) %}
  {{ return({'is_date': part[3] is none, 'has_zone': zone is not none, 'value': moment}) }}
{% endmacro %}


{# `two_clocks_now` as UTC text with microseconds, or none where the database's own clock counts #}
{% macro _replayed_now() %}
  {% set now = var('two_clocks_now', none) %}
  {% if now is none %}{{ return(none) }}{% endif %}
  {% set moment = two_clocks._read_moment({'value': now, 'name': 'two_clocks_now'}, zone_needed=true) %}
  {{ return(moment.value.isoformat(sep=' ', timespec='microseconds')) }}
{% endmacro %}


{# a share between 0 and 1 #}
{% macro _read_share(setting) %}
  {% set text = setting.value | string | trim %}
  {% if setting.value is boolean or not modules.re.match('^(0(\\.[0-9]+)?|\\.[0-9]+|1(\\.0+)?)$', text) %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(setting.value) ~ ", which cannot be read; write a share between 0 and 1, such as 0.1") %}
  {% endif %}
  {{ return(text | float) }}
{% endmacro %}


{#-
  Text in one line that no terminal obeys and that reads as it is written. Names and values come from data: an escape sequence
  in a column's name would colour, move or erase what a person sees, and a mark of direction would turn it around.
-#}
{% macro _harmless(text) %}
  {% set one_line = modules.re.sub('[\\t\\r\\n]+', ' ', text | string) %}
  {{ return(modules.re.sub('[\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e007f]', '?', one_line)) }}
{% endmacro %}


{# a value as it may stand in a message: quoted, short, without control characters #}
{% macro _shown(value) %}
  {{ return("'" ~ modules.re.sub('[^ -~\\u00a0-\\u1fff]', '?', (value | string))[:80] ~ "'") }}
{% endmacro %}


{# the wall clock as SQL, for views and tests: the var where it is set, else the engine's own, in UTC without a zone #}
{% macro logical_now_sql() %}
  {% set now = two_clocks._replayed_now() %}
  {{ return(two_clocks.utc_literal(now) if now else two_clocks.wall_clock_sql()) }}
{% endmacro %}
