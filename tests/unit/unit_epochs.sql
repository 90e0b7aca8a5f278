{{ config(materialized='ephemeral') }}
{%- set units = var('unit_epoch_units', 1) -%}
select
    id,
    {{ two_clocks.watermark_to_utc('moment', 'integer', units, none) }} as in_utc,
    {{ two_clocks.watermark_from_utc(two_clocks.watermark_to_utc('moment', 'integer', units, none), 'integer', units, none, 'bigint') }} as there_and_back
from {{ ref('unit_numbers') }}
