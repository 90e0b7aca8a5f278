{#- One row per key with all columns of a relation whose columns nobody has listed: engines differ in how. -#}

{% macro default__newest_versions(changes, keys, watermark) %}
  {{ return('(select * from ' ~ changes ~ ' where ' ~ two_clocks._no_null_key(keys) ~ ' qualify ' ~ two_clocks._version_rank(keys, watermark, []) ~ ' = 1)') }}
{% endmacro %}

{% macro duckdb__newest_versions(changes, keys, watermark) %}
  {{ return('(select * from ' ~ changes ~ ' as changed where ' ~ two_clocks._no_null_key(keys) ~ ' qualify ' ~ two_clocks._version_rank(keys, watermark, ['hash(changed)']) ~ ' = 1)') }}
{% endmacro %}

{% macro bigquery__newest_versions(changes, keys, watermark) %}
  {{ return('(select * from ' ~ changes ~ ' as changed where ' ~ two_clocks._no_null_key(keys) ~ ' qualify ' ~ two_clocks._version_rank(keys, watermark, ['to_json_string(changed)']) ~ ' = 1)') }}
{% endmacro %}

{% macro snowflake__newest_versions(changes, keys, watermark) %}
  {{ return('(select * from ' ~ changes ~ ' where ' ~ two_clocks._no_null_key(keys) ~ ' qualify ' ~ two_clocks._version_rank(keys, watermark, ['hash(*)']) ~ ' = 1)') }}
{% endmacro %}

{# PostgreSQL has no QUALIFY, but a row is a value #}
{% macro postgres__newest_versions(changes, keys, watermark) %}
  {{ return('(select (ranked.version).* from (select changed as version, ' ~ two_clocks._version_rank(keys, watermark, ['cast(changed as text)']) ~ ' as two_clocks_rank from ' ~ changes ~ ' as changed where ' ~ two_clocks._no_null_key(keys) ~ ') as ranked where ranked.two_clocks_rank = 1)') }}
{% endmacro %}

{# Spark has no QUALIFY either, but structs that can be compared; a NULL watermark is the least of them #}
{% macro spark__newest_versions(changes, keys, watermark) %}
  {{ return('(select picked.version.* from (select max_by(struct(changed.*), struct(' ~ watermark ~ ', xxhash64(changed.*))) as version from ' ~ changes ~ ' as changed where ' ~ two_clocks._no_null_key(keys) ~ ' group by ' ~ keys | join(', ') ~ ') as picked)') }}
{% endmacro %}


{# a select as something that FROM takes, with an alias after it or without one #}
{% macro derived_table(sql) %}{{ return(adapter.dispatch('derived_table', 'two_clocks')(sql)) }}{% endmacro %}
{% macro default__derived_table(sql) %}{{ return('(' ~ sql ~ ')') }}{% endmacro %}

{# before 16 a subquery needs an alias, and may have only one; a join in parentheses may do without #}
{% macro postgres__derived_table(sql) %}
  {{ return('((' ~ sql ~ ') as two_clocks_newest cross join (select) as two_clocks_nothing)' if two_clocks.postgres_version() < 160000 else '(' ~ sql ~ ')') }}
{% endmacro %}
