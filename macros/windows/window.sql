{#-
  The window of this run as a mapping, for SQL that needs its ends.

  Takes
    relation          source(), ref() or anything that can stand after `from` in a query of its own (not a CTE)
    watermark         column that says when a row was last changed, or an SQL expression if target_watermark is given;
                      timestamp with or without zone, date, epoch integer in s, ms or us, or a growing integer id
    lookback          text such as '48 hours', seconds as a number, a plain number for integer ids; var two_clocks_lookback
    max_window        the longest stretch that one run may advance; same units; var two_clocks_max_window
    target_watermark  the watermark's column in the target; default: the column named by `watermark`
    stream            name of one of several sources of a model; each has its own window and ledger row
    target_filter     SQL condition on the target that picks this stream's rows; needed with several streams
    nulls             'exclude' or 'include': rows without a watermark, re-read on every run
    data_clock        SQL for the source watermark, taken from a load log instead of the rows
    time_zone         zone of timestamps stored without one, such as 'Europe/Berlin'; default UTC
  Returns a mapping
    from, to          SQL literals in the watermark's own type; `from` is none where there is no lower end,
                      both are none where the window is empty
    predicate         SQL condition on the source; 'true'-like while parsing, never true for an empty window
    and, for the ledger: kind, status, message, the clocks as text and in UTC, look-back, type of the watermark.
  Raises a compiler error of one sentence for a value that cannot be read; nothing has been written then.
-#}
{% macro window(relation, watermark, lookback=none, max_window=none, target_watermark=none, stream=none, target_filter=none, nulls='exclude', data_clock=none, time_zone=none) %}
  {% if not two_clocks._may_read_clocks() %}
    {{ return(two_clocks._window_without_clocks('1 = 1')) }}
  {% endif %}

  {% set request = two_clocks._window_request(relation, watermark, lookback, max_window, target_watermark, stream, target_filter, nulls, data_clock, time_zone) %}
  {% set book = two_clocks._run_book() %}

  {#- --empty: no clock is read, no window is counted -#}
  {% if invocation_args_dict.get('empty') or relation.limit == 0 %}
    {% do two_clocks._check_empty_refresh(request) %}
    {% do book.update({'empty': true, 'target_watermark': request.target_watermark}) %}
    {{ return(two_clocks._window_without_clocks('1 = 0')) }}
  {% endif %}

  {#- one run reads its clocks once: the same call again is given the same window -#}
  {% set key = request.stream or '' %}
  {% if key in book.windows %}
    {% if book.windows[key].request != request %}
      {% do book.windows.clear() %}
      {% do two_clocks._refuse("model " ~ model.name ~ " asks for two different windows " ~ ("of stream " ~ two_clocks._shown(key) if key else "without naming a stream")
          ~ "; name each source with stream='...' and pick its rows in the target with target_filter='...'") %}
    {% endif %}
    {{ return(book.windows[key]) }}
  {% endif %}
  {% do two_clocks._check_streams(book, request) %}

  {% set reading = two_clocks._read_clocks(request) %}
  {% set cut = two_clocks._decide_window(request, reading) %}
  {% do two_clocks._mind_open_ranges(cut) %}
  {% do two_clocks._set_bad_rows_aside(cut) %}
  {#- before the window is in the book: without a ledger nobody could say that it failed -#}
  {% if two_clocks._is_writing_command() %}{% do two_clocks.ensure_ledger() %}{% endif %}
  {% do two_clocks._advise_on_indexes(cut) %}
  {% do book.windows.update({key: cut}) %}
  {% do book.update({'target_watermark': request.target_watermark}) %}
  {% if two_clocks._is_writing_command() %}{% do two_clocks._count_before_full_refresh(book, cut) %}{% endif %}
  {% do two_clocks._log_window(cut) %}
  {% if two_clocks._is_writing_command() %}{% do two_clocks._check_bad_rows(cut) %}{% endif %}
  {{ return(cut) }}
{% endmacro %}


{#- Not while parsing, not under `dbt compile --no-introspect`, and not in a dbt unit test, whose fixture *is* the window. -#}
{% macro _may_read_clocks() %}
  {{ return(execute and model.resource_type != 'unit_test' and not (flags.INTROSPECT is defined and not flags.INTROSPECT)) }}
{% endmacro %}


{# a window for the moments when no clock may be read #}
{% macro _window_without_clocks(predicate) %}
  {{ return({'from': none, 'to': none, 'predicate': predicate}) }}
{% endmacro %}


{% macro _check_streams(book, request) %}
  {% if not book.windows %}{{ return(none) }}{% endif %}
  {% set others = book.windows.values() | list %}
  {#- a refused model attempted no window: what it had in the book must not come back as failed -#}
  {% set kept = dict(book.windows) %}
  {% do book.windows.clear() %}
  {% if not request.stream or not others[0].request.stream %}
    {% do two_clocks._refuse("model " ~ model.name ~ " reads more than one source through a window, so each windowed() needs a stream='...' and a target_filter='...': one maximum for several sources would lose the rows of the slower one") %}
  {% endif %}
  {% for one in [request] + (others | map(attribute='request') | list) if not one.target_filter %}
    {% do two_clocks._refuse("stream " ~ two_clocks._shown(one.stream) ~ " of model " ~ model.name ~ " needs target_filter='...', the condition that picks its rows in the target") %}
  {% endfor %}
  {% if others[0].request.target_watermark != request.target_watermark %}
    {% do two_clocks._refuse("the streams of model " ~ model.name ~ " name different watermark columns in the target (" ~ others[0].request.target_watermark ~ ", " ~ request.target_watermark ~ "); give all of them the same target_watermark") %}
  {% endif %}
  {% do book.windows.update(kept) %}
{% endmacro %}


{# one line that says what this run will read and why #}
{% macro _log_window(cut) %}
  {% set name = model.name ~ (' (' ~ cut.request.stream ~ ')' if cut.request.stream else '') %}
  {% if cut.status == 'skipped' %}
    {% set range = 'skipped, the load log has not moved' %}
  {% elif cut.to is none %}
    {% set range = 'window empty' %}
  {% else %}
    {% set range = 'window [' ~ (two_clocks._spoken(cut, 'window_from') if cut['from'] is not none else 'the beginning') ~ ', ' ~ two_clocks._spoken(cut, 'window_to') ~ ']' %}
  {% endif %}
  {% do log(two_clocks._harmless('two_clocks: ' ~ name ~ ' ' ~ cut.kind ~ ' ' ~ range
      ~ ' | S ' ~ two_clocks._spoken(cut, 'source_watermark') ~ ' | T ' ~ two_clocks._spoken(cut, 'target_watermark')
      ~ ' | look-back ' ~ cut.request.lookback.text ~ ' | wall clock ' ~ cut.clocks.wall_clock
      ~ (' | ' ~ cut.message if cut.message else '')), info=two_clocks._is_writing_command()) %}
{% endmacro %}


{# an epoch is spoken as the time that it stands for, with the number the column holds #}
{% macro _spoken(cut, name) %}
  {% set value = cut.clocks[name ~ '_value'] %}
  {% if value is none %}{{ return('none') }}{% endif %}
  {% if cut.watermark.kind == 'integer' and cut.watermark.units_per_second %}
    {{ return(cut.clocks[name] ~ ' (' ~ value ~ ')') }}
  {% endif %}
  {{ return(value) }}
{% endmacro %}
