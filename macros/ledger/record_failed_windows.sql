{#-
  on-run-end: a ledger row for every window whose model failed, with the message.

      on-run-end: "{{ two_clocks.record_failed_windows(results) }}"

  Takes dbt's `results`. Returns an insert, or nothing. A run that was refused before it read its clocks attempted no
  window and leaves no row.
-#}
{% macro record_failed_windows(results) %}
  {% if not execute %}{{ return('') }}{% endif %}
  {% set books = graph.get('two_clocks', {}).get(invocation_id, {}) %}
  {% set rows, then = [], [] %}
  {% for result in results if result.status in ['error', 'runtime error', 'partial success'] and result.node.unique_id in books %}
    {#- what happened, without the macros in which dbt was when it did -#}
    {% set message = two_clocks._safe_message(modules.re.sub('\\s*> in macro [\\s\\S]*$', '', result.message | string)) %}
    {% for cut in books[result.node.unique_id].windows.values() %}
      {% do rows.append(two_clocks._ledger_row(cut, {}, status='failed', message=message)) %}
      {% do then.extend(two_clocks._ranges_after_failure(cut, message)) %}
    {% endfor %}
  {% endfor %}
  {{ return(([two_clocks.insert_windows_sql(two_clocks.ledger_relation(), rows)] + then) | join(';\n') if rows else '') }}
{% endmacro %}


{# an error as the ledger may keep it: one line of plain characters, no longer than needed, without a password #}
{% macro _safe_message(message) %}
  {{ return(modules.re.sub(' +', ' ', two_clocks._without_secrets(two_clocks._harmless(message)))[:2000] | trim) }}
{% endmacro %}
