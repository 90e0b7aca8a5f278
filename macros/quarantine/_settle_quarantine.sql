{#-
  Writes the bad rows of a window to the dead letters and lets go of those that are read as good again, in the
  transaction of the good ones. Returns how many rows were set aside, for the ledger.

  Looked for after the good rows are written: what the model left out is then in the letters, whatever came in between.
-#}
{% macro _settle_quarantine(cut) %}
  {% set quarantine = cut.get('quarantine') %}
  {% if not quarantine or not quarantine.has_work %}{{ return(0) }}{% endif %}
  {% do two_clocks._in_transaction(two_clocks.make_scratch_sql('two_clocks_bad', two_clocks.bad_rows_sql(cut))) %}
  {% do two_clocks._in_transaction(two_clocks.make_scratch_sql('two_clocks_good', two_clocks.good_again_sql(cut))) %}
  {% do two_clocks._in_transaction(two_clocks.merge_letters_sql(cut)) %}
  {% do two_clocks._in_transaction(two_clocks.release_letters_sql(cut)) %}
  {{ return(two_clocks._in_transaction('select coalesce(sum(bad.rows_met), 0) from two_clocks_bad as bad').rows[0][0] | int) }}
{% endmacro %}


{#- Bad rows, one per letter: the newest version, with how many there were. -#}
{% macro bad_rows_sql(cut) %}
  {%- set quarantine, watermark = cut.quarantine, cut.watermark -%}
  {%- set text = dbt.type_string() -%}
  select ranked.letter_id, ranked.key_text, ranked.rule, ranked.watermark, ranked.watermark_value, ranked.row_json, ranked.rows_met
  from (
    select judged.*,
      count(*) over (partition by judged.letter_id) as rows_met,
      row_number() over (partition by judged.letter_id order by case when judged.watermark is null then 1 else 0 end, judged.watermark desc, judged.row_json desc) as place
    from (
      select
        {{ two_clocks._letter_id(cut, 'source_row') }} as letter_id,
        case when {{ quarantine.null_key }} then cast(null as {{ text }}) else {{ quarantine.key_text }} end as key_text,
        case {{ quarantine.verdict }} {% for rule in quarantine.rules %}when {{ loop.index }} then {{ two_clocks.text_literal(rule.name) }} {% endfor %}end as rule,
        {{ watermark.sql }} as watermark,
        {{ two_clocks.exact_text(watermark.sql, watermark.kind) }}{{ " || '+00'" if watermark.kind == 'timestamptz' }} as watermark_value,
        {{ two_clocks.row_as_json('source_row') }} as row_json
      from {{ cut.request.relation }} as source_row
      where ({{ quarantine.looked_at }}) and {{ quarantine.verdict }} > 0
    ) as judged
  ) as ranked
  where ranked.place = 1
{% endmacro %}


{#- Good rows of the window whose keys are bad in it too (a newer version may be good) or lie in an open letter. -#}
{% macro good_again_sql(cut) %}
  select good.key_text, max(good.watermark) as watermark
  from (
    select {{ cut.quarantine.key_text }} as key_text, {{ cut.watermark.sql }} as watermark
    from {{ cut.request.relation }}
    where {{ cut.predicate }}
  ) as good
  where good.key_text in (
    select bad.key_text from two_clocks_bad as bad where bad.key_text is not null
    union
    select letters.key from {{ two_clocks.dead_letters_relation() }} as letters
    where {{ two_clocks._letters_of(cut, 'letters') }} and letters.released_at is null and letters.key is not null)
  group by good.key_text
{% endmacro %}


{# bad rows but those that a good version in this window, as new or newer, has overtaken #}
{% macro _standing_bad_rows() %}
  {{ return('(select * from two_clocks_bad as bad where not exists (select 1 from two_clocks_good as good where good.key_text = bad.key_text and good.watermark >= bad.watermark))') }}
{% endmacro %}


{#- A row met again is counted; one that a person has let go stays so as long as it is the very same row. -#}
{% macro merge_letters_sql(cut) %}
  {%- set text, time = dbt.type_string(), two_clocks._ledger_type('time') -%}
  {%- set now = two_clocks.utc_literal(cut.clocks.wall_clock) -%}
  {%- set window_id = two_clocks.text_literal(two_clocks._window_id(cut)) -%}
  {%- set stays_released = "stored.released_by = 'person' and stored.row_hash = met.row_hash" -%}
  {%- set row_json = 'met.row_json' if cut.quarantine.keep_row else 'cast(null as ' ~ text ~ ')' -%}
  merge into {{ two_clocks.dead_letters_relation() }} as stored
  using (select standing.*, {{ dbt.hash('standing.row_json') }} as row_hash from {{ two_clocks._standing_bad_rows() }} as standing) as met
  on stored.letter_id = met.letter_id
  when matched then update set
    window_id = {{ window_id }}, rule = met.rule, watermark_value = met.watermark_value, row_json = {{ row_json }}, row_hash = met.row_hash,
    last_seen = {{ now }}, times_seen = stored.times_seen + 1,
    released_at = case when {{ stays_released }} then stored.released_at end,
    released_by = case when {{ stays_released }} then stored.released_by end,
    released_why = case when {{ stays_released }} then stored.released_why end
  when not matched then insert ({{ two_clocks.dead_letter_columns() | join(', ') }})
    values (met.letter_id, {{ two_clocks.text_literal(cut.model) }}, {{ two_clocks.text_literal(two_clocks._plain_name(cut.target_relation)) }},
      {{ two_clocks.text_literal(cut.request.stream) if cut.request.stream else 'cast(null as ' ~ text ~ ')' }}, {{ two_clocks.text_literal(two_clocks._plain_name(cut.request.relation)) }},
      {{ window_id }}, met.rule, met.key_text, met.watermark_value, {{ row_json }}, met.row_hash,
      {{ now }}, {{ now }}, 1, cast(null as {{ time }}), cast(null as {{ text }}), cast(null as {{ text }}))
{% endmacro %}


{#-
  Open letters that this window answers: the key was read as good, as new as the bad row or newer, or the bad row was
  looked for where it lay and is not there any more. A row whose key is NULL has no other name than itself: it is let go
  when it is no longer found as it was.
-#}
{% macro release_letters_sql(cut) %}
  {%- set letters_watermark = two_clocks.safe_cast('letters.watermark_value', cut.watermark.type) -%}
  {%- set in_window = '(' ~ letters_watermark ~ (' >= ' ~ cut['from'] ~ ' and ' ~ letters_watermark if cut['from'] else '') ~ ' <= ' ~ cut.to ~ ')' if cut.to else '1 = 0' -%}
  {%- set outside = [] -%}
  {%- for rule in cut.quarantine.rules if rule.watermark and not cut.request.backfill -%}{%- do outside.append(two_clocks.text_literal(rule.name)) -%}{%- endfor -%}
  {%- set was_looked_for = '(' ~ in_window ~ (' or letters.rule in (' ~ outside | join(', ') ~ ')' if outside else '') ~ ')' -%}
  update {{ two_clocks.dead_letters_relation() }} as letters set
    released_at = {{ two_clocks.utc_literal(cut.clocks.wall_clock) }},
    released_by = 'run',
    released_why = case when letters.key is null then 'no longer in the source as it was' else 'read as good' end
  where {{ two_clocks._letters_of(cut, 'letters') }} and letters.released_at is null
    and not exists (select 1 from {{ two_clocks._standing_bad_rows() }} as standing where standing.letter_id = letters.letter_id)
    and ((letters.key is null and {{ was_looked_for }})
      or exists (
        select 1 from two_clocks_good as good
        where good.key_text = letters.key
          and (letters.watermark_value is null or good.watermark >= {{ letters_watermark }} or {{ was_looked_for }})))
{% endmacro %}
