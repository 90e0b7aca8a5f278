{#- The place of a row as text, by the alias of its table: another one after the row was written again. NULL where no engine says. -#}
{% macro proof_address(alias) %}{{ return(adapter.dispatch('proof_address', 'two_clocks')(alias)) }}{% endmacro %}

{% macro default__proof_address(alias) %}{{ return('cast(null as ' ~ dbt.type_string() ~ ')') }}{% endmacro %}
{% macro duckdb__proof_address(alias) %}{{ return('cast(' ~ alias ~ '.rowid as varchar)') }}{% endmacro %}
{% macro postgres__proof_address(alias) %}{{ return('(cast(' ~ alias ~ '.ctid as text) || cast(' ~ alias ~ ".xmin as text))") }}{% endmacro %}
{% macro redshift__proof_address(alias) %}{{ return(two_clocks.default__proof_address(alias)) }}{% endmacro %}
