-- expect: at risk TC09
{{ config(
    materialized='incremental',
    incremental_strategy='microbatch',
    event_time='measured_at',
    begin='2024-01-01',
    batch_size='hour',
    lookback=3
) }}

select device_id, measured_at, value
from {{ ref('stg_telemetry') }}
