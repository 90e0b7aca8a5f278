{#-
  Everything that comparing a source with a target needs to know, with every name looked up and every value read.
  Makes a few small queries (columns and types); the SQL of the comparison itself comes from compare_clocks_sql(),
  compare_buckets_sql() and compare_keys_sql(), which are pure.

  Takes
    source            source(), ref(), or a query in parentheses; it may hold several versions of a key
    target            the relation that should hold the newest version of each key
    unique_key        column or columns of the target
    watermark         column of the source that says when a row was last changed, or an SQL expression
    target_watermark  the same in the target; default: the column named by `watermark`
    columns           other columns of the target to compare where the watermarks are equal; default none
    source_columns    mapping from a column of the target to its column in the source, or to an SQL expression over it;
                      needed only where the names differ: {'grade_id': 'id'}
    until             compare rows up to this watermark: a date (the whole day), an ISO 8601 time, an integer, or 'now' for
                      every eligible row. Default: the target watermark, because later rows are the next run's business
    settle            how long a row may be on its way: rows later than the target watermark minus this are left out.
                      Measured on the data's clock, so that a source which loads once a day raises no false alarm
    time_zone         zone of timestamps stored without one; default UTC
    source_filter, target_filter   SQL conditions that pick the rows to compare
    epoch             unit of an integer watermark (s, ms, us, id); default: told from a sample
    buckets           number of hash buckets, a power of two
    upto              used between the steps of one comparison: an exact watermark as text, in place of until and settle
  Returns a mapping for the macros named above.
  Raises a compiler error of one sentence for a name that is not there or a value that cannot be read.
-#}
{% macro comparison(source, target, unique_key, watermark, target_watermark=none, columns=none, source_columns=none, until=none, settle=none, time_zone=none, source_filter=none, target_filter=none, epoch=none, buckets=16384, upto=none) %}
  {% set names = source_columns or {} %}
  {% set key_names = [unique_key] if unique_key is string else unique_key %}
  {% if not key_names %}
    {% do two_clocks._refuse("comparing " ~ source ~ " with " ~ target ~ " needs a unique_key, the column or columns that tell one row from another") %}
  {% endif %}
  {% if time_zone is not none and time_zone not in modules.pytz.all_timezones %}
    {% do two_clocks._refuse("time_zone is " ~ two_clocks._shown(time_zone) ~ ", which is no known zone; write a name such as 'Europe/Berlin'") %}
  {% endif %}
  {% if buckets is not number or buckets < 1 or modules.re.match('^1?0*$', '{:b}'.format(buckets | int)) is none %}
    {% do two_clocks._refuse("buckets is " ~ two_clocks._shown(buckets) ~ ", which is no power of two; write a number such as 16384") %}
  {% endif %}

  {% set sides = {
      'source': {'name': 'source', 'relation': two_clocks._compared_relation(source, 'two_clocks_source'), 'filter': source_filter},
      'target': {'name': 'target', 'relation': two_clocks._compared_relation(target, 'two_clocks_target'), 'filter': target_filter}} %}
  {% for side in sides.values() %}
    {% do side.update({'columns': two_clocks._columns_of_query(side.relation)}) %}
  {% endfor %}

  {% set target_watermark_name = target_watermark or watermark %}
  {% set fields = [] %}
  {% for name in key_names %}
    {% do fields.append({'name': name, 'role': 'key', 'source': two_clocks._field_sql(sides.source, names.get(name, name), 'unique_key'), 'target': two_clocks._field_sql(sides.target, name, 'unique_key')}) %}
  {% endfor %}
  {% do fields.append({'name': target_watermark_name, 'role': 'watermark', 'source': two_clocks._field_sql(sides.source, watermark, 'watermark'), 'target': two_clocks._field_sql(sides.target, target_watermark_name, 'target_watermark')}) %}
  {% for name in columns or [] %}
    {% do fields.append({'name': name, 'role': 'column', 'source': two_clocks._field_sql(sides.source, names.get(name, name), 'columns'), 'target': two_clocks._field_sql(sides.target, name, 'columns')}) %}
  {% endfor %}
  {% do two_clocks._add_types(sides, fields) %}

  {% set mark = fields | selectattr('role', 'equalto', 'watermark') | first %}
  {% set kind = two_clocks.watermark_kind(mark.source_type) %}
  {% set target_kind = two_clocks.watermark_kind(mark.target_type) %}
  {% if kind is none or target_kind is none %}
    {% do two_clocks._refuse("the watermark " ~ watermark ~ " is of type " ~ (mark.source_type if kind is none else mark.target_type) ~ "; a watermark must be a timestamp, a date or an integer, or an expression that makes one") %}
  {% elif kind != target_kind %}
    {% do two_clocks._refuse("the watermark is " ~ mark.source_type ~ " in the source and " ~ mark.target_type ~ " in the target; give an expression that makes both the same, such as watermark='cast(" ~ watermark ~ " as " ~ mark.target_type ~ ")' with target_watermark='" ~ target_watermark_name ~ "'") %}
  {% endif %}
  {% set units = two_clocks._epoch_units(epoch, sides.source.relation, mark.source) if kind == 'integer' else none %}

  {% set pair = {
      'source': sides.source, 'target': sides.target,
      'keys': fields | selectattr('role', 'equalto', 'key') | list,
      'watermark': mark,
      'columns': fields | selectattr('role', 'equalto', 'column') | list,
      'kind': kind, 'type': mark.source_type, 'units_per_second': units, 'is_id': kind == 'integer' and units is none,
      'time_zone': time_zone, 'buckets': buckets | int} %}
  {% do pair.update({'bound': two_clocks._comparison_bound(pair, until, settle, upto)}) %}
  {{ return(pair) }}
{% endmacro %}


{# a query wants an alias, which PostgreSQL 15 insists on; its own line, because it may end in a comment #}
{% macro _compared_relation(relation, alias) %}
  {% set text = relation | string | trim %}
  {{ return(text[:-1] ~ '\n) as ' ~ alias if text[0] == '(' and text[-1] == ')' else text) }}
{% endmacro %}


{# a column of one side by its name, or an SQL expression as it is #}
{% macro _field_sql(side, name, what) %}
  {% set column = two_clocks._find_column(side.columns, name | string) %}
  {% if column is not none %}{{ return(two_clocks.quoted(column.name)) }}{% endif %}
  {% if modules.re.match('^([A-Za-z_][A-Za-z0-9_$]*|"([^"]|"")+"|`[^`]+`)$', name | string | trim) %}
    {% do two_clocks._refuse(what ~ " names " ~ two_clocks._shown(name) ~ ", which is no column of the " ~ side.name ~ " " ~ two_clocks._shown_relation(side.relation) ~ " (it has: " ~ (side.columns | map(attribute='name') | join(', ')) ~ ")"
        ~ ("; where the names differ, say so with source_columns={'" ~ (name | replace("'", "")) ~ "': 'its name in the source'}" if side.name == 'source' and what in ['unique_key', 'columns'] else "")) %}
  {% endif %}
  {{ return('(' ~ name ~ ')') }}
{% endmacro %}

{% macro _shown_relation(relation) %}
  {{ return('query' if relation[0] == '(' else two_clocks._plain_name(relation)) }}
{% endmacro %}


{# asks the engine for the types of all expressions, one question for each side #}
{% macro _add_types(sides, fields) %}
  {% for side in sides.values() %}
    {% set probes = [] %}
    {% for field in fields %}
      {% do probes.append('(' ~ two_clocks.type_probe_sql(side.relation, field[side.name]) ~ ') as type_' ~ loop.index) %}
    {% endfor %}
    {% set row = run_query('select ' ~ probes | join(', ')).rows[0] %}
    {% for field in fields %}
      {% do field.update({side.name ~ '_type': row[loop.index0] | string}) %}
    {% endfor %}
  {% endfor %}
{% endmacro %}


{% macro _epoch_units(epoch, relation, sql) %}
  {% set units = {'s': 1, 'ms': 1000, 'us': 1000000, 'id': none} %}
  {% if epoch is not none and epoch not in units %}
    {% do two_clocks._refuse("epoch is " ~ two_clocks._shown(epoch) ~ "; write s, ms, us or id") %}
  {% endif %}
  {{ return(units[epoch] if epoch is not none else two_clocks._units_per_second({'relation': relation}, sql)) }}
{% endmacro %}


{#- The last watermark to compare, as SQL; it may speak of target_watermark, a column of the CTE in which it stands. -#}
{% macro _comparison_bound(pair, until, settle, upto) %}
  {% if upto is not none %}
    {{ return(two_clocks.watermark_literal(upto, pair.kind, pair.type)) }}
  {% endif %}
  {% set bound = 'marks.target_watermark' %}
  {% set length = two_clocks._read_duration({'value': settle, 'name': 'settle'}, '2 hours') if settle is not none else none %}
  {% if length and pair.is_id and not length.is_number and length.amount > 0 %}
    {% do two_clocks._refuse("settle is " ~ two_clocks._shown(settle) ~ ", a length of time, but the watermark " ~ pair.watermark.name ~ " is an integer that does not look like an epoch; give a plain number of ids, or say epoch='s' (ms, us) if it is one") %}
  {% endif %}
  {% if length and length.amount > 0 %}
    {% set bound = two_clocks.shift_back(bound, length.amount, pair.kind, pair.units_per_second, pair.time_zone, pair.type) %}
  {% endif %}
  {% if until is none %}{{ return(bound) }}{% endif %}
  {% if until | string | trim | lower == 'now' %}{{ return('cast(null as ' ~ pair.type ~ ')') }}{% endif %}
  {{ return(two_clocks._until_bound(pair, until)) }}
{% endmacro %}


{% macro _until_bound(pair, until) %}
  {% set is_number = until is not boolean and modules.re.match('^-?[0-9]{1,18}$', until | string | trim) is not none %}
  {% if pair.is_id and not is_number %}
    {% do two_clocks._refuse("until is " ~ two_clocks._shown(until) ~ ", but the watermark " ~ pair.watermark.name ~ " counts in integers; write one") %}
  {% elif not (pair.kind == 'integer' and is_number) %}
    {#- read here first, so that a refusal names what the user wrote -#}
    {% do two_clocks._read_moment({'value': until, 'name': 'until'}) %}
  {% endif %}
  {{ return(two_clocks._backfill_bound({'backfill': {'to': until}, 'time_zone': pair.time_zone, 'watermark': pair.watermark.name},
      {'kind': pair.kind, 'units_per_second': pair.units_per_second, 'type': pair.type}, 'to')) }}
{% endmacro %}
