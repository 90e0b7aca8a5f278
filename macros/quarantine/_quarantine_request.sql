{#-
  What a model declares about rows that it does not want, read and refused like every other value: before any clock.

      config:
        meta:
          two_clocks_quarantine:
            key: id                      # column(s) of the source that name a row; a NULL there is bad by itself (null_key)
            rules:
              - {name: grade_is_a_number, column: finalgrade, cast_to: numeric}
              - {name: grade_in_range, valid: "cast(finalgrade as numeric) <= 100"}
              - {name: no_watermark, watermark: 'null'}
              - {name: from_the_future, watermark: future}
            max_share: 0.1               # the breaker: more new bad rows than this share ...
            min_rows: 20                 # ... of at least so many rows, or
            max_rows: none               # more than so many
            keep_row: true               # false keeps the key and the rule, not the row

  Returns none where nothing is declared, else {'keys', 'key_text', 'null_key', 'rules', 'max_share', 'min_rows',
  'max_rows', 'keep_row'}; a rule is {'name', 'broken': SQL condition, 'shows': SQL of what to show, 'watermark'}.
-#}
{% macro _quarantine_request(request, watermark, clocks) %}
  {% set said = (config.get('meta') or {}).get('two_clocks_quarantine') %}
  {% if said is none or said is false %}{{ return(none) }}{% endif %}
  {% set place = 'two_clocks_quarantine of ' ~ model.name %}
  {% if said is not mapping %}
    {% do two_clocks._refuse("meta " ~ place ~ " is " ~ two_clocks._shown(said) ~ "; write a mapping with key and rules") %}
  {% endif %}
  {% do two_clocks._only_known(said, ['key', 'rules', 'max_share', 'min_rows', 'max_rows', 'keep_row'], place) %}
  {% set named = [said.key] if said.key is string else said.key %}
  {% if not named or named is mapping or named is not iterable %}
    {% do two_clocks._refuse("meta " ~ place ~ " names no key; write key: and the column, or list of columns, of the source that name a row") %}
  {% endif %}
  {% set keys, nulls = [], [] %}
  {% for name in named %}
    {% set sql = two_clocks._column_sql(request.relation, name | string) %}
    {% do keys.append(sql) %}
    {% do nulls.append(sql ~ ' is null') %}
  {% endfor %}

  {% set key_text = 'cast(' ~ keys[0] ~ ' as ' ~ dbt.type_string() ~ ')' if keys | length == 1 else two_clocks.values_as_json(keys) %}
  {% set null_key = '(' ~ nulls | join(' or ') ~ ')' %}
  {% set rules = [{'name': 'null_key', 'broken': null_key, 'shows': none, 'watermark': none}] %}
  {% if said.rules is not none and said.rules is defined and (said.rules is string or said.rules is mapping or said.rules is not iterable) %}
    {% do two_clocks._refuse("rules in meta " ~ place ~ " is " ~ two_clocks._shown(said.rules) ~ "; write a list of rules, each with a name") %}
  {% endif %}
  {% for rule in said.rules or [] if rule is not mapping or rule.get('stream') in [none, request.stream] %}
    {% set read = two_clocks._read_rule(rule, place, request, watermark, clocks) %}
    {% if read.name in (rules | map(attribute='name')) %}
      {% do two_clocks._refuse("meta " ~ place ~ " has two rules named " ~ two_clocks._shown(read.name) ~ "; give each a name of its own (null_key is the key's)") %}
    {% endif %}
    {% do rules.append(read) %}
  {% endfor %}

  {% set keep_row = said.get('keep_row', true) %}
  {% if keep_row is not boolean %}
    {% do two_clocks._refuse("keep_row in meta " ~ place ~ " is " ~ two_clocks._shown(keep_row) ~ "; write true or false") %}
  {% endif %}
  {{ return({
      'keys': keys, 'key_text': key_text, 'null_key': null_key, 'rules': rules, 'keep_row': keep_row,
      'max_share': two_clocks._read_share({'value': said.get('max_share', 0.1), 'name': 'max_share in meta ' ~ place}),
      'min_rows': two_clocks._read_whole_number({'value': said.get('min_rows', 20), 'name': 'min_rows in meta ' ~ place}),
      'max_rows': two_clocks._read_whole_number({'value': said.get('max_rows'), 'name': 'max_rows in meta ' ~ place}) if said.get('max_rows') not in [none, 'none'] else none}) }}
{% endmacro %}


{# one rule: a name, and exactly one of column with cast_to, valid, or watermark #}
{% macro _read_rule(rule, place, request, watermark, clocks) %}
  {% if rule is not mapping or not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', rule.get('name') | string) or rule.get('name') is not string %}
    {% do two_clocks._refuse("meta " ~ place ~ " has the rule " ~ two_clocks._shown(rule) ~ " without a plain name; write name: and letters, digits and underscores, such as grade_is_a_number") %}
  {% endif %}
  {% set what = 'rule ' ~ rule.name ~ ' in meta ' ~ place %}
  {% do two_clocks._only_known(rule, ['name', 'column', 'cast_to', 'valid', 'watermark', 'stream'], what) %}
  {% set is_cast = 'column' in rule or 'cast_to' in rule %}
  {% set kinds = [is_cast, 'valid' in rule, 'watermark' in rule] | select | list | length %}
  {% if kinds != 1 or (is_cast and not (rule.get('column') and rule.get('cast_to'))) %}
    {% do two_clocks._refuse(what ~ " is not one of the three kinds; give it column and cast_to, or valid (an SQL condition), or watermark ('null' or 'future')") %}
  {% endif %}

  {% if is_cast %}
    {% set column = two_clocks._column_sql(request.relation, rule.column | string) %}
    {{ return({'name': rule.name, 'broken': two_clocks.cannot_cast(column, rule.cast_to), 'shows': column, 'watermark': none}) }}
  {% elif 'valid' in rule %}
    {% if rule.valid is not string or not rule.valid | trim %}
      {% do two_clocks._refuse("valid of " ~ what ~ " is " ~ two_clocks._shown(rule.valid) ~ "; write an SQL condition on the source's columns that a good row meets") %}
    {% endif %}
    {#- like a CHECK constraint: a condition that is NULL is met -#}
    {{ return({'name': rule.name, 'broken': 'not (' ~ rule.valid ~ ')', 'shows': none, 'watermark': none}) }}
  {% elif rule.watermark is none or rule.watermark | string | lower == 'null' %}
    {{ return({'name': rule.name, 'broken': watermark.sql ~ ' is null', 'shows': none, 'watermark': 'null'}) }}
  {% elif rule.watermark == 'future' %}
    {% if watermark.kind == 'integer' and not watermark.units_per_second %}
      {% do two_clocks._refuse(what ~ " speaks of the future, but the watermark " ~ request.watermark ~ " counts up as an id; leave the rule out") %}
    {% endif %}
    {% set due = two_clocks.watermark_from_utc(two_clocks.utc_literal(clocks.wall_clock), watermark.kind, watermark.units_per_second, request.time_zone, watermark.type) %}
    {{ return({'name': rule.name, 'broken': watermark.sql ~ ' > ' ~ due, 'shows': watermark.sql, 'watermark': 'future'}) }}
  {% endif %}
  {% do two_clocks._refuse("watermark of " ~ what ~ " is " ~ two_clocks._shown(rule.watermark) ~ "; write 'null' or 'future'") %}
{% endmacro %}


{% macro _only_known(mapping, known, what) %}
  {% for name in mapping if name not in known %}
    {% do two_clocks._refuse(what ~ " has the unknown key " ~ two_clocks._shown(name) ~ "; it may have " ~ known | join(', ')) %}
  {% endfor %}
{% endmacro %}


{% macro _read_whole_number(setting) %}
  {% set text = setting.value | string | trim %}
  {% if setting.value is boolean or not modules.re.match('^[0-9]{1,18}$', text) %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(setting.value) ~ ", which cannot be read; write a whole number, 0 or more") %}
  {% endif %}
  {{ return(text | int) }}
{% endmacro %}
