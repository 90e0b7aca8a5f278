{% macro get_incremental_newest_wins_sql(arg_dict) %}
  {{ return(two_clocks.get_incremental_newest_wins_sql(arg_dict)) }}
{% endmacro %}
