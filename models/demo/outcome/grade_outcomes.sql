{#-
  What became of every grade in every sync, and of a lost one why, told from what the runs really did.
  All times are epoch seconds. A grade is lost where the sink misses it or holds an older version of it.
-#}
{{ config(materialized='table') }}

{%- set sync_order = [
    'crm_grades_wall_clock',
    'crm_grades_data_clock',
    'crm_grades_lookback',
    'crm_grades_after_load',
    'crm_grades',
] %}

with shown_versions as (
    -- every version that some load showed, and when it was first to be seen; NULL and future times are not due
    select
        contents.id as grade_id,
        contents.timemodified,
        min(cast(extract(epoch from loads.loaded_at) as bigint)) as shown_at
    from {{ ref('load_contents') }} as contents
    inner join {{ ref('load_log') }} as loads
        on contents.load_id = loads.load_id
    where contents.timemodified <= {{ two_clocks._epoch_now() }}
    group by
        contents.id,
        contents.timemodified
),

newest_versions as (
    select
        shown_versions.*,
        row_number() over (
            partition by shown_versions.grade_id order by shown_versions.timemodified desc
        ) as age
    from shown_versions
),

sinks as (
    {% for sync in sync_order %}
        select
            '{{ sync }}' as sync,
            sink.grade_id,
            sink.timemodified
        from {{ ref(sync) }} as sink
        {{ 'union all' if not loop.last }}
    {% endfor %}
),

syncs as (
    {% for sync in sync_order %}
        select '{{ sync }}' as sync
        {{ 'union all' if not loop.last }}
    {% endfor %}
),

outcomes as (
    select
        syncs.sync,
        expected.grade_id,
        expected.timemodified,
        expected.shown_at,
        sinks.timemodified as delivered_timemodified,
        coalesce(sinks.timemodified < expected.timemodified, true) as is_lost
    from newest_versions as expected
    cross join syncs
    left join sinks
        on
            syncs.sync = sinks.sync
            and expected.grade_id = sinks.grade_id
    where expected.age = 1
),

load_ends as (
    select
        loads.load_id,
        loads.rows_loaded,
        cast(extract(epoch from loads.data_through) as bigint) as carried_to
    from {{ source('ods', 'load_log') }} as loads
),

-- the run that moved the watermark to or past the grade: from then on, only a look-back could still read it
closing_windows as (
    select
        outcomes.sync,
        outcomes.grade_id,
        windows.run_at,
        windows.watermark_to,
        windows.ods_reached,
        windows.ods_furthest,
        windows.load_id,
        row_number() over (partition by outcomes.sync, outcomes.grade_id order by windows.run_at) as place
    from outcomes
    inner join {{ ref('sync_windows') }} as windows
        on
            outcomes.sync = windows.sync
            and outcomes.timemodified <= windows.watermark_to
    where outcomes.is_lost
),

-- the first run that could see the grade
first_windows as (
    select
        outcomes.sync,
        outcomes.grade_id,
        windows.run_at,
        windows.watermark_from,
        row_number() over (partition by outcomes.sync, outcomes.grade_id order by windows.run_at) as place
    from outcomes
    inner join {{ ref('sync_windows') }} as windows
        on
            outcomes.sync = windows.sync
            and outcomes.shown_at <= windows.run_at
    where outcomes.is_lost
),

-- the runs that did read it
reading_windows as (
    select
        outcomes.sync,
        outcomes.grade_id,
        min(windows.run_at) as read_at
    from outcomes
    inner join {{ ref('sync_windows') }} as windows
        on
            outcomes.sync = windows.sync
            and outcomes.shown_at <= windows.run_at
            and outcomes.timemodified >= windows.watermark_from
            and outcomes.timemodified <= windows.watermark_to
            -- the lower end is read by the package only
            and (outcomes.timemodified > windows.watermark_from or outcomes.sync = 'crm_grades')
    where outcomes.is_lost
    group by
        outcomes.sync,
        outcomes.grade_id
)

select
    outcomes.sync,
    outcomes.grade_id,
    outcomes.timemodified,
    outcomes.shown_at,
    outcomes.delivered_timemodified,
    outcomes.is_lost,
    closing.run_at as closed_at,
    closing.watermark_to as closed_to,
    closing.ods_reached as reached_then,
    closing.ods_furthest as furthest_then,
    load_ends.carried_to as load_carried_to,
    firsts.run_at as first_seen_at,
    firsts.watermark_from as first_seen_from,
    case
        when not outcomes.is_lost then null
        when reading.read_at is not null and outcomes.delivered_timemodified is not null then 'overwritten'
        when closing.sync is null then 'not_reached'
        when outcomes.sync = 'crm_grades_lookback' then 'lookback_too_short'
        when outcomes.sync = 'crm_grades_after_load' and load_ends.rows_loaded = 0 then 'load_empty'
        when outcomes.sync = 'crm_grades_after_load' and outcomes.timemodified > load_ends.carried_to then 'load_behind'
        when closing.ods_reached is null
            then case when outcomes.sync = 'crm_grades_data_clock' then 'no_clock' else 'ods_empty' end
        when outcomes.timemodified > closing.ods_reached and closing.watermark_to > closing.ods_reached
            then case when outcomes.sync = 'crm_grades_data_clock' then 'future_row' else 'closed_ahead' end
        when outcomes.timemodified = closing.watermark_to then 'tie'
        else 'late'
    end as reason
from outcomes
left join closing_windows as closing
    on
        outcomes.sync = closing.sync
        and outcomes.grade_id = closing.grade_id
        and closing.place = 1
left join first_windows as firsts
    on
        outcomes.sync = firsts.sync
        and outcomes.grade_id = firsts.grade_id
        and firsts.place = 1
left join reading_windows as reading
    on
        outcomes.sync = reading.sync
        and outcomes.grade_id = reading.grade_id
left join load_ends
    on closing.load_id = load_ends.load_id
