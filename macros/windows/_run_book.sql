{#-
  What this run knows of the current model: its windows by stream, and later what the strategy wrote.
  Lives in dbt's `graph` mapping, the one object that a model's SQL, its strategy, its hooks and on-run-end share
  within one invocation. Keyed by invocation and model, so neither threads nor later runs in one process meet.
-#}
{% macro _run_book(unique_id=none) %}
  {% set invocations = graph.setdefault('two_clocks', {}) %}
  {% set books = invocations.setdefault(invocation_id, {}) %}
  {{ return(books.setdefault(unique_id or model.unique_id, {'windows': {}})) }}
{% endmacro %}


{# true only where models are really built; compile, docs, ls, show and test never write #}
{% macro _is_writing_command() %}
  {{ return(execute and flags.WHICH in ['run', 'build', 'retry']) }}
{% endmacro %}


{# every refusal goes through here: one sentence, raised before anything is written #}
{% macro _refuse(sentence) %}
  {% do exceptions.raise_compiler_error('two_clocks: ' ~ two_clocks._harmless(sentence) ~ '.') %}
{% endmacro %}
