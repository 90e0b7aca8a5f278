"""This package and the three ways that dbt itself offers, each in a project of its own."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

from side_by_side.contenders.base import VIRTUAL_ENVIRONMENT, Contender, Moment
from side_by_side.contenders.hand_written import SINCE, SOURCE, TARGET, merge_of_changes, unlike_stored
from side_by_side.feed import COLUMNS, KEY, LOOKBACK_HOURS, WATERMARK

REPOSITORY = Path(__file__).resolve().parents[3]
DBT = VIRTUAL_ENVIRONMENT / "bin/dbt"
SELECTED = ", ".join(f"gg.{name}" for name in COLUMNS)
SOURCES = {
    "version": 2,
    "sources": [
        {
            "name": "ods",
            "schema": "ods",
            "tables": [{"name": "grade_grades", "config": {"event_time": WATERMARK}}],
        }
    ],
}
WRAPPER = """\
{% macro get_incremental_newest_wins_sql(arg_dict) %}
  {{ return(two_clocks.get_incremental_newest_wins_sql(arg_dict)) }}
{% endmacro %}
"""


def windowed_model(config: str = "") -> str:
    return (
        f"{{{{ config(unique_key='{KEY}'{config}) }}}}\n"
        f"select {SELECTED}\nfrom {{{{ two_clocks.windowed(source('ods', 'grade_grades'), '{WATERMARK}') }}}} as gg\n"
    )


def plain_model(strategy: str) -> str:
    """The look-back as dbt's own documentation shows it."""
    return (
        f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}', unique_key='{KEY}') }}}}\n"
        f"select {SELECTED}\nfrom {{{{ source('ods', 'grade_grades') }}}} as gg\n"
        "{% if is_incremental() %}\n"
        f"where gg.{WATERMARK} >= (select max({WATERMARK}) from {{{{ this }}}}) - interval '{LOOKBACK_HOURS} hours'\n"
        "{% endif %}\n"
    )


class DbtProject(Contender):
    package = "dbt-core"
    threads = 1

    def prepare(self) -> None:
        self.copy_source()
        self.write_project()
        self.write("models/crm_grades.sql", self.model())

    def command(self, moment: Moment) -> list[str]:
        return [str(DBT), "run", "--profiles-dir", "."]

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}

    def write_project(self) -> None:
        output = {"schema": self.schema, "threads": self.threads}
        if self.engine == "postgres":
            output |= self.database.server.dbt_output(self.schema, self.threads)
        else:
            output |= {"type": "duckdb", "path": str(self.database.path)}
        self.write("profiles.yml", json.dumps({"bench": {"target": "bench", "outputs": {"bench": output}}}))
        self.write("dbt_project.yml", json.dumps(self.project()))
        self.write("models/sources.yml", json.dumps(SOURCES))

    def project(self) -> dict[str, object]:
        return {"name": "bench", "version": "1.0.0", "config-version": 2, "profile": "bench"}

    def model(self) -> str:
        raise NotImplementedError


class TwoClocks(DbtProject):
    name = "two_clocks"
    title = "two_clocks newest_wins"

    @classmethod
    def version(cls) -> str:
        return f"two_clocks of this clone on {super().version()}"

    def project(self) -> dict[str, object]:
        return super().project() | {
            "models": {
                "bench": {
                    "+materialized": "incremental",
                    "+incremental_strategy": "newest_wins",
                    "+post-hook": "{{ two_clocks.record_window() }}",
                }
            },
            "on-run-end": "{{ two_clocks.record_failed_windows(results) }}",
            "vars": {"two_clocks_lookback": f"{LOOKBACK_HOURS} hours"},
        }

    def write_project(self) -> None:
        super().write_project()
        self.write("packages.yml", json.dumps({"packages": [{"local": str(REPOSITORY)}]}))
        self.write("macros/get_incremental_newest_wins_sql.sql", WRAPPER)
        # what `dbt deps` makes of a local package, without asking the hub anything
        (self.directory / "dbt_packages").mkdir()
        (self.directory / "dbt_packages/two_clocks").symlink_to(REPOSITORY)

    def model(self) -> str:
        return windowed_model()


class StockMerge(DbtProject):
    name = "stock_merge"
    title = "dbt merge, same look-back"

    def model(self) -> str:
        return plain_model("merge")


class HandWrittenInDbt(DbtProject):
    """The limit, run by dbt: what of the distance to it is dbt's own, its copy of the batch and its questions to the catalog."""

    name = "dbt_hand_written"
    title = "dbt, the hand-written SQL as a strategy"

    def write_project(self) -> None:
        super().write_project()
        batch, since = "{{ arg_dict.temp_relation }}", SINCE.replace("{target_watermark}", "{{ reached }}")
        merge = merge_of_changes(
            "{{ arg_dict.target_relation }}",
            unlike_stored(self.engine, "{{ this }}", batch, since),
            f"({SOURCE}) is distinct from ({TARGET})",
        )
        self.write(
            "macros/get_incremental_hand_written_sql.sql",
            "{% macro get_incremental_hand_written_sql(arg_dict) %}\n"
            f"{{% set reached = run_query('select max({WATERMARK}) from ' ~ this).rows[0][0] %}}\n"
            f"{merge}\n{{% endmacro %}}\n",
        )

    def model(self) -> str:
        return plain_model("hand_written")


class DeleteInsert(DbtProject):
    name = "delete_insert"
    title = "dbt delete+insert, same look-back"

    def model(self) -> str:
        return plain_model("delete+insert")


class Microbatch(DbtProject):
    name = "microbatch"
    title = "dbt microbatch, days, lookback 2"

    def model(self) -> str:
        # on PostgreSQL a batch is merged by key; on DuckDB a key is refused, and a batch is deleted and inserted by time
        key = f"unique_key='{KEY}', " if self.engine == "postgres" else ""
        return (
            f"{{{{ config(materialized='incremental', incremental_strategy='microbatch', {key}"
            f"event_time='{WATERMARK}', begin='2010-01-01', batch_size='day', lookback=2) }}}}\n"
            # no alias: dbt puts a subquery with a name of its own here
            f"select {', '.join(COLUMNS)}\nfrom {{{{ source('ods', 'grade_grades') }}}}\n"
        )

    @property
    def unique(self) -> bool:
        return self.engine == "postgres"

    def command(self, moment: Moment) -> list[str]:
        """dbt counts its batches back from the wall clock, which cannot be set: these are the ones that it would choose."""
        day = timedelta(days=1)
        first = moment.last_run if moment.says_range else moment.now
        start, end = _midnight(first) - 2 * day, _midnight(moment.now) + day
        return [
            *super().command(moment),
            "--event-time-start",
            f"{start:%Y-%m-%d}",
            "--event-time-end",
            f"{end:%Y-%m-%d}",
        ]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
