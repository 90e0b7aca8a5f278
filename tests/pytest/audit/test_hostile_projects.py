"""A stranger's project may hold anything: the audit goes on, ends, says what it could not do, and shows nothing raw."""

from __future__ import annotations

import json
import time

import pytest
from click.testing import CliRunner

from two_clocks.audit import formats
from two_clocks.commands.audit import command

from .conftest import Shop

BAD = "select id, updated_at from {{ ref('a') }} {% if is_incremental() %} where updated_at >= now() {% endif %}"


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
        "{% for a in range(999) %}{% for b in range(999) %}{% for c in range(999) %}x{% endfor %}{% endfor %}{% endfor %}",
        "{{ 'x' * 10000000000 }}",
        "{{ [1, 2] * 10000000000 }}",
        "{{ 10 ** 10000000 }}",
        "{{ '%10000000000d' % 1 }}",
        "{% macro again(n) %}{{ again(n + 1) }}{% endmacro %}{{ again(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('touch /tmp/two-clocks-was-here') }}",
        "{{ run_query.__globals__ }}",
        "{{ modules.os.system('id') }}{{ modules.subprocess.run('id') }}",
        "{% import 'os' as os %}{% include '/etc/passwd' %}",
        "{% extends 'x' %}",
        "{{ exceptions.raise_compiler_error('no') }}",
        "{{ return(1) }}",
        "{% raw %}{{ }}{% endraw %}",
        "{% if %}",
        "{{ }}",
        "{{",
        "{% endfor %}",
        "\x00\x1b[31m\u202e\ue000D5\ue001\ue002",
        "(" * 3000,
        "select " + "case when 1 = 1 then " * 400 + "1" + " end" * 400,
    ],
    ids=range(23),
)
def test_no_template_stops_the_audit(shop: Shop, template: str) -> None:
    started = time.monotonic()
    shop.write("models/hostile.sql", "{{ config(materialized='incremental') }}\n" + template + "\n" + BAD)
    shop.write("models/bad.sql", BAD)
    reports = {report.name: report for report in shop.audit().reports}
    assert reports["bad"].verdict == "loses rows"
    assert reports["hostile"].verdict in {"loses rows", "not judged"}
    assert reports["hostile"].reason
    assert time.monotonic() - started < 25


def test_no_template_reads_the_machine(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWO_CLOCKS_SECRET", "hunter2")
    shop.write("models/m.sql", BAD.replace("now()", "'{{ env_var(\"TWO_CLOCKS_SECRET\") }}'"))
    text = json.dumps([report.as_dict() for report in shop.audit().reports])
    assert "hunter2" not in text
    assert "env_var('TWO_CLOCKS_SECRET')" in text


def test_files_that_cannot_be_read(shop: Shop) -> None:
    shop.write("models/bad.sql", BAD)
    shop.write("models/latin.sql", ("-- caf\xe9\n" + BAD).encode("latin-1"))
    shop.write("models/bom.sql", b"\xef\xbb\xbf" + BAD.encode())
    shop.write("models/windows.sql", BAD.replace(" {%", "\r\n{%").encode())
    shop.write("models/binary.sql", bytes(range(256)) * 10)
    shop.write("models/empty.sql", "")
    shop.write("models/huge.sql", "-- x\n" * 300_000)
    shop.write("models/broken.yml", "models: [unclosed\n  - {")
    shop.write("models/tags.yml", "models: !!python/object/apply:os.system ['id']\n")
    shop.write(
        "models/bomb.yml",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{n}: &{n} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n"
            for p, n in zip("abcdefgh", "bcdefghi", strict=True)
        )
        + "models: *i\n",
    )
    shop.write("models/odd.yml", "models:\n  - 3\n  - name: [1]\n  - name: bad\n    config: 7\nsnapshots: yes\n")
    (shop.root / "models/loop").symlink_to(shop.root / "models")
    (shop.root / "models/nowhere.sql").symlink_to("absent")
    audit = shop.audit()
    verdicts = {report.name: report.verdict for report in audit.reports}
    assert verdicts["bad"] == verdicts["latin"] == verdicts["bom"] == verdicts["windows"] == "loses rows"
    assert verdicts["huge"] == verdicts["nowhere"] == "not judged"
    assert next(r.line for r in audit.reports if r.name == "windows") == 2
    assert {path for path, _ in audit.problems} >= {"models/broken.yml"}


EVIL = "evil\x1b[31m`|<script>alert(1)</script>[x](javascript:alert(1))@all\u202e"


def test_nothing_of_a_project_is_shown_raw(shop: Shop) -> None:
    shop.write(
        "models/m.sql",
        BAD.replace("updated_at >=", f'/* two_clocks: ignore TC02 because {EVIL} */ "up|`<b>\x1b[2J\u202e" >='),
    )
    shop.write("models/s.sql", f"{{{{ config(meta={{'two_clocks_ignore': {{'TC01': {EVIL!r}}}}}) }}}}\n" + BAD)
    shop.write(
        "models/u.sql", BAD.replace("now()", "{{ var('a\x1b[31m<img src=x onerror=alert(1)>|`[b](http://x)') }}")
    )
    for form in ("table", "markdown", "sarif", "json"):
        result = CliRunner().invoke(command, [str(shop.root), "--format", form, "--dialect", "postgres"])
        assert result.exit_code == 1, result.output
        out = result.output
        assert "\x1b" not in out and "\u202e" not in out, form
        if form == "markdown":
            assert (
                "<script" not in out and "<img" not in out and "](" not in out.replace("\\](", "").replace("\\]\\(", "")
            )
            assert "@all" not in out
            rows = [line for line in out.splitlines() if line.startswith("|")]
            assert {len(line.replace("\\|", "").split("|")) for line in rows} == {8}
        if form in {"sarif", "json"}:
            assert "<" not in out
            json.loads(result.stdout)


@pytest.mark.parametrize(
    "text", ["a|b", "`x`", "<b>", "[a](b)", "*x*", "# x", "1. x", "- x", "a\nb", "http://x", "@me", "\\", "$x$", "&lt;"]
)
def test_markdown_is_escaped(text: str) -> None:
    shown = formats.escaped(text)
    assert "\n" not in shown
    assert not any(sign in shown.replace(f"\\{sign}", "") for sign in "|`<[*")
    assert "http:" not in shown and "@" not in shown


def test_a_diff_with_backticks_stays_in_its_fence(shop: Shop) -> None:
    text = "{{ config(unique_key='id', incremental_strategy='merge') }}\n-- ```\n-- ````\nselect id, updated_at from {{ ref('a') }}\n{% if is_incremental() %}\nwhere updated_at > (select max(updated_at) from {{ this }})\n{% endif %}\n"
    report = shop.report(text)
    assert report.diff
    out = formats.as_markdown([shop.audit()])
    fences = [line for line in out.splitlines() if line.startswith("`````")]
    assert len(fences) == 2


def test_a_files_name_adds_no_line_to_a_diff(shop: Shop) -> None:
    text = "select id, updated_at from {{ ref('a') }}\n{% if is_incremental() %}\nwhere updated_at > (select max(updated_at) from {{ this }})\n{% endif %}\n"
    settings = "{{ config(unique_key='id', incremental_strategy='merge') }}\n"
    assert shop.report(settings + text).diff
    other = "models/x\n+++ b\n@@ -0,0 +1 @@\n+select 1\n.sql"
    assert not shop.report(settings + text, path=other).diff
