{#-
  Third remedy: run only once the nightly load is confirmed complete; the window ends at the moment of that confirmation, which
  is `now` for a sync that the load starts. It trusts the confirmation: a load that stalled, came late or came empty closes
  the window over rows that it did not bring.
-#}
{{ config(
    post_hook="update {{ this }} set synced_until = (
        select cast(extract(epoch from max(loads.loaded_at)) as bigint) from {{ source('ods', 'load_log') }} as loads
    )"
) }}

-- depends_on: {{ ref('grade_grades') }}
with this_window as (
    select cast(extract(epoch from max(loads.loaded_at)) as bigint) as watermark_to
    from {{ source('ods', 'load_log') }} as loads
)

select
    gg.id as grade_id,
    gg.userid,
    gg.finalgrade,
    gg.timemodified,
    this_window.watermark_to as synced_until
from {{ source('ods', 'grade_grades') }} as gg
cross join this_window
where gg.timemodified <= this_window.watermark_to
{% if is_incremental() %}
    -- without a new load the two ends are equal, and the run does nothing
    and gg.timemodified > (select max(sink.synced_until) from {{ this }} as sink)
{% endif %}
