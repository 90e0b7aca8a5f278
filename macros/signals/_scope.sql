{#-
  What a signal is about: models, each with the settings that hold for it.
  Returns a list of mappings: id, name, relation (plain name of the target), built, max_windows, min_headroom, max_lag, streams.
-#}

{# the model that a generic test stands on; none where the test stands on a source #}
{% macro _tested_model() %}
  {% set id = model.attached_node or (model.depends_on.nodes | default([]) | first | default(none)) %}
  {{ return(graph.nodes.get(id) if id else none) }}
{% endmacro %}


{% macro _scope_of_test(streams=none, max_windows=3, min_headroom=0.2) %}
  {% set node = two_clocks._tested_model() %}
  {% if node is none %}
    {% do two_clocks._refuse(model.name ~ " asks the ledger, which knows models only; declare the test on the model that reads through a window") %}
  {% endif %}
  {{ return([two_clocks._scope_of(node, streams, max_windows, min_headroom, none)]) }}
{% endmacro %}


{% macro _scope_of(node, streams, max_windows, min_headroom, max_lag) %}
  {% set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) %}
  {% set named = [streams] if streams is string else streams %}
  {{ return({
      'id': node.unique_id,
      'name': node.name,
      'relation': two_clocks._plain_name(relation | string),
      'built': adapter.get_relation(node.database, node.schema, node.alias) is not none,
      'max_windows': two_clocks._read_count({'value': max_windows, 'name': 'max_windows'}),
      'min_headroom': two_clocks._read_share({'value': min_headroom, 'name': 'min_headroom'}),
      'max_lag': max_lag,
      'streams': named}) }}
{% endmacro %}


{% macro _read_count(setting) %}
  {% set text = setting.value | string | trim %}
  {% if setting.value is boolean or not modules.re.match('^[1-9][0-9]{0,8}$', text) %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(setting.value) ~ ", which cannot be read; write a whole number of 1 or more") %}
  {% endif %}
  {{ return(text | int) }}
{% endmacro %}
