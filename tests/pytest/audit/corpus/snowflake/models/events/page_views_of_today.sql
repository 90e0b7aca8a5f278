-- expect: loses rows TC01
select
    page_view_id,
    url,
    viewed_at::date as viewed_on
from {{ ref('stg_page_views') }}
where 1 = 1
{% if is_incremental() %}
    and viewed_at::date = current_date()
{% endif %}
