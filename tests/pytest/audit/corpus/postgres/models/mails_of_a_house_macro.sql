-- expect: safe
{{ config(unique_key='mail_id') }}

select mail_id, sent_at
from {{ ref('stg_mails') }}
{% if is_incremental() %}
where {{ since_target('sent_at', days=3) }}
{% endif %}
