"""What dbt and the database say, without passwords.

The macro _without_secrets does the same for what the ledger keeps.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

HIDDEN = "***"
# Shorter values would blacken every other word, and are no secret from anybody.
SHORTEST = 4

_NAMES = r"(?:password|passwd|passphrase|pwd|secret|token|credential|api_?key|access_?key|private_?key)"
_SECRET_NAME = re.compile(rf"^pass$|{_NAMES}", re.I)
_PATTERNS = (
    # a password may hold an @ itself: up to the last one of the word
    (re.compile(r"://[^/@\s:]*:\S*@"), f"://{HIDDEN}@"),
    (
        re.compile(
            rf"({_NAMES}[a-z0-9_]*[\"')\]]*\s*(?:=>|[=:])\s*)"
            r"(\([^)]*\)|'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|[^\s,;)}\]]+)",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            r"\b(password|identified\s+by|bearer|basic)(\s+)('(?:[^']|'')*'|[a-z0-9._~+/-]{16,}=*)",
            re.I,
        ),
        rf"\1\2{HIDDEN}",
    ),
)


def concealed(text: str) -> str:
    """The text without the passwords of this machine's dbt, and without what looks like one."""
    for secret in sorted({*_of_the_environment(), *_of_the_connections()}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def _of_the_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if name.startswith("DBT_ENV_SECRET") and len(value.strip()) >= SHORTEST:
            yield value


def _of_the_connections() -> Iterator[str]:
    """The secrets that dbt connects with, where dbt has read a profile at all."""
    factory = sys.modules.get("dbt.adapters.factory")
    for adapter in list(factory.FACTORY.adapters.values()) if factory else ():
        yield from _secrets_in(adapter.config.credentials.to_dict(omit_none=True))


def _secrets_in(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets_in(inner, str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _secrets_in(inner, name)
    elif not isinstance(value, bool) and len(str(value)) >= SHORTEST and _SECRET_NAME.search(name):
        yield str(value)
