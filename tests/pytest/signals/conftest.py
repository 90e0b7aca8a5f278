"""What the tests of the signals share: a sink that is guarded, and what dbt says about it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from support.project import Project, Run


class Guarded:
    """A project whose model `sink` carries generic tests."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.warehouse = project.warehouse

    def guard(self, *tests: str | dict[str, Any], model: str = "sink", **settings: Any) -> None:
        """Put tests of two_clocks on a model; a test is a name, or {name: arguments}. `settings` go under config."""
        listed = []
        for test in tests:
            name, arguments = (test, {}) if isinstance(test, str) else next(iter(test.items()))
            listed.append({f"two_clocks.{name}": {"arguments": arguments, "config": settings}})
        content = {"version": 2, "models": [{"name": model, "data_tests": listed}]}
        self.project.write(f"models/sync/{model}.yml", yaml.safe_dump(content))

    def check(self, *arguments: str, now: str | None = None, **options: Any) -> Verdict:
        """`dbt test` on the consumer's models."""
        run = self.project.attempt(*arguments, command="test", now=now, **options)
        return Verdict(run)

    def run(self, now: str, **options: Any) -> Run:
        return self.project.run(now=now, **options)


class Verdict:
    """What `dbt test` came to."""

    def __init__(self, run: Run) -> None:
        self.run = run
        assert run.result.exception is None, run.result.exception
        # on-run-end hooks are results too
        self.results = [result for result in run.result.result.results if result.node.resource_type == "test"]
        assert self.results, "no test ran"
        self.statuses = {str(result.status) for result in self.results}
        for result in self.results:
            assert str(result.status) != "error", result.message
        self.failures = sum(result.failures or 0 for result in self.results)

    @property
    def passed(self) -> bool:
        return self.statuses == {"pass"}

    @property
    def said(self) -> str:
        """The sentences of the findings."""
        return "\n".join(line for line in self.run.messages if "two_clocks: " in line and "To do:" in line)


@pytest.fixture
def guarded(project: Project) -> Guarded:
    return Guarded(project)
