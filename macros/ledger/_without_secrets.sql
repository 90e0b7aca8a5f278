{#-
  A message without passwords: those of the connection wherever they stand, and whatever looks like one. Databases repeat
  connection strings and statements in their errors, and what the ledger keeps is read by more people than the profile.
  scripts/two_clocks/concealed.py does the same for what the command line says.
-#}
{% macro _without_secrets(message) %}
  {% set re = modules.re %}
  {% set text = namespace(now=message | string) %}
  {% for secret in two_clocks._secrets_in(two_clocks._credentials()) %}
    {% set text.now = text.now | replace(secret, '***') %}
  {% endfor %}
  {#- a password may hold an @ itself: up to the last one of the word -#}
  {% set text.now = re.sub('://[^/@\\s:]*:\\S*@', '://***@', text.now) %}
  {% set text.now = re.sub('(?i)((?:' ~ two_clocks._secret_names() ~ ')[a-z0-9_]*["\')\\]]*\\s*(?:=>|[=:])\\s*)(\\([^)]*\\)|\'(?:[^\']|\'\')*\'|"(?:[^"\\\\]|\\\\.)*"|[^\\s,;)}\\]]+)', '\\1***', text.now) %}
  {% set text.now = re.sub('(?i)\\b(password|identified\\s+by|bearer|basic)(\\s+)(\'(?:[^\']|\'\')*\'|[a-z0-9._~+/-]{16,}=*)', '\\1\\2***', text.now) %}
  {{ return(text.now) }}
{% endmacro %}


{% macro _secret_names() %}{{ return('password|passwd|passphrase|pwd|secret|token|credential|api_?key|access_?key|private_?key') }}{% endmacro %}


{# what dbt connects with; dbt 2 keeps it to itself #}
{% macro _credentials() %}
  {{ return(adapter.config.credentials.to_dict(omit_none=true) if dbt_version[:2] == '1.' else {}) }}
{% endmacro %}


{# the values whose names say that they are secret, one before its own beginning; very short ones would blacken every other word #}
{% macro _secrets_in(value, name='') %}
  {% set found = [] %}
  {% if value is mapping %}
    {% for key, inner in value.items() %}{% do found.extend(two_clocks._secrets_in(inner, key)) %}{% endfor %}
  {% elif value is not string and value is iterable %}
    {% for inner in value %}{% do found.extend(two_clocks._secrets_in(inner, name)) %}{% endfor %}
  {% elif value is not boolean and (value | string | length) >= 4 and modules.re.match('(?i)^pass$|.*(' ~ two_clocks._secret_names() ~ ')', name | string) %}
    {% do found.append(value | string) %}
  {% endif %}
  {{ return(found | sort | reverse | list) }}
{% endmacro %}
