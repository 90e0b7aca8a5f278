-- expect: safe
{{ config(unique_key='drug_id', incremental_strategy='delete+insert') }}

select drug_id, name from {{ ref('stg_drugs') }}
