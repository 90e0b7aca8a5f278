"""Eleven rules, one reader: each rule reports what the audit found under its code in the file as it is written.

They read the raw template and not only what the templater made of it: whether a filter is incremental can be seen only there.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlfluff.core.parser import RawSegment
from sqlfluff.core.parser.markers import PositionMarker
from sqlfluff.core.rules import BaseRule, LintFix, LintResult, RuleContext
from sqlfluff.core.rules.crawlers import RootOnlyCrawler

from two_clocks.audit.judge import Finding
from two_clocks.audit.one_file import findings_of


class _Audited:
    """What the rules share."""

    groups = ("all", "two_clocks")
    crawl_behaviour = RootOnlyCrawler()
    # Most of what is wrong stands in a Jinja block, which a templater may well leave out.
    targets_templated = True
    is_fix_compatible = False
    config_keywords: ClassVar[list[str]] = []
    code: str

    def _eval(self, context: RuleContext) -> list[LintResult] | None:
        if not getattr(self, "force_enable", True) or context.templated_file is None:
            return None
        source = context.templated_file.source_str
        path = str(context.path) if context.path else ""
        code = self.code.removeprefix("TwoClocks_")
        results = []
        for finding in findings_of(source, path, context.dialect.name):
            if finding.rule == code:
                offset = _offset(source, finding)
                results.append(
                    LintResult(
                        _anchor(context, offset), self._fixes(context, source, finding), description=finding.message
                    )
                )
        return results or None

    def _fixes(self, context: RuleContext, source: str, finding: Finding) -> list[LintFix]:
        return []


def _offset(source: str, finding: Finding) -> int:
    """The finding's place in the text that sqlfluff has, whose line ends may be those of Windows."""
    start = 0
    for _ in range(finding.line - 1):
        start = source.find("\n", start) + 1
    return min(start + finding.column - 1, max(len(source) - 1, 0))


def _segment_at(context: RuleContext, offset: int, raw: str | None = None) -> RawSegment | None:
    for segment in context.segment.raw_segments:
        marker = segment.pos_marker
        if (
            marker is not None
            and segment.raw
            and marker.source_slice.start == offset
            and (raw is None or segment.raw == raw)
        ):
            return segment
    return None


def _anchor(context: RuleContext, offset: int) -> RawSegment:
    """The segment at a place of the source, or a mark where the templater left nothing of it."""
    found = _segment_at(context, offset)
    if found is not None:
        return found
    assert context.templated_file is not None
    at = next(
        (
            s.pos_marker
            for s in context.segment.raw_segments
            if s.pos_marker and s.pos_marker.source_slice.stop > offset
        ),
        None,
    )
    templated = at.templated_slice.start if at is not None else 0
    marker = PositionMarker(slice(offset, offset + 1), slice(templated, templated), context.templated_file)
    return RawSegment("", pos_marker=marker)


class Rule_TwoClocks_TC01(_Audited, BaseRule):
    """An incremental window is bounded by the wall clock.

    A window that starts at ``now() - 3 days`` reads what the clock on the wall says, not what the data shows. When the source lags, or no
    run comes through for longer than the three days, the rows in between are before the start of every later window and are never read.
    The same holds for ``dbt.current_timestamp()``, ``run_started_at`` and ``modules.datetime``, whether written in the filter, in a CTE
    or in a Jinja variable. A comparison with the wall clock outside incremental logic is left alone.

    **Anti-pattern**

    The window starts at the wall clock.

    .. code-block:: jinja

        select id, updated_at from {{ ref('orders') }}
        {% if is_incremental() %}
        where updated_at >= dateadd(day, -3, current_timestamp)
        {% endif %}

    **Best practice**

    Start where the target ends, a look-back earlier.

    .. code-block:: jinja

        select id, updated_at from {{ ref('orders') }}
        {% if is_incremental() %}
        where updated_at >= dateadd(day, -3, (select max(updated_at) from {{ this }}))
            or (select max(updated_at) from {{ this }}) is null
        {% endif %}
    """

    name = "two_clocks.wall_clock_window"
    aliases = ("TC01",)


class Rule_TwoClocks_TC02(_Audited, BaseRule):
    """The maximum of the target is not guarded against an empty target.

    The maximum of an empty table is NULL, and no comparison with NULL is true. A first run that found no row therefore makes every later
    run find none, with a green log. Say what happens then: coalesce the maximum, or add a condition for the empty target.

    **Anti-pattern**

    Nothing is ever read once the target was built empty.

    .. code-block:: jinja

        where updated_at >= (select max(updated_at) from {{ this }})

    **Best practice**

    .. code-block:: jinja

        where updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})
    """

    name = "two_clocks.unguarded_maximum"
    aliases = ("TC02",)


class Rule_TwoClocks_TC03(_Audited, BaseRule):
    """A strict comparison with the maximum of the target, and no look-back.

    ``> max(updated_at)`` skips every row that carries the very time of the newest stored one and became visible after it, and every row
    that commits late. Compare with ``>=``, start a look-back before the maximum, and let a unique key make the repeats harmless. Where
    the model has a unique key, the fix turns ``>`` into ``>=``.

    **Anti-pattern**

    .. code-block:: jinja

        where updated_at > (select max(updated_at) from {{ this }})

    **Best practice**

    .. code-block:: jinja

        where updated_at >= (select max(updated_at) from {{ this }}) - interval '2 days'
    """

    name = "two_clocks.strict_watermark"
    aliases = ("TC03",)
    is_fix_compatible = True

    def _fixes(self, context: RuleContext, source: str, finding: Finding) -> list[LintFix]:
        if finding.operator < 0 or "\r" in source:
            return []
        sign = source[finding.operator : finding.operator + 1]
        segment = _segment_at(context, finding.operator, sign)
        if segment is None or sign not in {"<", ">"}:
            return []
        return [LintFix.replace(segment, [segment.edit(f"{sign}=")])]


class Rule_TwoClocks_TC04(_Audited, BaseRule):
    """A look-back without a unique key stores rows twice.

    A window that starts before the watermark, or compares with ``>=``, reads rows that are already stored. Only a unique key, and a
    strategy that uses it, makes that harmless; strategy ``append`` ignores the key.

    **Anti-pattern**

    .. code-block:: jinja

        {{ config(materialized='incremental') }}
        select * from {{ ref('orders') }}
        {% if is_incremental() %}
        where updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})
        {% endif %}

    **Best practice**

    .. code-block:: jinja

        {{ config(materialized='incremental', unique_key='id', incremental_strategy='merge') }}
    """

    name = "two_clocks.lookback_without_key"
    aliases = ("TC04",)


class Rule_TwoClocks_TC05(_Audited, BaseRule):
    """The watermark is a column that the model fills from the wall clock.

    ``current_timestamp as loaded_at`` says when the run happened. A window that starts at ``max(loaded_at)`` starts at the last run, not
    at the last row seen: what became visible later with an earlier time is never read.

    **Anti-pattern**

    .. code-block:: jinja

        select id, updated_at, current_timestamp as loaded_at from {{ ref('orders') }}
        {% if is_incremental() %}
        where updated_at > (select max(loaded_at) from {{ this }})
        {% endif %}

    **Best practice**

    .. code-block:: jinja

        where updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})
    """

    name = "two_clocks.self_made_watermark"
    aliases = ("TC05",)


class Rule_TwoClocks_TC06(_Audited, BaseRule):
    """An incremental predicate is bounded by the wall clock, or holds a bare OR.

    ``incremental_predicates`` limit where the merge looks for stored rows. Bounded by the wall clock, they hide older versions from it,
    and a late change is stored a second time. With an OR outside parentheses they cancel the key's condition for some rows, and
    ``delete+insert`` deletes rows of other keys.

    **Anti-pattern**

    .. code-block:: jinja

        {{ config(incremental_predicates=["DBT_INTERNAL_DEST.created_at > dateadd(day, -7, current_date)"]) }}

    **Best practice**

    Leave the predicate out, or bound it by the rows that the run brings.

    .. code-block:: jinja

        {{ config(materialized='incremental', unique_key='id') }}
    """

    name = "two_clocks.incremental_predicates"
    aliases = ("TC06",)


class Rule_TwoClocks_TC07(_Audited, BaseRule):
    """One maximum serves several sources.

    In a union, the source that is furthest ahead moves the maximum. Rows of the slower ones that are still to come lie before it and are
    never read. Take the maximum for each source.

    **Anti-pattern**

    .. code-block:: jinja

        select id, ts, 'web' as origin from {{ ref('web') }}
        {% if is_incremental() %} where ts >= (select max(ts) from {{ this }}) {% endif %}
        union all
        select id, ts, 'app' as origin from {{ ref('app') }}
        {% if is_incremental() %} where ts >= (select max(ts) from {{ this }}) {% endif %}

    **Best practice**

    .. code-block:: jinja

        where ts >= (select max(ts) from {{ this }} where origin = 'web')
    """

    name = "two_clocks.one_maximum_for_many"
    aliases = ("TC07",)


class Rule_TwoClocks_TC08(_Audited, BaseRule):
    """The filter is on a column that the model does not carry.

    A window says ``synced_at > max(updated_at)`` where the two columns are different clocks, or takes the maximum of a column that the
    model no longer selects. Rows between the two clocks are skipped, or the second run fails.

    **Anti-pattern**

    .. code-block:: jinja

        select id, updated_at from {{ ref('orders') }}
        {% if is_incremental() %}
        where synced_at >= (select max(updated_at) from {{ this }})
        {% endif %}

    **Best practice**

    .. code-block:: jinja

        select id, updated_at, synced_at from {{ ref('orders') }}
        {% if is_incremental() %}
        where synced_at >= (select max(synced_at) from {{ this }})
        {% endif %}
    """

    name = "two_clocks.foreign_watermark"
    aliases = ("TC08",)


class Rule_TwoClocks_TC09(_Audited, BaseRule):
    """A microbatch look-back counts from the wall clock.

    Microbatch reads the current batch and ``lookback`` batches before it, counted from the wall clock. A pause of the runs, or a lag of
    the source, that is longer leaves a hole which no later run fills. Off unless ``force_enable`` is set, since it holds for every
    microbatch model.

    **Anti-pattern**

    .. code-block:: jinja

        {{ config(materialized='incremental', incremental_strategy='microbatch', batch_size='hour', lookback=1) }}

    **Best practice**

    A look-back longer than the longest pause.

    .. code-block:: jinja

        {{ config(materialized='incremental', incremental_strategy='microbatch', batch_size='day', lookback=7) }}
    """

    name = "two_clocks.microbatch_lookback"
    aliases = ("TC09",)
    config_keywords: ClassVar[list[str]] = ["force_enable"]


class Rule_TwoClocks_TC10(_Audited, BaseRule):
    """There is no look-back: a row that becomes visible late is not read.

    ``>= max(updated_at)`` reads ties again but not a row that became visible after a newer one was stored. Off unless ``force_enable`` is
    set: whether rows come late is known only to whoever knows the source.

    **Anti-pattern**

    .. code-block:: jinja

        where updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})

    **Best practice**

    .. code-block:: jinja

        where updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }})
    """

    name = "two_clocks.no_lookback"
    aliases = ("TC10",)
    config_keywords: ClassVar[list[str]] = ["force_enable"]


class Rule_TwoClocks_TC11(_Audited, BaseRule):
    """The window starts at the source's own maximum, whatever the target holds.

    ``> (select max(ts) - interval '3 days' from source)`` reads the last three days of the source on every run. After a longer pause the
    days before them are never read: the window has to start at what the target holds.

    **Anti-pattern**

    .. code-block:: jinja

        where ts >= (select max(ts) - interval '3 days' from {{ ref('events') }})

    **Best practice**

    .. code-block:: jinja

        where ts >= (select max(ts) - interval '3 days' from {{ this }})
    """

    name = "two_clocks.forgets_target"
    aliases = ("TC11",)


ALL: tuple[type[Any], ...] = (
    Rule_TwoClocks_TC01,
    Rule_TwoClocks_TC02,
    Rule_TwoClocks_TC03,
    Rule_TwoClocks_TC04,
    Rule_TwoClocks_TC05,
    Rule_TwoClocks_TC06,
    Rule_TwoClocks_TC07,
    Rule_TwoClocks_TC08,
    Rule_TwoClocks_TC09,
    Rule_TwoClocks_TC10,
    Rule_TwoClocks_TC11,
)
