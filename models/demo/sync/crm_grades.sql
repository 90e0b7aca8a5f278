{#- The same sync with this package: a window on the data's clock, and an upsert in which the newest version wins. -#}
{{ config(unique_key='grade_id') }}

-- depends_on: {{ ref('grade_grades') }}
select
    gg.id as grade_id,
    gg.userid,
    gg.finalgrade,
    gg.timemodified
from {{ two_clocks.windowed(source('ods', 'grade_grades'), 'timemodified') }} as gg
