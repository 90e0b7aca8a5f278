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
  {% set shared, own = two_clocks._catalog_of_this_run(), [] %}
  {% set source_name, target_name = relation | string, target | string if target else none %}
  {% if source_name not in shared.sources %}{% do own.append(source_name) %}{% endif %}
  {% if target and target_name not in shared.targets %}{% do own.append(target_name) %}{% endif %}
  {% set found = two_clocks._ask_catalog(own) %}
  {% set source = shared.sources.get(source_name) or found.get(source_name) %}
  {% set stored = (shared.targets.get(target_name) or found.get(target_name)) if target else none %}
  {% set column = (source.columns if source else []) | selectattr('quoted', 'equalto', sql) | first %}
  {{ return({
      'type': column.dtype if column else two_clocks._one_value(two_clocks.type_probe_sql(relation, sql)),
      'target_columns': (stored.columns if stored else adapter.get_columns_in_relation(target)) if target else none,
      'indexed': {'source': source if source and source.bytes is not none else none, 'target': stored if stored and stored.bytes is not none else none} if target else none}) }}
{% endmacro %}

{% macro redshift__types_of_both_sides(relation, sql, target) %}{{ return(two_clocks.default__types_of_both_sides(relation, sql, target)) }}{% endmacro %}


{#-
  What the catalog said of the relations of this command: {'sources', 'targets'}, by name. A model's own target is kept apart, because for others,
  which read it as a source, it may have been made anew meanwhile. Threads that come here while the first one asks do not wait: to them
  it is empty, and they ask for their own alone.
-#}
{% macro _catalog_of_this_run() %}
  {% set shared = graph.setdefault('two_clocks_catalog', {}).setdefault(invocation_id, {'sources': {}, 'targets': {}}) %}
  {% if shared.setdefault('asked by', model.unique_id) == model.unique_id and not shared.sources and not shared.targets %}
    {% set names = two_clocks._relations_of_this_run() %}
    {% set found = two_clocks._ask_catalog(names.sources + names.targets) %}
    {% for name in names.sources if name in found %}{% do shared.sources.update({name: found[name]}) %}{% endfor %}
    {% for name in names.targets if name in found %}{% do shared.targets.update({name: found[name]}) %}{% endfor %}
  {% endif %}
  {{ return(shared) }}
{% endmacro %}


{# the incremental models of this command, and their sources but for those that it makes anew itself, however their names are written #}
{% macro _relations_of_this_run() %}
  {% set made, targets, sources = {}, {}, {} %}
  {% for unique_id in selected_resources %}
    {% set node = graph.nodes.get(unique_id) %}
    {% if node %}{% do made.update({two_clocks._plain_name(node.relation_name) | lower: true}) %}{% endif %}
    {% if node and node.config.materialized == 'incremental' %}
      {% do targets.update({node.relation_name: true}) %}
      {% for parent in node.depends_on.nodes if parent in graph.sources %}{% do sources.update({graph.sources[parent].relation_name: true}) %}{% endfor %}
    {% endif %}
  {% endfor %}
  {% set unmade = [] %}
  {% for name in sources if name and two_clocks._plain_name(name) | lower not in made %}{% do unmade.append(name) %}{% endfor %}
  {{ return({'sources': unmade, 'targets': targets.keys() | select | list}) }}
{% endmacro %}


{#- By name, what the catalog says of relations: {'columns', 'bytes', 'led', 'unique'}; bytes is none for what is no plain table, such as a view. Those that it does not show are left out. -#}
{% macro _ask_catalog(names) %}
  {% set identifier, askable, found = '("([^"]|"")+"|[^\\W\\d][\\w$]*)', [], {} %}
  {% for name in names if name not in askable %}
    {#- anything else, such as a select in parentheses, is no name of a relation -#}
    {% if modules.re.fullmatch(identifier ~ '([.]' ~ identifier ~ '){1,2}', name) %}{% do askable.append(name) %}{% endif %}
  {% endfor %}
  {% if askable %}
    {% for row in run_query(two_clocks.catalog_sql(askable)).rows %}{% do found.update({row['name']: two_clocks._read_catalog_row(row)}) %}{% endfor %}
  {% endif %}
  {{ return(found) }}
{% endmacro %}


{#-
  Pure. indexes: for each valid one of all rows its columns by number (0 for an expression), and whether those are unique at once, by the equality
  that a join of them means; 403 is btree. bytes is an estimate where the table was never analysed.
  It is asked for relations of other models too, so it takes no lock on any of them, and none that this role may not use stops it.
-#}
{% macro catalog_sql(names) %}
  select wanted.name,
    (select cast(json_agg(json_build_object('name', attname, 'dtype', format_type(atttypid, null), 'number', attnum) order by attnum) as text)
     from pg_catalog.pg_attribute where attrelid = seen.oid and attnum > 0 and not attisdropped) as columns,
    case when seen.relkind not in ('r', 'm') then null
         when seen.reltuples < 0 then 100 * pg_stat_get_live_tuples(seen.oid)
         else seen.relpages * cast(current_setting('block_size') as bigint) end as bytes,
    (select cast(json_agg(json_build_object('numbers', cast(indexes.indkey as text), 'counted', indexes.indnkeyatts,
        'unique', indexes.indisunique and indexes.indimmediate and not seen.relhassubclass and not exists (
          select 1
          from unnest(cast(indexes.indkey as smallint[]), cast(indexes.indcollation as oid[]), cast(indexes.indclass as oid[])) as part (number, sorted_by, class)
          left join pg_catalog.pg_attribute as attribute on attribute.attrelid = seen.oid and attribute.attnum = part.number
          left join pg_catalog.pg_opclass as opclass on opclass.oid = part.class
          where part.sorted_by <> attribute.attcollation or not opclass.opcdefault))) as text)
     from pg_catalog.pg_index as indexes
     inner join pg_catalog.pg_class as kept on kept.oid = indexes.indexrelid and kept.relam = 403
     where indexes.indrelid = seen.oid and indexes.indisvalid and indexes.indpred is null) as indexes
  from (values {% for name in names %}({{ two_clocks.text_literal(name) }}){{ ', ' if not loop.last }}{% endfor %}) as wanted (name)
  cross join lateral (select parse_ident(wanted.name) as parts) as split
  inner join pg_catalog.pg_namespace as namespace on namespace.nspname = split.parts[cardinality(split.parts) - 1]
  inner join pg_catalog.pg_class as seen on seen.relnamespace = namespace.oid and seen.relname = split.parts[cardinality(split.parts)]
  where cardinality(split.parts) = 2 or split.parts[1] = current_database()
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
