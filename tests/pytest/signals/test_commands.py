"""two-clocks check, status and lookback, as an orchestrator and a person meet them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from support.project import Project

from two_clocks.cli import main

from .conftest import Guarded
from .test_streak import BLIND_SINK, day


def two_clocks(project: Project, *arguments: str, now: str | None = None) -> Result:
    more = ["--vars", f"{{two_clocks_now: '{now}'}}"] if now else []
    place = ["--project-dir", str(project.directory), "--profiles-dir", str(project.directory)]
    result = CliRunner().invoke(main, [arguments[0], *place, *more, *arguments[1:]])
    project.warehouse.after_dbt()
    return result


def found(result: Result) -> list[dict[str, Any]]:
    return json.loads(result.stdout)["findings"]


def flow(guarded: Guarded, first: int, last: int) -> None:
    for number in range(first, last + 1):
        guarded.project.feed((number, "x", f"2024-06-{number:02} 10:00"))
        guarded.run(day(number))


@pytest.mark.any_engine
def test_check_is_quiet_and_0_while_all_is_well(guarded: Guarded) -> None:
    flow(guarded, 1, 4)
    result = two_clocks(guarded.project, "check", now=day(4))
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "1 model checked: nothing found." in result.stderr


@pytest.mark.any_engine
def test_check_names_models_without_any_test(guarded: Guarded) -> None:
    flow(guarded, 1, 1)
    for number in (2, 3, 4):
        guarded.run(day(number))
    result = two_clocks(guarded.project, "check", now=day(4))
    assert result.exit_code == 1
    (line, total) = result.stderr.splitlines()
    assert line.startswith(
        "ERROR stood_still  model sink, window [2024-05-30 10:00:00, 2024-06-01 10:00:00]: 3 windows in a row"
    )
    assert "To do: ask the job that loads" in line
    assert total == "1 model checked: 1 error, 0 warnings."


@pytest.mark.any_engine
def test_check_as_json(guarded: Guarded) -> None:
    guarded.project.model("sink", BLIND_SINK)
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    for number in (2, 3, 4):
        guarded.project.feed((number, "renamed upstream", f"2024-06-0{number} 10:00"))
        guarded.run(day(number))
    result = two_clocks(guarded.project, "check", "--json", now=day(4))
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False and report["models"] == ["model.consumer.sink"]
    (finding,) = report["findings"]
    assert (finding["level"], finding["signal"], finding["model"], finding["stream"]) == (
        "error",
        "blind",
        "model.consumer.sink",
        None,
    )
    assert finding["window"].startswith("window [")
    assert finding["what_to_do"].startswith("compare the filters and joins")


@pytest.mark.any_engine
def test_check_knows_models_that_never_ran(guarded: Guarded) -> None:
    result = two_clocks(guarded.project, "check", "--json", now=day(1))
    assert result.exit_code == 1
    assert [finding["signal"] for finding in found(result)] == ["never_ran"]


@pytest.mark.any_engine
def test_check_names_failures_that_no_success_followed(guarded: Guarded) -> None:
    flow(guarded, 1, 2)
    guarded.project.model(
        "sink",
        BLIND_SINK.replace("note,", "id / 0 as note,")
        .replace("note <>", "'x' <>")
        .replace("id / 0", "cast('x' as integer)"),
    )
    guarded.project.feed((3, "x", "2024-06-03 10:00"))
    assert not guarded.project.attempt(now=day(3)).result.success
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(3)))
    assert finding["signal"] == "open_failures"
    assert finding["what_happened"].startswith("1 window failed since the last success:")


def test_check_names_a_source_that_went_back_at_once(guarded: Guarded) -> None:
    flow(guarded, 1, 3)
    guarded.warehouse.execute('delete from "ods"."feed" where id > 1')
    guarded.run(day(4))
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(4)))
    assert finding["signal"] == "went_back"
    assert (
        "its newest watermark is 2024-06-01 10:00:00, while the target already holds 2024-06-03 10:00:00"
        in finding["what_happened"]
    )


@pytest.mark.any_engine
def test_check_names_a_source_that_holds_nothing_any_more(guarded: Guarded) -> None:
    flow(guarded, 1, 3)
    guarded.warehouse.execute('delete from "ods"."feed"')
    guarded.run(day(4))
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(4)))
    assert finding["signal"] == "went_back" and "its newest watermark is none" in finding["what_happened"]


@pytest.mark.parametrize("act", ["delete from sync.sink", "drop table sync.sink cascade"])
def test_a_table_that_was_emptied_by_hand_is_named_before_the_next_run(guarded: Guarded, act: str) -> None:
    flow(guarded, 1, 3)
    guarded.warehouse.execute(act)
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(3)))
    assert finding["signal"] == "emptied" and finding["level"] == "error"
    assert "though its windows have stored 3 rows" in finding["what_happened"]
    assert "emptied" in two_clocks(guarded.project, "status", now=day(3)).stderr
    guarded.run(day(4))
    assert found(two_clocks(guarded.project, "check", "--json", now=day(4))) == []


@pytest.mark.any_engine
def test_check_measures_lag_where_asked(guarded: Guarded) -> None:
    flow(guarded, 1, 2)
    assert two_clocks(guarded.project, "check", "--max-lag", "3 days", now=day(5, 9)).exit_code == 0
    (finding,) = found(two_clocks(guarded.project, "check", "--json", "--max-lag", "2 days", now=day(5, 9)))
    assert finding["signal"] == "lag" and "it is 2 days behind the wall clock" in finding["what_happened"]


@pytest.mark.any_engine
def test_limits_of_one_model_stand_in_its_meta_or_in_its_own_test(guarded: Guarded) -> None:
    flow(guarded, 1, 1)
    for number in (2, 3, 4):
        guarded.run(day(number))
    assert two_clocks(guarded.project, "check", "--max-windows", "9", now=day(4)).exit_code == 0

    guarded.guard({"no_empty_window_streak": {"max_windows": 9}})
    assert two_clocks(guarded.project, "check", now=day(4)).exit_code == 0
    guarded.guard({"no_empty_window_streak": {"max_windows": 2}})
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(4)))
    assert finding["signal"] == "no_empty_window_streak" and "the source stood still" in finding["what_happened"]

    guarded.project.write(
        "models/sync/sink.yml",
        yaml.safe_dump({"version": 2, "models": [{"name": "sink", "config": {"meta": {"two_clocks_max_windows": 9}}}]}),
    )
    assert two_clocks(guarded.project, "check", now=day(4)).exit_code == 0


@pytest.mark.any_engine
def test_check_runs_declared_tests_and_says_their_sentences(guarded: Guarded) -> None:
    guarded.guard(
        {"nothing_lost": {"source_relation": "source('ods', 'feed')", "unique_key": "id", "watermark": "changed_at"}}
    )
    flow(guarded, 1, 3)
    guarded.warehouse.execute("delete from sync.sink where id = 2")
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(3)))
    assert finding["signal"] == "nothing_lost"
    assert finding["what_happened"].startswith("the source row 2,")


@pytest.mark.any_engine
def test_a_warning_alone_fails_nothing_unless_asked(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak", severity="warn")
    flow(guarded, 1, 1)
    for number in (2, 3, 4):
        guarded.run(day(number))
    result = two_clocks(guarded.project, "check", now=day(4))
    assert result.exit_code == 0 and result.stderr.startswith("WARN ")
    assert two_clocks(guarded.project, "check", "--fail-on-warn", now=day(4)).exit_code == 1


def test_check_measures_the_freshness_of_the_sources_that_are_read(guarded: Guarded) -> None:
    file = guarded.project.directory / "models/sources.yml"
    sources = yaml.safe_load(file.read_text())
    sources["sources"][0]["tables"][0]["config"] = {
        "loaded_at_query": "{{ two_clocks.data_clock_query(this, 'changed_at') }}",
        "freshness": {"error_after": {"count": 30, "period": "hour"}},
    }
    file.write_text(yaml.safe_dump(sources))
    flow(guarded, 1, 2)
    assert two_clocks(guarded.project, "check", now=day(2)).exit_code == 0
    (finding,) = found(two_clocks(guarded.project, "check", "--json", now=day(3, 20)))
    assert finding["signal"] == "source_freshness"
    assert finding["what_happened"] == "its data clock is 34 hours old, more than the 30 hours allowed"


@pytest.mark.any_engine
def test_check_of_a_selection(guarded: Guarded) -> None:
    guarded.project.model("other", BLIND_SINK)
    flow(guarded, 1, 1)
    guarded.warehouse.execute("delete from sync.two_clocks_window_ledger where model = 'model.consumer.other'")
    assert two_clocks(guarded.project, "check", "--select", "sink", now=day(1)).exit_code == 0
    assert two_clocks(guarded.project, "check", "--select", "sink other", now=day(1)).exit_code == 1
    result = two_clocks(guarded.project, "check", "--select", "two_clocks_health", now=day(1))
    assert result.exit_code == 2
    assert "reads through two_clocks.windowed()" in result.stderr


@pytest.mark.any_engine
def test_a_wrong_profile_is_2_with_one_sentence(guarded: Guarded) -> None:
    guarded.project.write(
        "profiles.yml", yaml.safe_dump({"someone_else": {"target": "x", "outputs": {"x": guarded.warehouse.profile}}})
    )
    for command in ("check", "status", "lookback"):
        result = two_clocks(guarded.project, command)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert len(result.stderr.strip().splitlines()) == 1 and "consumer" in result.stderr


@pytest.mark.any_engine
def test_data_cannot_speak_to_the_terminal_nor_to_the_template(guarded: Guarded) -> None:
    guarded.guard(
        {"nothing_lost": {"source_relation": "source('ods', 'feed')", "unique_key": "note", "watermark": "changed_at"}}
    )
    guarded.project.model(
        "sink",
        "{{ config(unique_key='note') }} select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed",
    )
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.project.feed((2, "{{ 1 / 0 }}\x1b[31m'\u202e", "2024-06-01 09:00"))
    result = two_clocks(guarded.project, "check", now=day(1))
    assert result.exit_code == 1
    assert "{{ 1 / 0 }}" in result.stderr
    assert "\x1b" not in result.stderr and "\u202e" not in result.stderr


@pytest.mark.any_engine
def test_a_row_that_is_a_template_reads_no_variable_of_the_machine(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row comes back in the database's error, so in the ledger, in a finding, and in the SQL that check asks again."""
    monkeypatch.setenv("TWO_CLOCKS_BAIT", "swallowed")
    guarded.guard("no_empty_window_streak")
    guarded.project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, cast(note as integer) as note, changed_at from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed",
    )
    guarded.project.feed((1, '{{ env_var("TWO_CLOCKS_BAIT") }}', "2024-06-01 10:00"))
    assert not guarded.project.attempt(now=day(1)).result.success
    for json_or_not in ((), ("--json",)):
        result = two_clocks(guarded.project, "check", *json_or_not, now=day(1))
        assert result.exit_code == 1, result.stderr
        assert "{{ env_var(" in result.output and "swallowed" not in result.output


@pytest.mark.any_engine
def test_status_shows_the_worst_first(guarded: Guarded) -> None:
    guarded.project.model("blind", BLIND_SINK)
    guarded.project.model("never", BLIND_SINK)
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.project.run("--select", "sink blind", now=day(1))
    for number in (2, 3, 4):
        guarded.project.feed((number, "renamed upstream", f"2024-06-0{number} 10:00"))
        guarded.project.run("--select", "sink blind", now=day(number))
    result = two_clocks(guarded.project, "status", now=day(4))
    assert result.exit_code == 0 and result.stdout == ""
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip().startswith(("never", "blind", "ok"))]
    assert [line.split()[0] for line in lines] == ["never", "blind", "ok"]
    assert "2024-06-04 10:00" in lines[2]

    rows = json.loads(two_clocks(guarded.project, "status", "--json", now=day(4)).stdout)
    assert [(row["state"], row["name"]) for row in rows] == [("never_ran", "never"), ("blind", "blind"), ("ok", "sink")]
    assert rows[1]["windows_without_fresh_rows"] == 3
    assert rows[2]["lag_seconds"] == 7200


ARRIVALS = {"id": "integer", "note": "varchar(50)", "changed_at": "timestamp", "loaded_at": "timestamp"}


def test_C12_lookback_weighs_what_it_would_catch_against_what_it_costs(guarded: Guarded) -> None:
    project = guarded.project
    project.source("arrivals", ARRIVALS)
    project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'arrivals'), 'changed_at') }} as arrivals",
    )
    # ten rows a day at noon, loaded at midnight; of 2000 rows 30 come one day behind the newest, 5 five days, 1 a hundred and fifty
    project.warehouse.execute(
        """
        insert into "ods"."arrivals"
        select n, 'x', timestamp '2024-01-01 12:00' + n / 10 * interval '1 day',
            timestamp '2024-01-02 00:00' + (n / 10
                + case when n = 3 then 151 when n between 1500 and 1504 then 6 when n % 66 = 7 then 2 else 0 end) * interval '1 day'
        from (select cast(n as integer) as n from generate_series(0, 1999) as g(n)) as numbered
        """.replace("n / 10", "(n - n % 10) / 10" if guarded.warehouse.engine == "postgres" else "(n // 10)")
    )
    project.run(now="2024-08-01T00:00:00Z")

    result = two_clocks(project, "lookback", "--json", "--arrived-at", "loaded_at", now="2024-08-01T00:00:00Z")

    assert result.exit_code == 1
    (advice,) = json.loads(result.stdout)
    by_name = {choice["name"]: choice for choice in advice["choices"]}
    assert by_name["99 %"]["seconds"] == 86400
    assert by_name["99.9 %"]["seconds"] == 5 * 86400
    assert by_name["all"]["seconds"] == 150 * 86400
    assert {name: choice["rows_outside"] for name, choice in by_name.items()} == {
        "in force": 6,
        "99 %": 6,
        "99.9 %": 1,
        "all": 0,
        "recommended": 1,
    }
    assert by_name["in force"]["rows_reread"] == 30 and by_name["all"]["rows_reread"] == 1510
    assert by_name["recommended"]["seconds"] == 7 * 86400

    said = two_clocks(project, "lookback", "--arrived-at", "loaded_at", now="2024-08-01T00:00:00Z").stderr
    assert "Too short: take lookback='7 days' (80 rows re-read per run instead of 30)." in said
    assert "Outside of it: 1 row, up to 150 days late" in said


def test_C12_the_ledger_alone_knows_what_its_windows_saw_and_says_so(guarded: Guarded) -> None:
    flow(guarded, 10, 12)
    guarded.project.feed((99, "late", "2024-06-11 10:00"))
    flow(guarded, 13, 13)
    result = two_clocks(guarded.project, "lookback", now=day(13))
    assert result.exit_code == 0, result.stderr
    assert "The look-back in force, 2 days, is long enough for what was seen." in result.stderr
    assert "Rows later than the look-back of their time are not in the ledger" in result.stderr
    (advice,) = json.loads(two_clocks(guarded.project, "lookback", "--json", now=day(13)).stdout)
    assert {choice["name"]: choice["seconds"] for choice in advice["choices"]}["all"] == 86400


@pytest.mark.any_engine
def test_a_watermark_that_the_model_does_not_say_is_not_asked_for(guarded: Guarded) -> None:
    """Who may write into the ledger must not thereby make others run SQL of theirs."""
    flow(guarded, 10, 11)
    hostile = "(select max(changed_at) from ods.feed)"
    guarded.warehouse.execute(f"update sync.two_clocks_window_ledger set watermark_column = '{hostile}'")
    result = two_clocks(guarded.project, "lookback", now=day(11))
    assert result.exit_code == 2, result.stdout
    assert "The ledger says that the watermark of sink is" in result.stderr


@pytest.mark.parametrize("command", ["check", "status", "lookback"])
def test_help_says_what_the_exit_status_means(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert "xit status" in result.output
