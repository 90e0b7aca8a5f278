{#-
  From clocks to a window: kind, status, ends and predicate. Pure but for refusing a backfill that would leave a hole.
-#}
{% macro _decide_window(request, reading) %}
  {% set clocks, watermark = reading.clocks, reading.watermark %}
  {% set cut = {
      'request': request, 'watermark': watermark, 'clocks': clocks, 'status': 'succeeded', 'message': none,
      'model': model.unique_id, 'target_relation': this | string, 'kind': two_clocks._kind_of_run(request),
      'from': none, 'to': none, 'predicate': '1 = 0'} %}

  {% if request.backfill %}
    {% do two_clocks._check_backfill(request, clocks) %}
    {#- which part of a longer backfill this is: by it an interrupted one knows its own windows again -#}
    {% set part = var('two_clocks_backfill_part', none) %}
    {% if part %}{% do cut.update({'message': two_clocks._safe_message(part)[:200]}) %}{% endif %}
  {% elif clocks.unmoved %}
    {% do cut.update({'status': 'skipped', 'message': 'the load log has not moved since the last success'}) %}
    {{ return(cut) }}
  {% elif clocks.source_is_behind %}
    {% do cut.update({'message': 'the source is behind the target: its watermark ' ~ clocks.source_watermark_value ~ ' is before the ' ~ clocks.target_watermark_value ~ ' already stored'}) %}
  {% endif %}

  {% if clocks.window_to_value is not none %}
    {% set lower = two_clocks.watermark_literal(clocks.window_from_value, watermark.kind, watermark.type) if clocks.window_from_value is not none else none %}
    {% set upper = two_clocks.watermark_literal(clocks.window_to_value, watermark.kind, watermark.type) %}
    {% do cut.update({'from': lower, 'to': upper,
        'predicate': (watermark.sql ~ ' >= ' ~ lower ~ ' and ' if lower else '') ~ watermark.sql ~ ' <= ' ~ upper}) %}
  {% endif %}
  {% if request.nulls == 'include' and not request.backfill %}
    {% do cut.update({'predicate': '((' ~ cut.predicate ~ ') or ' ~ watermark.sql ~ ' is null)'}) %}
  {% endif %}
  {{ return(cut) }}
{% endmacro %}


{% macro _kind_of_run(request) %}
  {% if request.backfill %}{{ return('backfill') }}{% endif %}
  {% if is_incremental() %}{{ return('incremental') }}{% endif %}
  {{ return('initial' if load_cached_relation(this) is none else 'full_refresh') }}
{% endmacro %}


{% macro _check_backfill(request, clocks) %}
  {% set asked = "the backfill from " ~ two_clocks._shown(request.backfill.from) ~ " to " ~ two_clocks._shown(request.backfill.to) %}
  {% if clocks.reversed %}
    {% do two_clocks._refuse(asked ~ " ends before it begins; swap two_clocks_backfill_from and two_clocks_backfill_to") %}
  {% elif clocks.target_watermark_value is none %}
    {% do two_clocks._refuse("model " ~ model.name ~ " holds no rows yet, so " ~ asked ~ " would leave a hole before it; run the model normally first") %}
  {% elif clocks.after_target %}
    {% do two_clocks._refuse(asked ~ " starts after the target's watermark " ~ clocks.target_watermark_value ~ " of model " ~ model.name ~ " and would leave a hole; run the model normally, which reads on from there") %}
  {% endif %}
{% endmacro %}


{#-
  The ends of a backfill as SQL in the watermark's own type. An upper end that is a bare date covers that whole day.
-#}
{% macro _backfill_bounds(request, watermark, target) %}
  {% if target is none %}
    {% do two_clocks._refuse("model " ~ model.name ~ " was never built, so a backfill would leave a hole before its range; run the model normally first") %}
  {% endif %}
  {{ return({
      'from': two_clocks._backfill_bound(request, watermark, 'from'),
      'to': two_clocks._backfill_bound(request, watermark, 'to')}) }}
{% endmacro %}


{% macro _backfill_bound(request, watermark, side) %}
  {% set setting = {'value': request.backfill[side], 'name': 'two_clocks_backfill_' ~ side} %}
  {% set kind, units, type = watermark.kind, watermark.units_per_second, watermark.type %}
  {% set is_number = setting.value is not boolean and modules.re.match('^-?[0-9]{1,18}$', setting.value | string | trim) is not none %}
  {% if kind == 'integer' and is_number %}
    {{ return(two_clocks.watermark_literal(setting.value | string | trim, kind, type)) }}
  {% endif %}
  {% if kind == 'integer' and units is none %}
    {% do two_clocks._refuse(setting.name ~ " is " ~ two_clocks._shown(setting.value) ~ ", but the watermark " ~ request.watermark ~ " of " ~ model.name ~ " counts in integers; write one") %}
  {% endif %}
  {% set moment = two_clocks._read_moment(setting) %}
  {% set whole_day = side == 'to' and moment.is_date and kind != 'date' %}
  {% set instant = moment.value + modules.datetime.timedelta(days=1, microseconds=-1) if whole_day else moment.value %}
  {% set text = instant.isoformat(sep=' ', timespec='microseconds') %}
  {#- a bound without a zone is in the column's own zone, so it is not converted -#}
  {% if kind == 'date' and not moment.has_zone %}
    {{ return(two_clocks.watermark_literal(text[:10], kind, type)) }}
  {% elif kind == 'timestamp' and not moment.has_zone %}
    {{ return(two_clocks.watermark_literal(text, kind, type)) }}
  {% endif %}
  {{ return(two_clocks.watermark_from_utc(two_clocks.utc_literal(text), kind, units, request.time_zone, type)) }}
{% endmacro %}
