{#- The sync of that export. It casts without fear: what cannot be cast is in quarantine. -#}
{{ config(
    materialized='incremental',
    incremental_strategy='newest_wins',
    unique_key='grade_id',
    post_hook="{{ two_clocks.record_window() }}"
) }}

select
    export.id as grade_id,
    cast(export.finalgrade as numeric(10, 2)) as finalgrade,
    export.timemodified
from {{ two_clocks.windowed(ref('exam_export'), 'timemodified') }} as export
