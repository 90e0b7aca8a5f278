{#-
  The dead letters: one row for every bad row ever met, by model and key. Returns the Relation, whether it exists yet or
  not. It lives beside the ledger, and like the ledger it is no dbt model.
-#}
{% macro dead_letters_relation() %}
  {{ return(two_clocks.ledger_relation().incorporate(path={'identifier': 'two_clocks_dead_letters'})) }}
{% endmacro %}


{#- Columns of the dead letters in order, each with what kind of value it holds: text, time (UTC, no zone) or number. -#}
{% macro dead_letter_columns() %}
  {{ return({
    'letter_id': 'text', 'model': 'text', 'target_relation': 'text', 'stream': 'text', 'source_relation': 'text',
    'window_id': 'text', 'rule': 'text', 'key': 'text', 'watermark_value': 'text', 'row_json': 'text', 'row_hash': 'text',
    'first_seen': 'time', 'last_seen': 'time', 'times_seen': 'number',
    'released_at': 'time', 'released_by': 'text', 'released_why': 'text'}) }}
{% endmacro %}


{% macro ensure_dead_letters() %}
  {% do two_clocks.ensure_table(two_clocks.dead_letters_relation(), two_clocks.dead_letter_columns()) %}
{% endmacro %}


{# the letters of one window's model, target and stream #}
{% macro _letters_of(cut, alias) %}
  {%- set stream = alias ~ '.stream = ' ~ two_clocks.text_literal(cut.request.stream) if cut.request.stream else alias ~ '.stream is null' -%}
  {{ return(alias ~ '.model = ' ~ two_clocks.text_literal(cut.model) ~ ' and ' ~ alias ~ '.target_relation = '
      ~ two_clocks.text_literal(two_clocks._plain_name(cut.target_relation)) ~ ' and ' ~ stream) }}
{% endmacro %}
