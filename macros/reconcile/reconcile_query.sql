{#-
  One step of the command line's reconcile as SQL. What to compare comes in the var two_clocks_reconcile, a mapping of the
  arguments of comparison() and of this macro's own: a var carries any text safely, a template does not.

  step is 'clocks', 'buckets' or 'keys' (buckets: a list, 'all' or none). `source` and `target` may be given as names
  ('ods.grade_grades') with source_is_name and target_is_name; they must exist.
-#}
{% macro reconcile_query(step) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {% set given = var('two_clocks_reconcile') %}
  {% set pair = two_clocks._pair_of(given) %}
  {% if step == 'clocks' %}
    {{ return(two_clocks.compare_clocks_sql(pair, given.get('lookback_amount'))) }}
  {% elif step == 'buckets' %}
    {{ return(two_clocks.compare_buckets_sql(pair)) }}
  {% endif %}
  {{ return('select * from (' ~ two_clocks.compare_keys_sql(pair, given.get('in_buckets')) ~ ') as lost order by coalesce(source_watermark_utc, target_watermark_utc, source_watermark, target_watermark), key_1') }}
{% endmacro %}


{# the comparison that a mapping of its arguments asks for #}
{% macro _pair_of(given) %}
  {% set known = ['source', 'target', 'unique_key', 'watermark', 'target_watermark', 'columns', 'source_columns', 'until', 'settle', 'time_zone', 'source_filter', 'target_filter', 'epoch', 'upto'] %}
  {% set arguments = {} %}
  {% for name in known if given.get(name) is not none %}
    {% do arguments.update({name: given[name]}) %}
  {% endfor %}
  {% for side in ['source', 'target'] if given.get(side ~ '_is_name') %}
    {% do arguments.update({side: two_clocks._relation_by_name(given[side])}) %}
  {% endfor %}
  {{ return(two_clocks.comparison(**arguments)) }}
{% endmacro %}


{# 'table', 'schema.table' or 'database.schema.table', each part quoted or not, as a relation that exists #}
{% macro _relation_by_name(name) %}
  {% set parts = [] %}
  {% for quoted, plain in modules.re.findall('"([^"]+)"|([^."]+)', name | string) %}
    {% do parts.append({'text': quoted or plain | trim, 'is_quoted': quoted != ''}) %}
  {% endfor %}
  {% if not parts or parts | length > 3 %}
    {% do two_clocks._refuse(two_clocks._shown(name) ~ " is no name of a table; write table, schema.table or database.schema.table") %}
  {% endif %}
  {% set table, schema = parts[-1].text, parts[-2].text if parts | length > 1 else target.schema %}
  {% set database = parts[-3].text if parts | length > 2 else (target.database or target.dbname) %}
  {% for form in ['as written', 'folded'] %}
    {% set folds = form == 'folded' %}
    {% set found = adapter.get_relation(
        database=database | lower if folds and parts | length > 2 and not parts[-3].is_quoted else database,
        schema=schema | lower if folds and parts | length > 1 and not parts[-2].is_quoted else schema,
        identifier=table | lower if folds and not parts[-1].is_quoted else table) %}
    {% if found is not none %}{{ return(found) }}{% endif %}
  {% endfor %}
  {% do two_clocks._refuse("there is no table or view " ~ two_clocks._shown(name) ~ " in the database, or no right to see it") %}
{% endmacro %}
