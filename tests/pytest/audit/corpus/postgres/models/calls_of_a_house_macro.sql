-- expect: at risk TC01
{{ config(unique_key='call_id') }}

select call_id, called_at
from {{ ref('stg_calls') }}
{{ recent_only('called_at') }}
