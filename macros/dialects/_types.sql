{#-
  The type of an expression over the source, name and dtype of the target's columns (none where there is no target), and what a plan
  can lean on: for source and target {'bytes', 'led', 'unique'}, led being the columns with which an index begins, unique the lists of columns
  that some unique index is over; none where the engine needs no index.
-#}
{% macro _types_of_both_sides(relation, sql, target) %}
  {{ return(adapter.dispatch('types_of_both_sides', 'two_clocks')(relation, sql, target)) }}
{% endmacro %}

{% macro default__types_of_both_sides(relation, sql, target) %}
  {{ return({'type': two_clocks._one_value(two_clocks.type_probe_sql(relation, sql)), 'target_columns': adapter.get_columns_in_relation(target) if target else none, 'indexed': none}) }}
{% endmacro %}

{#-
  The catalog knows all of it, and of all relations in one question: the first model that asks does so for every other that this command will
  run. Of a project with many models that is most of what they would ask.
-#}
{% macro postgres__types_of_both_sides(relation, sql, target) %}
  {% set source = two_clocks._in_catalog(relation) %}
  {% set stored = two_clocks._in_catalog(target) if target else none %}
  {% set column = (source.columns if source else []) | selectattr('quoted', 'equalto', sql) | first %}
  {{ return({
      'type': column.dtype if column else two_clocks._one_value(two_clocks.type_probe_sql(relation, sql)),
      'target_columns': (stored.columns if stored else []) if target else none,
      'indexed': {'source': source if source and source.bytes is not none else none, 'target': stored if stored and stored.bytes is not none else none} if target else none}) }}
{% endmacro %}

{% macro redshift__types_of_both_sides(relation, sql, target) %}{{ return(two_clocks.default__types_of_both_sides(relation, sql, target)) }}{% endmacro %}


{#- What the catalog says of a relation: {'columns', 'bytes', 'led', 'unique'}; bytes is none for what is no plain table, such as a view. None where there is no such relation. -#}
{% macro _in_catalog(relation) %}
  {% set known = graph.setdefault('two_clocks_catalog', {}).setdefault(invocation_id, {}) %}
  {% set name = relation | string %}
  {% if name in known %}{{ return(known[name]) }}{% endif %}
  {#- threads that come here meanwhile do not wait: they ask for their own alone -#}
  {% set names = [name] %}
  {% if known.setdefault('asked for all', model.unique_id) == model.unique_id %}
    {% for one in two_clocks._relations_of_this_run() if one not in known and one != name %}{% do names.append(one) %}{% endfor %}
  {% endif %}
  {% set identifier = '("([^"]|"")+"|[A-Za-z_][A-Za-z0-9_$]*)' %}
  {% set askable = [] %}
  {% for one in names %}
    {#- anything else, such as a select in parentheses, is no name of a relation -#}
    {% if modules.re.fullmatch(identifier ~ '([.]' ~ identifier ~ '){0,2}', one) %}{% do askable.append(one) %}{% endif %}
  {% endfor %}
  {% if name not in askable %}{{ return(none) }}{% endif %}
  {% for row in run_query(two_clocks.catalog_sql(askable)).rows %}
    {% do known.update({row['name']: two_clocks._read_catalog_row(row)}) %}
  {% endfor %}
  {% for one in askable if one not in known %}{% do known.update({one: none}) %}{% endfor %}
  {{ return(known[name]) }}
{% endmacro %}


{# what nothing in this run makes anew before it is asked for: the incremental models' own targets, and sources that are no model's target #}
{% macro _relations_of_this_run() %}
  {% set made, own, sources = {}, {}, {} %}
  {% for unique_id in selected_resources %}
    {% set node = graph.nodes.get(unique_id) %}
    {% if node %}{% do made.update({node.relation_name: true}) %}{% endif %}
    {% if node and node.config.materialized == 'incremental' %}
      {% do own.update({node.relation_name: true}) %}
      {% for parent in node.depends_on.nodes if parent in graph.sources %}{% do sources.update({graph.sources[parent].relation_name: true}) %}{% endfor %}
    {% endif %}
  {% endfor %}
  {{ return(((own.keys() | list) + (sources.keys() | reject('in', made) | list)) | select | list) }}
{% endmacro %}


{#- Pure. indexes: for each valid one of all rows its columns by number (0 for an expression), and whether those are unique at once; 403 is btree. -#}
{% macro catalog_sql(names) %}
  select wanted.name,
    (select cast(json_agg(json_build_object('name', attname, 'dtype', format_type(atttypid, null), 'number', attnum) order by attnum) as text)
     from pg_catalog.pg_attribute where attrelid = seen.oid and attnum > 0 and not attisdropped) as columns,
    case when seen.relkind in ('r', 'm') then pg_relation_size(seen.oid) end as bytes,
    (select cast(json_agg(json_build_object('numbers', cast(indexes.indkey as text), 'counted', indexes.indnkeyatts,
        'unique', indexes.indisunique and indexes.indimmediate and not seen.relhassubclass)) as text)
     from pg_catalog.pg_index as indexes
     inner join pg_catalog.pg_class as kept on kept.oid = indexes.indexrelid and kept.relam = 403
     where indexes.indrelid = seen.oid and indexes.indisvalid and indexes.indpred is null) as indexes
  from (values {% for name in names %}({{ two_clocks.text_literal(name) }}){{ ', ' if not loop.last }}{% endfor %}) as wanted (name)
  inner join pg_catalog.pg_class as seen on seen.oid = to_regclass(wanted.name)
{% endmacro %}


{% macro _read_catalog_row(row) %}
  {% set columns, names, led, unique = [], {}, [], [] %}
  {% for column in fromjson(row['columns'] or '[]') %}
    {% do columns.append({'name': column.name, 'dtype': column.dtype, 'quoted': '"' ~ column.name | replace('"', '""') ~ '"'}) %}
    {% do names.update({column.number | string: column.name}) %}
  {% endfor %}
  {% for index in fromjson(row['indexes'] or '[]') %}
    {% set numbers = index.numbers.split(' ')[:index.counted] %}
    {% if numbers[0] in names %}{% do led.append(names[numbers[0]]) %}{% endif %}
    {% if index.unique and numbers | reject('in', names) | list | length == 0 %}
      {% set over = [] %}
      {% for number in numbers %}{% do over.append(names[number]) %}{% endfor %}
      {% do unique.append(over) %}
    {% endif %}
  {% endfor %}
  {{ return({'columns': columns, 'bytes': row['bytes'], 'led': led, 'unique': unique}) }}
{% endmacro %}
