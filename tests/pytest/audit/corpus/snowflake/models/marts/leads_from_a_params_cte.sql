-- expect: at risk TC01
{{ config(unique_key='lead_id') }}

with params as (
    select
        {% if is_incremental() %}
        dateadd(day, -7, current_date) as from_date
        {% else %}
        '2000-01-01'::date as from_date
        {% endif %}
)

select lead.lead_id, lead.stage, lead.modified_at
from {{ ref('stg_leads') }} as lead
inner join params
    on lead.modified_at >= params.from_date
