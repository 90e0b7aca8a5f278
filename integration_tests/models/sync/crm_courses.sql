{{ config(unique_key='course_id') }}

select
    edits.course_id,
    edits.title,
    coalesce(edits.updated_at, edits.created_at) as changed_at
from {{ two_clocks.windowed(ref('course_edits'), 'coalesce(updated_at, created_at)', target_watermark='changed_at') }} as edits
