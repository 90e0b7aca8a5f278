{#- Everything that happens in the scenario, in order. Two things of one moment: changes before loads before syncs. -#}
{{ config(materialized='view') }}

with events as (
    select
        changed_at as happens_at,
        1 as place,
        'change' as kind,
        id as number_of_it,
        story as what
    from {{ ref('grade_changes') }}
    where story is not null

    union all

    select
        loaded_at as happens_at,
        2 as place,
        'load' as kind,
        load_id as number_of_it,
        note as what
    from {{ ref('ods_loads') }}

    union all

    select
        run_at as happens_at,
        3 as place,
        'sync' as kind,
        run_id as number_of_it,
        null as what
    from {{ ref('sync_runs') }}
)

select
    happens_at,
    place,
    kind,
    number_of_it,
    what
from events
