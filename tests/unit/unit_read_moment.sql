{{ config(materialized='ephemeral') }}
{%- set read = two_clocks._read_moment({'value': var('two_clocks_backfill_from', '2024-06-01'), 'name': 'two_clocks_backfill_from'}) -%}
select '{{ read.value }}' as moment, {{ 1 if read.is_date else 0 }} as is_date, {{ 1 if read.has_zone else 0 }} as has_zone
