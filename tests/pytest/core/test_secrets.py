"""No password of the profile, and nothing that looks like one, comes into ledger, message or JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.project import SINK, Project

from two_clocks.cli import main
from two_clocks.concealed import concealed

NOON = "2024-06-03T12:00:00Z"
PASSWORD = "correct horse's battery"

# what a database may say, and what must not be left of it
SAID = [
    ("could not connect to postgresql://loader:p@ss:word/1@db.example/ods", "p@ss", "word/1"),
    ("dblink: host=db user=loader password=hunter2 dbname=ods", "hunter2"),
    ("dblink: password='two words' dbname=ods", "two words"),
    ("Key (api_token)=(hunter2) already exists", "hunter2"),
    ('bad option {"user": "loader", "password": "hunt\\"er2"}', "hunt", "er2"),
    ("syntax error: alter role loader PASSWORD 'hunter2'", "hunter2"),
    ("create user x identified by 'hunter2'", "hunter2"),
    ("aws_secret_access_key = hunter2, region = x", "hunter2"),
    ("401 for Authorization: Bearer abcdefghij0123456789==", "abcdefghij0123456789"),
]


@pytest.mark.parametrize(("message", "secrets"), [(said[0], said[1:]) for said in SAID])
def test_what_looks_like_a_password_is_concealed_by_the_command_line(message: str, secrets: tuple[str, ...]) -> None:
    for secret in secrets:
        assert secret not in concealed(message)
    assert "***" in concealed(message)


def test_plain_words_stay_as_they_are() -> None:
    for message in (
        'password authentication failed for user "loader"',
        "relation ods.tokens does not exist",
        "https://docs.example/page?at=noon",
        "the basic rule is that nothing is lost",
    ):
        assert concealed(message) == message


def test_no_password_reaches_ledger_message_or_json(
    project: Project, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_LOADER", "from-the-environment")
    said = {"env": ("from-the-environment", "from-the-environment"), **dict(zip("abcdefghi", SAID, strict=True))}
    if engine == "postgres":  # DuckDB opens a file and needs no password
        project.warehouse.profile["password"] = PASSWORD
        project.save_profile()
        said["profile"] = (f"as {PASSWORD} said", PASSWORD)
    project.warehouse.execute("drop table ods.feed")
    project.source("feed", {"id": "varchar(50)", "note": "varchar(500)", "changed_at": "timestamp"})
    project.feed(*[(name, message, "2024-06-03 09:00") for name, (message, *_) in said.items()])
    (project.directory / "models/sync/sink.sql").unlink()
    for name in said:
        # a row that no cast likes comes back in the database's error, word by word
        project.model(name, SINK.replace("note,", "cast(note as integer) as note,") + f"where id = '{name}'")
    project.attempt(now=NOON)
    place = ["--project-dir", str(project.directory), "--profiles-dir", str(project.directory)]
    check = CliRunner().invoke(main, ["check", "--json", *place, "--vars", f"{{two_clocks_now: '{NOON}'}}"])
    project.warehouse.after_dbt()

    messages = {window["model"].split(".")[-1]: window["message"] for window in project.ledger(model=None)}
    findings = {one["model"].split(".")[-1]: one["what_happened"] for one in json.loads(check.stdout)["findings"]}
    for name, (_, *secrets) in said.items():
        for kept in (messages[name], findings[name]):
            assert "***" in kept
            assert not [secret for secret in secrets if secret in kept]
