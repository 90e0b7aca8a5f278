{{ config(materialized='ephemeral') }}
{%- set hours = {'amount': var('unit_lookback_hours', 48) * 3600} -%}
{%- set pieces = {'amount': var('unit_max_window_hours') * 3600} if var('unit_max_window_hours', none) else none -%}
select
    cast(source_watermark as timestamp) as source_watermark,
    cast(target_watermark as timestamp) as target_watermark,
    cast(window_from as timestamp) as window_from,
    cast(window_to as timestamp) as window_to,
    source_is_behind
from (
    {{ two_clocks.clocks_sql(
        {'relation': ref('unit_feed'), 'watermark': 'changed_at', 'lookback': hours, 'max_window': pieces, 'now': '2024-06-03 12:00:00.000000',
         'time_zone': none, 'data_clock': none, 'backfill': none, 'stream': none, 'target_filter': none, 'nulls': 'exclude'},
        {'sql': 'changed_at', 'kind': 'timestamp', 'type': 'timestamp', 'units_per_second': none},
        {'relation': ref('unit_sink'), 'sql': 'changed_at', 'filter': none},
        none, none, none) }}
) as clocks
