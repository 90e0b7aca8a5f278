{#-
  Which index a window misses, said at run time, once: the ledger row of the run that said so keeps the sentence, and no later run repeats
  what stands there already. Small tables need none; engines that have no indexes, or need none, are never spoken of.
-#}
{% macro _advise_on_indexes(cut) %}
  {% if cut.kind != 'incremental' or cut.status == 'skipped' %}{{ return(none) }}{% endif %}
  {#- the streams of a model share its target: the first of them speaks of it -#}
  {% set advice = two_clocks.index_advice(cut.request, cut.watermark, of_target=two_clocks._run_book().windows | length == 0) %}
  {% if advice is none or two_clocks._was_said_before(cut, advice) %}{{ return(none) }}{% endif %}
  {% do cut.update({'message': cut.message ~ '; ' ~ advice if cut.message else advice}) %}
{% endmacro %}


{#- The sentence, or none where nothing is missing. Pure: what is indexed was asked for together with the types of the columns. -#}
{% macro index_advice(request, watermark, of_target=true) %}
  {% set indexed = watermark.indexed %}
  {% if not indexed %}{{ return(none) }}{% endif %}
  {#- reading this much (32 MB) from beginning to end takes about as long as a usual window does -#}
  {% set large = 33554432 %}
  {% set statements, declared, reads = [], [], [] %}

  {% set source = indexed.source %}
  {% if source and source.bytes >= large and request.is_column and not two_clocks._is_led_by(source, [request.watermark]) %}
    {% do reads.append('all of the source') %}
    {% do statements.append('create index on ' ~ request.relation ~ ' (' ~ watermark.sql ~ ')') %}
  {% endif %}

  {% set target = indexed.target %}
  {% if target and target.bytes >= large and of_target %}
    {% if not two_clocks._is_led_by(target, [request.target_watermark]) %}
      {% set name = two_clocks._column_sql(this, request.target_watermark) %}
      {% do statements.append('create index on ' ~ this.include(database=false) ~ ' (' ~ name ~ ')') %}
      {% do declared.append("{'columns': " ~ two_clocks._names_in_config([name]) ~ '}') %}
    {% endif %}
    {% set keys = config.get('unique_key') or [] %}
    {% set keys = [keys] if keys is string else keys %}
    {% if keys and not two_clocks._is_led_by(target, keys) %}
      {% set names = [] %}
      {% for key in keys %}{% do names.append(two_clocks._column_sql(this, key)) %}{% endfor %}
      {% do statements.append('create unique index on ' ~ this.include(database=false) ~ ' (' ~ names | join(', ') ~ ')') %}
      {% do declared.append("{'columns': " ~ two_clocks._names_in_config(names) ~ ", 'unique': true}") %}
    {% endif %}
    {% if declared %}{% do reads.append('all of the target') %}{% endif %}
  {% endif %}

  {% if not statements %}{{ return(none) }}{% endif %}
  {{ return('without an index each run reads ' ~ reads | join(' and ') ~ '; run: ' ~ statements | join('; ')
      ~ ('; and declare indexes=[' ~ declared | join(', ') ~ '] in the model, so that a full refresh makes them again' if declared else '')) }}
{% endmacro %}


{# dbt puts what is declared into SQL as it stands, so names keep their marks #}
{% macro _names_in_config(names) %}
  {% set texts = [] %}
  {% for name in names %}{% do texts.append("'" ~ name | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") %}{% endfor %}
  {{ return('[' ~ texts | join(', ') ~ ']') }}
{% endmacro %}


{# whether an index begins with one of these columns #}
{% macro _is_led_by(indexed, names) %}
  {% for name in names %}
    {% set bare = name | string | trim %}
    {% set bare = bare[1:-1] | replace('""', '"') if bare[0] == '"' else bare %}
    {% for column in indexed.led if column == bare or column == bare | lower %}{{ return(true) }}{% endfor %}
  {% endfor %}
  {{ return(false) }}
{% endmacro %}


{% macro _was_said_before(cut, advice) %}
  {% if not two_clocks._is_writing_command() %}{{ return(false) }}{% endif %}
  {% set ledger = two_clocks.ledger_relation() %}
  {% if not two_clocks._ledger_exists(ledger) %}{{ return(false) }}{% endif %}
  {{ return(two_clocks._one_value('select count(*) from ' ~ ledger ~ ' as told where told.model = ' ~ two_clocks.text_literal(cut.model)
      ~ ' and position(' ~ two_clocks.text_literal(advice) ~ ' in told.message) > 0') > 0) }}
{% endmacro %}
