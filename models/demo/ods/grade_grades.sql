{#-
  The ODS as it looks at the wall clock: the full snapshot that the newest load brought. In life this table is somebody
  else's job; the syncs know it only as source('ods', 'grade_grades').
-#}
{{ config(materialized='table') }}

select
    id,
    itemid,
    userid,
    rawgrade,
    finalgrade,
    timemodified
from {{ ref('load_contents') }}
where load_id = (select max(load_log.load_id) from {{ ref('load_log') }} as load_log)
