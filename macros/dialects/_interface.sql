{#-
  Everything in which engines differ, each a macro that returns SQL text. One file per engine beside this one holds its
  answers; what an engine's file does not say is taken from default.sql. Users may override any of these by dispatch
  under the namespace 'two_clocks'.

  kind is timestamp, timestamptz, date or integer; units (per second) is 1, 1000, 1000000 or none; type is the
  engine's own name of the watermark's type; time_zone names the zone of timestamps that carry none.
-#}

{# the engine's clock now, as a timestamp without zone in UTC #}
{% macro wall_clock_sql() %}{{ return(adapter.dispatch('wall_clock_sql', 'two_clocks')()) }}{% endmacro %}

{# text of a UTC timestamp as a literal without zone #}
{% macro utc_literal(text) %}{{ return(adapter.dispatch('utc_literal', 'two_clocks')(text)) }}{% endmacro %}

{# a query of one value: the type of an SQL expression over a relation, also an empty one #}
{% macro type_probe_sql(relation, sql) %}{{ return(adapter.dispatch('type_probe_sql', 'two_clocks')(relation, sql)) }}{% endmacro %}

{# the kind of a type name, or none where it cannot be a watermark #}
{% macro watermark_kind(type) %}
  {% set plain = modules.re.sub('\\([^)]*\\)', '', (type or '') | string | lower) | trim %}
  {{ return(adapter.dispatch('watermark_kinds', 'two_clocks')().get(plain)) }}
{% endmacro %}

{# exact text of a watermark: full precision, zone-aware ones in UTC (the zone is added by the caller) #}
{% macro exact_text(expression, kind) %}{{ return(adapter.dispatch('exact_text', 'two_clocks')(expression, kind)) }}{% endmacro %}

{# that text as a literal of the very same type #}
{% macro watermark_literal(text, kind, type) %}{{ return(adapter.dispatch('watermark_literal', 'two_clocks')(text, kind, type)) }}{% endmacro %}

{# a watermark as a timestamp without zone in UTC, for the ledger and for people #}
{% macro watermark_to_utc(expression, kind, units, time_zone) %}{{ return(adapter.dispatch('watermark_to_utc', 'two_clocks')(expression, kind, units, time_zone)) }}{% endmacro %}

{# a UTC timestamp as a watermark: only the wall clock is ever converted, never the column #}
{% macro watermark_from_utc(expression, kind, units, time_zone, type) %}{{ return(adapter.dispatch('watermark_from_utc', 'two_clocks')(expression, kind, units, time_zone, type)) }}{% endmacro %}

{# a watermark, earlier by `amount` seconds (by as many ids where units is none and kind integer) #}
{% macro shift_back(expression, amount, kind, units, time_zone, type) %}{{ return(adapter.dispatch('shift_back', 'two_clocks')(expression, amount, kind, units, time_zone, type)) }}{% endmacro %}
{% macro shift_forward(expression, amount, kind, units, type) %}{{ return(adapter.dispatch('shift_forward', 'two_clocks')(expression, amount, kind, units, type)) }}{% endmacro %}

{# whole seconds from one watermark to a later one, rounded up; NULL for ids #}
{% macro seconds_between(earlier, later, kind, units) %}{{ return(adapter.dispatch('seconds_between', 'two_clocks')(earlier, later, kind, units)) }}{% endmacro %}

{# the lesser and the greater of two values; of a value and NULL the value #}
{% macro lesser(a, b) %}{{ return(adapter.dispatch('lesser', 'two_clocks')(a, b)) }}{% endmacro %}
{% macro greater(a, b) %}{{ return(adapter.dispatch('greater', 'two_clocks')(a, b)) }}{% endmacro %}

{# a column as the form in which two values of its type can be compared and sorted (json and its like cannot) #}
{% macro comparable(expression, type) %}{{ return(adapter.dispatch('comparable', 'two_clocks')(expression, type)) }}{% endmacro %}

{# a condition that is true where two lists of expressions differ; NULL equals NULL #}
{% macro differs(left, right) %}{{ return(adapter.dispatch('differs', 'two_clocks')(left, right)) }}{% endmacro %}

{# text as an SQL string literal, safe whatever it holds; plain words, which nearly all are, mean the same to every engine #}
{% macro text_literal(text) %}
  {% if modules.re.fullmatch('[A-Za-z0-9_ .,:+-]*', text | string) %}{{ return("'" ~ text ~ "'") }}{% endif %}
  {{ return(adapter.dispatch('text_literal', 'two_clocks')(text)) }}
{% endmacro %}

{# a name, as the database itself spells it, as an identifier: whatever stands in it, it stays one name #}
{% macro quoted(name) %}{{ return(adapter.dispatch('quoted', 'two_clocks')(name)) }}{% endmacro %}

{# the physical address of a row, for deleting one of two equal ones #}
{% macro row_address() %}{{ return(adapter.dispatch('row_address', 'two_clocks')()) }}{% endmacro %}
