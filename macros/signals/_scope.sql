{#-
  What a signal is about: models, each with the settings that hold for it.
  Returns a list of mappings: id, name, relation (none until it is built), relation_tail (.schema.table of the target), built, and the limits: max_windows, max_blind_windows,
  min_headroom, max_lag, quiet, streams.
-#}

{# the model that a generic test stands on; none where the test stands on a source #}
{% macro _tested_model() %}
  {% set id = model.attached_node or (model.depends_on.nodes | default([]) | first | default(none)) %}
  {{ return(graph.nodes.get(id) if id else none) }}
{% endmacro %}


{#- `limits` are arguments of a test or the settings of a model; what is missing has its default. -#}
{% macro _scope_of_test(limits) %}
  {% set node = two_clocks._tested_model() %}
  {% if node is none %}
    {% do two_clocks._refuse(model.name ~ " asks the ledger, which knows models only; declare the test on the model that reads through a window") %}
  {% endif %}
  {{ return([two_clocks._scope_of(node, limits)]) }}
{% endmacro %}


{% macro _scope_of(node, limits) %}
  {% set streams = limits.get('streams') %}
  {% set max_windows = two_clocks._read_count({'value': limits.get('max_windows', 3), 'name': 'max_windows'}) %}
  {% set max_blind = limits.get('max_blind_windows') %}
  {% set max_lag = limits.get('max_lag') %}
  {% set relation = adapter.get_relation(node.database, node.schema, node.alias) %}
  {{ return({
      'id': node.unique_id,
      'name': node.name,
      'relation': relation,
      'relation_tail': '.' ~ node.schema ~ '.' ~ node.alias,
      'built': relation is not none,
      'max_windows': max_windows,
      'max_blind_windows': two_clocks._read_count({'value': max_blind, 'name': 'max_blind_windows'}) if max_blind is not none else max_windows,
      'judges_newer_rows': max_blind is not none,
      'min_headroom': two_clocks._read_share({'value': limits.get('min_headroom', 0.2), 'name': 'min_headroom'}),
      'max_lag': two_clocks._read_duration({'value': max_lag, 'name': 'max_lag'}, '36 hours').amount if max_lag is not none else none,
      'quiet': two_clocks._read_quiet_times(limits.get('quiet')),
      'skip': limits.get('skip', []),
      'streams': [streams] if streams is string else streams}) }}
{% endmacro %}


{#- Quiet times as people write them, [["2024-12-21", "2025-01-06"], "2025-05-01"]: days, the last one included. -#}
{% macro _read_quiet_times(quiet) %}
  {% set times = [] %}
  {% set advice = "; write a list of days and of pairs of days, such as [['2024-12-21', '2025-01-06'], '2025-05-01']" %}
  {% if quiet is string or quiet is mapping or (quiet is not none and quiet is not iterable) %}
    {% do two_clocks._refuse("quiet is " ~ two_clocks._shown(quiet) ~ advice) %}
  {% endif %}
  {% for rest in quiet or [] %}
    {% set days = [rest, rest] if rest is string or rest is not iterable else rest | list %}
    {% if days | length != 2 %}
      {% do two_clocks._refuse("quiet holds " ~ two_clocks._shown(rest) ~ advice) %}
    {% endif %}
    {% set first = two_clocks._read_moment({'value': days[0], 'name': 'quiet'}) %}
    {% set last = two_clocks._read_moment({'value': days[1], 'name': 'quiet'}) %}
    {% if last.value < first.value %}
      {% do two_clocks._refuse("quiet holds " ~ two_clocks._shown(rest) ~ ", which ends before it begins" ~ advice) %}
    {% endif %}
    {% set end = last.value + modules.datetime.timedelta(days=1 if last.is_date else 0) %}
    {% do times.append({'first': first.value.isoformat(sep=' ', timespec='microseconds'), 'end': end.isoformat(sep=' ', timespec='microseconds')}) %}
  {% endfor %}
  {{ return(times) }}
{% endmacro %}


{% macro _read_count(setting) %}
  {% set text = setting.value | string | trim %}
  {% if setting.value is boolean or not modules.re.match('^[1-9][0-9]{0,8}$', text) %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(setting.value) ~ ", which cannot be read; write a whole number of 1 or more") %}
  {% endif %}
  {{ return(text | int) }}
{% endmacro %}
