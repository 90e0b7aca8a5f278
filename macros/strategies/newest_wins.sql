{#-
  The rules of the strategy newest_wins as a select, for engines whose adapters refuse packaged strategies (Spark,
  Databricks, BigQuery) and keep dbt's own `merge`:

      with changes as (select ... from {{ two_clocks.windowed(...) }} as s)
      select * from {{ two_clocks.newest_wins('changes') }} as newest

  Takes the name of a CTE or relation, read through a window above it. Returns SQL: a parenthesised select with the same
  columns, holding one version per unique_key, none that is older than or equal to what the target stores.
  A NULL in the unique_key makes the statement fail with a message that says so.
-#}
{% macro newest_wins(changes) %}
  {% if not two_clocks._may_read_clocks() %}{{ return('(select * from ' ~ changes ~ ')') }}{% endif %}
  {% set book = two_clocks._run_book() %}
  {% set named_keys = config.get('unique_key') %}
  {% if not named_keys %}
    {% do two_clocks._refuse("model " ~ model.name ~ " has no unique_key, and a look-back without a key would store rows twice; declare unique_key in its config") %}
  {% endif %}
  {% if not book.target_watermark %}
    {% do two_clocks._refuse("newest_wins(" ~ two_clocks._shown(changes) ~ ") in " ~ model.name ~ " finds no window above it, so nothing says which version of a row is newer; read the source through two_clocks.windowed() first") %}
  {% endif %}
  {% set named_keys = [named_keys] if named_keys is string else named_keys %}
  {% set target_columns = two_clocks._with_quoted_names(adapter.get_columns_in_relation(this)) if is_incremental() else [] %}
  {% set keys = [] %}
  {% for name in named_keys %}
    {% set column = two_clocks._find_column(target_columns, name) %}
    {% do keys.append(column.quoted if column else two_clocks._column_sql(changes, name)) %}
  {% endfor %}
  {% set column = two_clocks._find_column(target_columns, book.target_watermark) %}
  {% set watermark = column.quoted if column else two_clocks._column_sql(changes, book.target_watermark) %}
  {{ return(two_clocks.derived_table(two_clocks.newest_wins_select_sql(changes, keys, watermark, target_columns))) }}
{% endmacro %}


{% macro newest_wins_select_sql(changes, keys, watermark, target_columns) -%}
  select DBT_INTERNAL_SOURCE.*
  from {{ two_clocks.newest_versions(changes, keys, watermark) }} as DBT_INTERNAL_SOURCE
  {%- if target_columns %}
  left join {{ this }} as DBT_INTERNAL_DEST on {{ two_clocks._same_key(keys, []) }}
  {%- endif %}
  where {% for key in keys %}DBT_INTERNAL_SOURCE.{{ key }} is not null{{ ' and ' if not loop.last }}{% endfor %}
  {%- if target_columns %}
    and (DBT_INTERNAL_DEST.{{ keys[0] }} is null
      or (not {{ two_clocks._is_stale(watermark) }} and {{ two_clocks._differs_in(target_columns) }}))
  {%- endif %}
{%- endmacro %}


{#- The newest version per key with all columns, whatever they are; fails where a key is NULL. -#}
{% macro newest_versions(changes, keys, watermark) %}{{ return(adapter.dispatch('newest_versions', 'two_clocks')(changes, keys, watermark)) }}{% endmacro %}

{# a condition that holds, or stops the statement with words: the text becomes no number, and only a NULL key reads it #}
{% macro _no_null_key(keys) %}
  {% set parts = [] %}
  {% for key in keys %}{% do parts.append(key ~ ' is null') %}{% endfor %}
  {{ return("case when " ~ parts | join(' or ') ~ " then cast(concat(" ~ two_clocks.text_literal('two_clocks: NULL in the unique_key of ' ~ model.name ~ ' ') ~ ", coalesce(cast(" ~ keys[0] ~ " as " ~ dbt.type_string() ~ "), '')) as " ~ dbt.type_int() ~ ") else 0 end = 0") }}
{% endmacro %}
