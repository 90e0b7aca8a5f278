{#- Every row that any load ever showed. In life nobody keeps this; the demo must know what could be delivered. -#}
{{ config(materialized='view') }}

with versions_at_load as (
    select
        loads.load_id,
        changes.*,
        row_number() over (partition by loads.load_id, changes.id order by changes.changed_at desc) as age
    from {{ ref('ods_loads') }} as loads
    inner join {{ ref('grade_changes') }} as changes
        on loads.data_through >= changes.changed_at
    where not loads.is_empty
)

select
    load_id,
    id,
    itemid,
    userid,
    rawgrade,
    finalgrade,
    timemodified
from versions_at_load
where age = 1
