"""The selector of one model and no other, whatever it is called and whatever lies beside it."""

from __future__ import annotations

import re

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun

# what dbt reads as an operator, a wildcard or the end of a selector; it has no way to quote one
_MEANS_SOMETHING = re.compile(r"[^\w.-]")


def selector_of(session: DbtSession, unique_id: str) -> str:
    """A selector for dbt's --select.

    `fqn:shop.sync.orders` would also select every model in a folder `sync/orders`, so the last letter stands in brackets:
    with a pattern dbt compares the whole name. A character with a meaning stands as `?`, which is any one.

    Raises:
        CannotRun: the pattern is also that of another model.
    """
    from dbt.graph.selector_methods import is_selected_node

    fqn = session.manifest.nodes[unique_id].fqn
    *start, last = _MEANS_SOMETHING.sub("?", ".".join(fqn))
    pattern = "".join(start) + (last if last == "?" else f"[{last}]")
    for other in session.manifest.nodes.values():
        if other.unique_id != unique_id and str(other.resource_type) == "model":
            names = (other.fqn, other.fqn[1:])
            if any(is_selected_node(name, pattern, bool(getattr(other, "version", None))) for name in names):
                raise CannotRun(
                    f"dbt cannot select model {fqn[-1]} without model {other.name}: its name has a character that means something to dbt's selectors; rename it."
                )
    return f"fqn:{pattern}"
