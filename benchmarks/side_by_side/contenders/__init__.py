"""Who takes part, in the order of the tables."""

from __future__ import annotations

from side_by_side.contenders.base import Contender, Moment, Skipped
from side_by_side.contenders.dbt_projects import DeleteInsert, HandWrittenInDbt, Microbatch, StockMerge, TwoClocks
from side_by_side.contenders.dlt_pipeline import DltMerge
from side_by_side.contenders.hand_written import HandWritten, PlainMerge
from side_by_side.contenders.sqlmesh_project import SqlmeshByTimeRange, SqlmeshByUniqueKey

ALL: tuple[type[Contender], ...] = (
    TwoClocks,
    HandWritten,
    PlainMerge,
    HandWrittenInDbt,
    StockMerge,
    DeleteInsert,
    Microbatch,
    SqlmeshByUniqueKey,
    SqlmeshByTimeRange,
    DltMerge,
)

__all__ = ["ALL", "Contender", "Moment", "Skipped"]
