"""Numbers as people write them."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """'1 row', '1,000 rows'; `many` where the plural is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
