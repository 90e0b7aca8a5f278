{#-
  What every sync did in every run, and what the ODS showed at that moment: the history that the outcome is explained from.
  All times are epoch seconds. A run that is replayed is not logged twice: a second replay leaves the first one's history.
-#}
{{ config(
    materialized='incremental',
    incremental_strategy='append'
) }}

-- what each sync by hand reads again, in seconds
{%- set overlap_of = {
    'crm_grades_wall_clock': 0,
    'crm_grades_data_clock': 0,
    'crm_grades_lookback': 48 * 3600,
    'crm_grades_after_load': 0,
} %}
{%- set sync_order = overlap_of.keys() | list + ['crm_grades'] %}
with ods as (
    select
        {{ two_clocks._epoch_now() }} as run_at,
        max(gg.timemodified) as ods_furthest,
        max(case when gg.timemodified <= {{ two_clocks._epoch_now() }} then gg.timemodified end) as ods_reached
    from {{ source('ods', 'grade_grades') }} as gg
),

newest_load as (
    select max(loads.load_id) as load_id
    from {{ source('ods', 'load_log') }} as loads
),

sinks as (
    {% for sync in sync_order %}
        select
            '{{ sync }}' as sync,
            {{ 'max(sink.synced_until)' if sync in overlap_of else 'cast(null as bigint)' }} as synced_until,
            max(
                case when monday.grade_id = sink.grade_id and monday.timemodified <= sink.timemodified then 1 else 0 end
            ) as has_monday_grade
        from {{ ref(sync) }} as sink
        cross join {{ ref('monday_grade') }} as monday
        {{ 'union all' if not loop.last }}
    {% endfor %}
),

last_windows as (
    {% if is_incremental() %}
        select
            logged.sync,
            logged.watermark_to,
            row_number() over (partition by logged.sync order by logged.run_at desc) as age
        from {{ this }} as logged
        where logged.run_at < {{ two_clocks._epoch_now() }}
    {% else %}
        select
            'none' as sync,
            0 as watermark_to,
            1 as age
    {% endif %}
),

rereads as (
    {% for sync, seconds in overlap_of.items() %}
        select
            '{{ sync }}' as sync,
            {{ seconds }} as seconds
        {{ 'union all' if not loop.last }}
    {% endfor %}
),

windows_by_hand as (
    select
        rereads.sync,
        greatest(coalesce(last_windows.watermark_to, 0) - rereads.seconds, 0) as watermark_from,
        sinks.synced_until as watermark_to
    from rereads
    inner join sinks
        on rereads.sync = sinks.sync
    left join last_windows
        on
            rereads.sync = last_windows.sync
            and last_windows.age = 1
),

all_windows as (
    -- half open, as people write them: the lower end is not read
    select
        by_hand.sync,
        by_hand.watermark_from,
        by_hand.watermark_to,
        count(gg.id) as rows_read,
        count(gg.id) as rows_written
    from windows_by_hand as by_hand
    left join {{ source('ods', 'grade_grades') }} as gg
        on
            by_hand.watermark_from < gg.timemodified
            and by_hand.watermark_to >= gg.timemodified
    group by
        by_hand.sync,
        by_hand.watermark_from,
        by_hand.watermark_to

    union all

    -- closed at both ends, from the ledger
    select
        'crm_grades' as sync,
        cast(ledger.window_from_value as bigint) as watermark_from,
        cast(ledger.window_to_value as bigint) as watermark_to,
        ledger.rows_extracted as rows_read,
        ledger.rows_inserted + ledger.rows_updated as rows_written
    from {{ two_clocks.ledger_relation() }} as ledger
    where
        ledger.invocation_id = '{{ invocation_id }}'
        and ledger.model = 'model.two_clocks.crm_grades'
)

select
    all_windows.sync,
    ods.run_at,
    all_windows.watermark_from,
    all_windows.watermark_to,
    all_windows.rows_read,
    all_windows.rows_written,
    sinks.has_monday_grade,
    ods.ods_reached,
    ods.ods_furthest,
    newest_load.load_id
from all_windows
inner join sinks
    on all_windows.sync = sinks.sync
cross join ods
cross join newest_load
{% if is_incremental() %}
    where not exists (select 1 from {{ this }} as logged where logged.run_at = ods.run_at and logged.sync = all_windows.sync)
{% endif %}
