"""What the audit understands of a window, and what it must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from two_clocks.audit.run import audit_paths
from two_clocks.errors import CannotRun

from .conftest import Shop

GOOD = "updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }})"


def incremental(condition: str, before: str = "", columns: str = "id, updated_at") -> str:
    return f"{before}select {columns} from {{{{ ref('a') }}}}\n{{% if is_incremental() %}}\nwhere {condition}\n{{% endif %}}\n"


@pytest.mark.parametrize(
    ("dialect", "clock"),
    [
        ("postgres", "now()"),
        ("postgres", "current_timestamp"),
        ("postgres", "clock_timestamp()"),
        ("postgres", "localtimestamp"),
        ("snowflake", "sysdate()"),
        ("snowflake", "current_timestamp()"),
        ("snowflake", "getdate()"),
        ("bigquery", "current_timestamp()"),
        ("bigquery", "current_datetime('UTC')"),
        ("redshift", "getdate()"),
        ("redshift", "sysdate"),
        ("databricks", "current_timestamp()"),
        ("databricks", "now()"),
        ("clickhouse", "now()"),
        ("clickhouse", "now64(3)"),
        ("trino", "current_timestamp"),
        ("tsql", "getutcdate()"),
        ("tsql", "sysutcdatetime()"),
        ("mysql", "utc_timestamp()"),
        ("oracle", "systimestamp"),
        ("duckdb", "get_current_timestamp()"),
        ("duckdb", "today()"),
        ("postgres", "{{ current_timestamp() }}"),
        ("postgres", "{{ dbt.current_timestamp() }}"),
        ("postgres", "{{ dbt_utils.current_timestamp() }}"),
        ("postgres", "{{ dbt_date.now() }}"),
        ("postgres", "{{ dbt_date.n_days_ago(0) }}"),
        ("postgres", "'{{ run_started_at }}'"),
        ("postgres", "'{{ run_started_at.strftime(\"%Y-%m-%d\") }}'::timestamp"),
        ("postgres", "'{{ modules.datetime.datetime.now() }}'"),
        ("postgres", "'{{ modules.datetime.datetime.utcnow().isoformat() }}'"),
        ("postgres", "'{{ var(\"start\", run_started_at) }}'"),
    ],
)
def test_every_way_to_ask_the_wall_clock(shop: Shop, dialect: str, clock: str) -> None:
    report = shop.report(incremental(f"updated_at >= {clock}"), dialect)
    assert report.verdict == "loses rows"
    assert {finding.rule for finding in report.findings} == {"TC01"}
    assert report.line == 3


@pytest.mark.parametrize(
    ("dialect", "condition", "lookback"),
    [
        ("postgres", "updated_at >= now() - interval '3 days'", "3 days"),
        ("postgres", "updated_at >= now() - '36 hours'::interval", "36 hours"),
        ("postgres", "updated_at > current_date - 2", "2 days"),
        ("postgres", "now() - interval '3 days' <= updated_at", "3 days"),
        ("postgres", "updated_at + interval '3 days' >= now()", "3 days"),
        ("postgres", "not (updated_at < now() - interval '3 days')", "3 days"),
        ("postgres", "updated_at between now() - 2 * interval '1 day' and now()", "2 days"),
        ("snowflake", "updated_at >= dateadd('day', -3, current_date)", "3 days"),
        ("snowflake", "updated_at >= timestampadd(hour, -48, current_timestamp())", "2 days"),
        ("snowflake", "updated_at::date >= current_date() - 3", "3 days"),
        ("bigquery", "date(updated_at) >= date_sub(current_date(), interval 3 day)", "3 days"),
        ("bigquery", "updated_at >= timestamp_add(current_timestamp(), interval -3 day)", "3 days"),
        ("databricks", "updated_at >= date_add(current_date(), -3)", "3 days"),
        ("databricks", "datediff(current_date(), updated_at) <= 3", "3 days"),
        ("clickhouse", "updated_at >= subtractDays(now(), 3)", "3 days"),
        ("clickhouse", "updated_at >= addDays(today(), -3)", "3 days"),
        ("tsql", "updated_at >= dateadd(day, -3, getdate())", "3 days"),
        ("oracle", "updated_at >= sysdate - 3", "3 days"),
        ("postgres", "updated_at >= {{ dbt.dateadd('day', -3, dbt.current_timestamp()) }}", "3 days"),
        ("postgres", "updated_at >= {{ dbt_date.n_days_ago(3) }}", "3 days"),
        ("postgres", "updated_at >= '{{ run_started_at - modules.datetime.timedelta(days=3) }}'", "3 days"),
    ],
)
def test_how_far_a_wall_clock_window_reaches(shop: Shop, dialect: str, condition: str, lookback: str) -> None:
    report = shop.report(incremental(condition), dialect)
    assert report.verdict == "at risk"
    assert report.lookback == f"{lookback}, counted from the wall clock"
    assert "TC01" in {finding.rule for finding in report.findings}


@pytest.mark.parametrize(
    "text",
    [
        incremental(GOOD),
        incremental(GOOD).replace("where", "where created_at < now() and"),
        "select id, updated_at from {{ ref('a') }} where created_at < now()\n{% if is_incremental() %} and "
        + GOOD
        + "{% endif %}",
        incremental(GOOD, columns="id, updated_at, now() as built_at, case when due < now() then 1 end as late"),
        incremental(GOOD, before="-- where updated_at >= now()\n{# where updated_at >= now() #}\n"),
        incremental(f"{GOOD} and note <> 'now() - 3'"),
        incremental(
            "updated_at >= (select max(updated_at) - interval '1 day' from {{ this }}) or not exists (select 1 from {{ this }})"
        ),
        incremental(
            "updated_at >= (select max(updated_at) - interval '1 day' from {{ this }}) or (select max(updated_at) from {{ this }}) is null"
        ),
        incremental(
            "updated_at >= (select case when max(updated_at) is null then '1900-01-01' else max(updated_at) - interval '1 day' end from {{ this }})"
        ),
        incremental("updated_at >= now() - interval '400 days'").replace("where", "where " + GOOD + " and"),
        incremental("id not in (select id from {{ this }})"),
        incremental("updated_at >= '2020-01-01'"),
        "select id, updated_at from {{ ref('a') }}\n{% if not is_incremental() %} where updated_at >= current_date {% endif %}",
        "select id, updated_at from {{ ref('a') }}\n{% if is_incremental() %} where "
        + GOOD
        + " {% else %} where updated_at > now() - interval '1 day' {% endif %}",
        "select id, updated_at from {{ ref('a') }} {% if target.name == 'dev' %} where updated_at > current_date {% endif %} {% if is_incremental() %} where "
        + GOOD
        + "{% endif %}",
    ],
)
def test_what_is_nobodys_business(shop: Shop, text: str) -> None:
    report = shop.report(text)
    assert [finding.rule for finding in report.findings] == []
    assert report.verdict == "safe"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # through a CTE, a join and an alias
        (
            "with b as (select max(updated_at) as top from {{ this }})\nselect a.id, a.updated_at from {{ ref('a') }} a cross join b where a.updated_at > b.top",
            {"TC02", "TC03"},
        ),
        (
            "select s.id, s.changed as updated_at from {{ ref('a') }} s {% if is_incremental() %} where s.changed > (select max(updated_at) from {{ this }}) {% endif %}",
            {"TC02", "TC03"},
        ),
        # newest by order and limit
        (
            incremental("updated_at > (select updated_at from {{ this }} order by updated_at desc limit 1)"),
            {"TC02", "TC03"},
        ),
        # later than all of them
        (incremental("updated_at > all (select updated_at from {{ this }})"), {"TC03"}),
        # the watermark of a run_query in the template
        (
            "{% set top = run_query('select max(updated_at) from ' ~ this).columns[0][0] %}\n"
            + incremental("updated_at > '{{ top }}'"),
            {"TC02", "TC03"},
        ),
        # the clock on the stored side, in part only
        (incremental(GOOD, columns="id, greatest(updated_at, now()) as updated_at"), {"TC05"}),
        (incremental(GOOD, columns="id, least(updated_at, now()) as updated_at"), set()),
        # both at once: the clock still cuts
        (incremental(f"{GOOD} and updated_at >= now() - interval '7 days'"), {"TC01"}),
        # in the loop of a template, in a macro of the file, in a set block
        (incremental("{% for c in ['updated_at'] %}{{ c }} >= now() - interval '2 days'{% endfor %}"), {"TC01"}),
        (
            "{% macro recent() %}updated_at >= now() - interval '2 days'{% endmacro %}\n"
            + incremental("{{ recent() }}"),
            {"TC01"},
        ),
        ("{% set cut %}now() - interval '2 days'{% endset %}\n" + incremental("updated_at >= {{ cut }}"), {"TC01"}),
        (
            "{% set inc = is_incremental() %}\nselect id, updated_at from {{ ref('a') }} {% if inc %} where updated_at >= now() - interval '2 days' {% endif %}",
            {"TC01"},
        ),
        (
            "select id, updated_at from {{ ref('a') }} {{ \"where updated_at >= now() - interval '2 days'\" if is_incremental() }}",
            {"TC01"},
        ),
        # a template that cannot be run is read all the same
        ("{{ 1 / 0 }}\n" + incremental("updated_at > (select max(updated_at) from {{ this }})"), {"TC02", "TC03"}),
    ],
)
def test_it_follows_values(rules: Callable[..., set[str]], text: str, expected: set[str]) -> None:
    assert rules(text) == expected


def test_bounds_are_reported(shop: Shop) -> None:
    report = shop.report(
        incremental("updated_at >= (select max(updated_at) - interval '3 days' from {{ this }}) and updated_at < now()")
    )
    assert report.unique_key == ["id"]
    assert report.watermark == "updated_at"
    assert report.lower_bound == "updated_at >= (select max(updated_at) - interval '3 days' from {{ this }})"
    assert report.upper_bound == "updated_at < now()"
    assert report.lookback == "3 days"


def test_configuration_comes_from_every_place(shop: Shop) -> None:
    text = "select id, updated_at from {{ ref('a') }} {% if is_incremental() %} where " + GOOD + "{% endif %}"
    shop.write(
        "dbt_project.yml",
        "name: shop\nprofile: shop\nmodels:\n  shop:\n    deep:\n      +materialized: incremental\n      down:\n        +incremental_strategy: append\n",
    )
    shop.write("models/deep/m.yml", "models:\n  - name: keyed\n    config: {unique_key: [id, part]}\n")
    shop.write("models/deep/keyed.sql", text)
    shop.write("models/deep/bare.sql", text)
    shop.write("models/deep/down/appended.sql", "{{ config(unique_key='id') }}" + text)
    shop.write("models/plain.sql", text)
    shop.write("models/off.sql", "{{ config(materialized='incremental', enabled=false) }}" + text)
    found = {report.name: report for report in shop.audit().reports}
    assert set(found) == {"keyed", "bare", "appended"}
    assert found["keyed"].unique_key == ["id", "part"] and found["keyed"].verdict == "safe"
    assert [f.rule for f in found["bare"].findings] == ["TC04"]
    assert [f.rule for f in found["appended"].findings] == ["TC04"]


def test_microbatch_speaks_of_the_outage(shop: Shop) -> None:
    text = "{{ config(incremental_strategy='microbatch', event_time='ts', batch_size='hour', begin='2024-01-01') }} select id, ts from {{ ref('a') }}"
    report = shop.report(text)
    assert (report.kind, report.verdict) == ("microbatch", "at risk")
    assert "1 hour before it, counted from the wall clock" in report.reason
    assert "--event-time-start" in report.change


def test_snapshots_of_both_kinds(shop: Shop) -> None:
    shop.write(
        "snapshots/two.sql",
        "{% snapshot one %}{{ config(strategy='check', unique_key='id') }} select * from {{ ref('a') }}{% endsnapshot %}\n\n{% snapshot two %}\nselect * from {{ ref('a') }}\nwhere updated_at > current_date - 2\n{% endsnapshot %}\n",
    )
    shop.write(
        "snapshots/three.yml",
        "snapshots:\n  - name: three\n    relation: ref('a')\n    config: {strategy: timestamp, updated_at: changed_at, unique_key: id}\n",
    )
    found = {report.name: report for report in shop.audit().reports}
    assert {name: report.verdict for name, report in found.items()} == {
        "one": "safe",
        "two": "at risk",
        "three": "safe",
    }
    assert found["two"].line == 5
    assert found["three"].watermark == "changed_at"


def test_what_could_not_be_judged_says_why(shop: Shop) -> None:
    cases = {
        "models/a.sql": incremental("{{ mystery.window('updated_at') }}"),
        "models/b.sql": "{{ mystery.everything() }}",
        "models/c.sql": incremental("updated_at >= '{{ var('from_outside') }}'"),
        "models/d.sql": incremental("id in (select id from {{ ref('changed') }})"),
        "models/e.sql": "select from where {% if is_incremental() %} )( {% endif %}",
        "models/f.py": "def model(dbt, session):\n    dbt.config(materialized='incremental')\n",
        "models/g.sql": incremental("updated_at > (select last_value from {{ ref('watermarks') }})"),
    }
    for path, text in cases.items():
        shop.write(path, text)
    found = {report.path: report for report in shop.audit().reports}
    assert set(found) == set(cases)
    assert {report.verdict for report in found.values()} == {"not judged"}
    assert "mystery.window()" in found["models/a.sql"].reason
    assert "mystery.everything()" in found["models/b.sql"].reason
    assert "var('from_outside')" in found["models/c.sql"].reason
    assert "watermarks" in found["models/g.sql"].reason
    assert all(len(report.reason) > 30 for report in found.values())


def test_unknown_macros_elsewhere_do_not_matter(shop: Shop) -> None:
    text = "{{ config(pre_hook=mystery.hook()) }}\n{{ mystery.header() }}\nselect id, {{ mystery.column('x') }} as x, updated_at, {{ mystery.columns() }}\nfrom {{ mystery.table('t') }} as t\n"
    report = shop.report(text + "{% if is_incremental() %} where " + GOOD + " {% endif %}\n{{ mystery.limit() }}\n")
    assert report.verdict == "safe", report.reason


def test_silencing_takes_a_reason(shop: Shop) -> None:
    text = incremental("updated_at >= now()")
    silenced = shop.report("-- two_clocks: ignore TC01 because the feed is thrown away daily\n" + text)
    assert silenced.verdict == "safe"
    assert [f.reason_to_ignore for f in silenced.silenced] == ["the feed is thrown away daily"]
    bare = shop.report("-- two_clocks: ignore TC01\n" + text)
    assert bare.verdict == "loses rows"
    assert "gives no reason" in bare.notes[0]
    by_meta = shop.report("{{ config(meta={'two_clocks_ignore': {'TC01': 'known'}}) }}\n" + text)
    assert by_meta.verdict == "safe"


def test_paths(shop: Shop, tmp_path: Path) -> None:
    shop.write("models/a/one.sql", incremental(GOOD))
    shop.write("models/b/two.sql", incremental(GOOD))

    def names(*paths: str) -> list[str]:
        audits = audit_paths([shop.root / path for path in paths], "postgres")
        return sorted(report.name for audit in audits for report in audit.reports)

    assert names("") == ["one", "two"]
    assert names("models/a") == ["one"]
    assert names("models/b/two.sql") == ["two"]
    assert names("models/a/one.sql", "models/b") == ["one", "two"]
    assert names("models/a/one.sql", "dbt_project.yml") == ["one", "two"]
    assert names("..") == ["one", "two"]
    with pytest.raises(CannotRun, match=r"no dbt_project\.yml"):
        audit_paths([_empty(tmp_path)])
    with pytest.raises(CannotRun, match="no file or folder"):
        audit_paths([tmp_path / "absent"])


def _empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_a_comparison_inside_coalesce_is_guarded(rules: Callable[..., set[str]]) -> None:
    assert rules(incremental("coalesce(updated_at > (select max(updated_at) from {{ this }}), true)")) == {"TC03"}
    assert rules(incremental("coalesce(updated_at > (select max(updated_at) from {{ this }}), false)")) == {
        "TC02",
        "TC03",
    }


def test_folders_may_be_templates(shop: Shop) -> None:
    text = "name: shop\nprofile: shop\nmodels: {shop: {+materialized: incremental, +unique_key: id}}\nmodel-paths: "
    shop.write("one/models/a.sql", incremental(GOOD))
    shop.write("two/models/b.sql", incremental(GOOD))
    for folder, found in {
        "{{ 'one/models' if target.profile_name == 'shop' else 'none' }}": ["a"],
        "{{ 'one/models' if target.profile_name == 'other' else 'none' }}": [],
        "{{ env_var('SYNC', 'nowhere') }}/models": ["a", "b"],
        "{{ env_var('SYNC', 'two') }}/models": ["b"],
    }.items():
        shop.write("dbt_project.yml", text + '["' + folder + '"]\n')
        assert [report.name for report in shop.audit().reports] == found, folder
