{{ config(materialized='ephemeral') }}
-- stands for a source of epochs in the unit tests, which replace its rows
select cast(null as integer) as id, cast(null as bigint) as moment
