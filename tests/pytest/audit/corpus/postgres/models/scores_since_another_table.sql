-- expect: loses rows TC01
{{ config(unique_key='score_id') }}

select score_id, scored_at
from {{ ref('stg_scores') }}
{% if is_incremental() %}
where scored_at > (select last_run_at from {{ ref('sync_state') }})
    and scored_at <= now()
{% endif %}
