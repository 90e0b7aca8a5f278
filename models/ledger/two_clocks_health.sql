{{ config(materialized='view', pre_hook="{% if execute %}{% do two_clocks.ensure_ledger() %}{% endif %}") }}

-- One row per model and stream: is it alive, how far behind, how close to its look-back.
{{ two_clocks.health_sql() }}
