"""`dbt source freshness` on the data's clock."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from support.project import Project, Run

NOW = "2024-06-03T12:00:00Z"
HOUR = 3600

# type, a value, arguments of the macro, its age in hours at NOW
CLOCKS: dict[str, tuple[str, Any, str, int]] = {
    "timestamp": ("timestamp", "2024-06-03 10:00", "", 2),
    "timestamp in a zone": ("timestamp", "2024-06-03 12:00", ", time_zone='Europe/Berlin'", 2),
    "timestamptz": ("timestamp with time zone", "2024-06-03 05:00-05", "", 2),
    "date": ("date", "2024-06-03", "", 12),
    "epoch s": ("bigint", 1717408800, "", 2),
    "epoch ms": ("bigint", 1717408800000, "", 2),
    "epoch us": ("bigint", 1717408800000000, "", 2),
    "small epoch": ("bigint", 400000000, ", epoch='s'", 365250),
}


def watch(project: Project, watermark: str = "stamp", more: str = "", table: str = "typed") -> None:
    sources = yaml.safe_load((project.directory / "models/sources.yml").read_text())
    for entry in sources["sources"][0]["tables"]:
        entry.pop("config", None)
        if entry["name"] == table:
            entry["config"] = {
                "loaded_at_query": f"{{{{ two_clocks.data_clock_query(this, '{watermark}'{more}) }}}}",
                "freshness": {
                    "warn_after": {"count": 24, "period": "hour"},
                    "error_after": {"count": 48, "period": "hour"},
                },
            }
    project.write("models/sources.yml", yaml.safe_dump(sources))


def freshness(project: Project, now: str | None = NOW) -> Run:
    run = project.dbt("source", "freshness", variables={"two_clocks_now": now} if now else None)
    assert run.result.exception is None, run.result.exception
    return run


def only(run: Run) -> Any:
    # the project's on-run-end line is a result too
    (result,) = [result for result in run.result.result.results if result.node.resource_type == "source"]
    return result


@pytest.mark.parametrize("zone", ["UTC", "America/Chicago"])
@pytest.mark.parametrize("name", CLOCKS)
def test_C66_the_age_is_right_for_every_kind_of_watermark(project: Project, name: str, zone: str) -> None:
    data_type, value, more, hours = CLOCKS[name]
    if zone != "UTC":
        project.warehouse.set_session_zone(zone)
        project.save_profile()
    project.source("typed", {"id": "integer", "stamp": data_type})
    project.feed((1, value), (2, None), table="typed", columns=("id", "stamp"))
    watch(project, more=more)
    run = freshness(project)
    if name == "small epoch":
        assert str(only(run).status) == "error" and only(run).age > 10 * 365 * 24 * HOUR
        return
    assert abs(only(run).age - hours * HOUR) < 5
    assert str(only(run).status) == "pass" and run.result.success


@pytest.mark.parametrize("data_type", ["timestamp", "timestamp with time zone", "date", "bigint"])
@pytest.mark.parametrize("rows", [[], [(1, None), (2, None)]])
def test_C66_no_clock_is_stale_never_fresh(project: Project, data_type: str, rows: list) -> None:
    project.source("typed", {"id": "integer", "stamp": data_type})
    project.feed(*rows, table="typed", columns=("id", "stamp"))
    watch(project)
    run = freshness(project)
    assert str(only(run).status) == "error"
    assert not run.result.success


@pytest.mark.parametrize(
    ("now", "status"),
    [("2024-06-04T09:00:00Z", "pass"), ("2024-06-04T11:00:00Z", "warn"), ("2024-06-05T11:00:00Z", "error")],
)
def test_the_status_follows_the_age(project: Project, now: str, status: str) -> None:
    project.source("typed", {"id": "integer", "stamp": "timestamp"})
    project.feed((1, "2024-06-03 10:00"), table="typed", columns=("id", "stamp"))
    watch(project)
    run = freshness(project, now)
    assert str(only(run).status) == status
    assert run.result.success == (status != "error")


def test_a_future_row_does_not_make_a_source_fresh(project: Project) -> None:
    project.source("typed", {"id": "integer", "stamp": "timestamp"})
    project.feed((1, "2024-05-01 10:00"), (2, "2031-01-01 00:00"), table="typed", columns=("id", "stamp"))
    watch(project)
    assert str(only(freshness(project)).status) == "error"


def test_against_the_engines_own_clock(project: Project) -> None:
    project.source("typed", {"id": "integer", "stamp": "timestamp with time zone"})
    project.warehouse.execute("""insert into "ods"."typed" select 1, current_timestamp - interval '3 hours'""")
    watch(project)
    run = freshness(project, now=None)
    assert abs(only(run).age - 3 * HOUR) < 60
    assert str(only(run).status) == "pass"


def test_a_view_and_an_expression(project: Project) -> None:
    project.source("typed", {"id": "integer", "stamp": "timestamp"})
    project.warehouse.execute("""create table ods.base (id integer, made timestamp, "changedAt" timestamp)""")
    project.warehouse.execute("insert into ods.base values (1, '2024-06-03 10:00', null)")
    project.warehouse.execute('drop table "ods"."typed"')
    project.warehouse.execute("create view ods.typed as select * from ods.base")
    watch(project, watermark='coalesce("changedAt", made)')
    assert abs(only(freshness(project)).age - 2 * HOUR) < 5


def test_a_condition_picks_the_rows(project: Project) -> None:
    project.source("typed", {"id": "integer", "stamp": "timestamp"})
    project.feed((1, "2024-06-01 10:00"), (2, "2024-06-03 10:00"), table="typed", columns=("id", "stamp"))
    watch(project, more=", filter='id = 1'")
    assert abs(only(freshness(project)).age - 50 * HOUR) < 5


def test_an_id_is_refused_with_the_way_out(project: Project) -> None:
    project.source("typed", {"id": "integer", "stamp": "timestamp"})
    project.feed((1, "2024-06-01 10:00"), table="typed", columns=("id", "stamp"))
    watch(project, watermark="id")
    run = freshness(project)
    assert not run.result.success
    assert "counts ids" in str(only(run).message)
