"""Forms that people publish, in many dialects: the bad ones are found and the good ones left alone, file by file."""

from __future__ import annotations

import pytest

from two_clocks.audit.one_file import findings_of

HEAD = "{{ config(materialized='incremental', unique_key='id') }}\n"
START = "select id, updated_at from {{ ref('a') }}\n"
GOOD = [
    (
        "snowflake",
        START
        + "{% if is_incremental() %} where updated_at >= coalesce((select dateadd(day,-2,max(updated_at)) from {{ this }}), '1900-01-01') {% endif %}",
    ),
    (
        "postgres",
        "with src as (select * from {{ ref('a') }} where valid_to > now()), x as (select * from src {% if is_incremental() %} where updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }}) {% endif %}) select id, updated_at from x",
    ),
    (
        "postgres",
        "select a.id, a.updated_at from {{ ref('a') }} a join {{ ref('cal') }} c on c.day <= current_date and c.day = a.day {% if is_incremental() %} where a.updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }}) {% endif %}",
    ),
    (
        "bigquery",
        START
        + "{% if is_incremental() %} where updated_at >= (select coalesce(timestamp_sub(max(updated_at), interval 3 day), timestamp('1900-01-01')) from {{ this }}) {% endif %} qualify row_number() over (partition by id order by updated_at desc) = 1",
    ),
    (
        "bigquery",
        "{% set max_q %} select coalesce(timestamp_sub(max(updated_at), interval 1 day), timestamp('1970-01-01')) from {{ this }} {% endset %}\n"
        + START
        + "{% if is_incremental() %} where updated_at >= ({{ max_q }}) {% endif %}",
    ),
    (
        "bigquery",
        "{% if is_incremental() %}{% set mx = dbt_utils.get_single_value('select timestamp_sub(coalesce(max(updated_at), timestamp(\"1970-01-02\")), interval 1 day) from ' ~ this) %}{% endif %}"
        + START
        + "{% if is_incremental() %} where updated_at >= '{{ mx }}' {% endif %}",
    ),
    (
        "snowflake",
        "select id, updated_at, current_timestamp() as dbt_loaded_at from {{ ref('a') }}\n{% if is_incremental() %} where updated_at >= (select dateadd(day,-2,coalesce(max(updated_at),'1900-01-03'::timestamp)) from {{ this }}) {% endif %}",
    ),
    (
        "snowflake",
        "select id, updated_at from {{ ref('a') }} {% if is_incremental() %} where id not in (select distinct id from {{ this }}) and created_at < current_date {% endif %}",
    ),
    (
        "postgres",
        "select s.id, s.updated_at from {{ ref('a') }} s {% if is_incremental() %} left join {{ this }} t using (id) where t.id is null or s.updated_at <> t.updated_at {% endif %}",
    ),
    (
        "postgres",
        "select s.id, s.updated_at from {{ ref('a') }} s {% if is_incremental() %} left join {{ this }} t on s.id = t.id where t.id is null or s.updated_at > t.updated_at {% endif %}",
    ),
    (
        "databricks",
        "select id, max(updated_at) as updated_at from {{ ref('a') }} group by id {% if is_incremental() %} having max(updated_at) >= (select coalesce(max(updated_at), timestamp '1900-01-03') - interval 2 days from {{ this }}) {% endif %}",
    ),
    (
        "snowflake",
        "select id, ts::date as day, count(*) as n, max(ts) as ts from {{ ref('a') }} {% if is_incremental() %} where ts::date >= (select dateadd(day,-1,coalesce(max(day), '1900-01-02'::date)) from {{ this }}) {% endif %} group by 1,2",
    ),
    (
        "snowflake",
        "{% if is_incremental() %} with recent as (select id from {{ ref('b') }} where updated_at >= (select coalesce(max(updated_at),'1900-01-03')::timestamp - interval '2 days' from {{ this }})) {% endif %} select a.id, a.updated_at from {{ ref('a') }} a {% if is_incremental() %} where a.id in (select id from recent) {% endif %}",
    ),
    (
        "postgres",
        "-- depends_on: {{ ref('x') }}\n"
        + START
        + "where updated_at < date_trunc('day', now())\n{% if is_incremental() %} and updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }}) {% endif %}",
    ),
    (
        "snowflake",
        START
        + "{% if is_incremental() %}\nwhere updated_at >= (select iff(max(updated_at) is null, '1900-01-01'::timestamp, dateadd(day, -3, max(updated_at))) from {{ this }})\n{% endif %}",
    ),
    (
        "tsql",
        START
        + "{% if is_incremental() %}\nwhere updated_at >= (select dateadd(day, -3, isnull(max(updated_at), '1900-01-04')) from {{ this }})\n{% endif %}",
    ),
    (
        "clickhouse",
        START
        + "{% if is_incremental() %}\nwhere updated_at >= (select max(updated_at) - toIntervalDay(2) from {{ this }})\n{% endif %}",
    ),
    (
        "postgres",
        START
        + "{% if is_incremental() %}\nwhere updated_at >= (select max(updated_at) from {{ this }}) - interval '2 days' or (select count(*) from {{ this }}) = 0\n{% endif %}",
    ),
    (
        "redshift",
        START
        + "{% if is_incremental() %}\nwhere updated_at >= dateadd(hour, -24, (select nvl(max(updated_at), '1900-01-02') from {{ this }}))\n{% endif %}",
    ),
]

BAD = [
    ("where _PARTITIONTIME >= TIMESTAMP_TRUNC(TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 3 DAY), DAY)", "bigquery"),
    ("where date(updated_at) = date_sub(current_date('America/New_York'), interval 1 day)", "bigquery"),
    ("where updated_at >= date_trunc('day', current_timestamp) - interval '3 days'", "postgres"),
    ("where updated_at::date >= (current_timestamp at time zone 'UTC')::date - 2", "postgres"),
    ("where updated_at > convert_timezone('UTC', getdate()) - interval '2 day'", "redshift"),
    ("where updated_at >= to_timestamp_ntz(sysdate()) - interval '2 days'", "snowflake"),
    ("where updated_at >= dateadd(day, -{{ var('days', 3) }}, current_date)", "snowflake"),
    (
        "where updated_at >= '{{ (modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(hours=6)).strftime(\"%Y-%m-%d\") }}'",
        "snowflake",
    ),
    ("where updated_at > unix_timestamp() - 86400", "databricks"),
    ("where updated_at > (unix_timestamp(current_timestamp()) - 3600)", "databricks"),
    ("where updated_at >= date_format(date_sub(current_date(), 1), 'yyyy-MM-dd')", "databricks"),
    ("where to_date(updated_at) >= current_date() - interval 2 days", "databricks"),
    ("where updated_at >= toStartOfDay(now() - interval 2 day)", "clickhouse"),
    ("where updated_at >= now() - toIntervalDay(2)", "clickhouse"),
    ("where updated_at > DATEADD(hour, -1, SYSUTCDATETIME())", "tsql"),
    ("where updated_at >= cast(getdate() - 1 as date)", "tsql"),
    ("where updated_at >= trunc(sysdate) - 1", "oracle"),
    ("where updated_at >= current_date - interval '1' day", "trino"),
    ("where updated_at >= date_add('day', -3, current_date)", "trino"),
    ("where updated_at >= now() - interval 3 day", "mysql"),
    ("where updated_at >= date_sub(now(), interval 3 day)", "mysql"),
    ("where updated_at >= date_sub(curdate(), interval 3 day)", "mysql"),
    ("where updated_at >= {{ dbt.date_trunc('day', dbt.current_timestamp()) }}", "postgres"),
    ("where updated_at >= {{ dbt_utils.dateadd('day', -3, 'current_date') }}", "postgres"),
    ("where {{ dbt.datediff('updated_at', dbt.current_timestamp(), 'day') }} <= 3", "postgres"),
    ("qualify updated_at >= current_date - 3", "snowflake"),
]


def codes(text: str, dialect: str) -> list[str]:
    return sorted({finding.rule for finding in findings_of(HEAD + text, "", dialect)})


@pytest.mark.parametrize(("dialect", "text"), GOOD)
def test_good_forms_are_left_alone(dialect: str, text: str) -> None:
    assert codes(text, dialect) == []


@pytest.mark.parametrize(("condition", "dialect"), BAD)
def test_wall_clock_forms_are_found(condition: str, dialect: str) -> None:
    assert codes(START + "{% if is_incremental() %} " + condition + " {% endif %}", dialect) == ["TC01"]
