{{ config(materialized='ephemeral') }}
{%- set read = two_clocks._read_duration(two_clocks._setting(none, 'lookback', '48 hours')) -%}
select {{ read.amount }} as seconds, {{ 1 if read.is_number else 0 }} as is_plain_number
