"""From a pilot's judgements: how many workers an item needs, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.io.judgements import How
from nikawa.jobs._judgements import open_given, table_of

if TYPE_CHECKING:
    from nikawa.aggregate.plan import Plan, Wish


def plan(
    spec: str,
    data: Path | None = None,
    *,
    question: str | None = None,
    how: How | None = None,
    wish: Wish | None = None,
    seed: int = 0,
) -> Plan:
    """Plan a collection from a pilot: a file of judgements, or a dataset that publishes its workers' answers."""
    from nikawa.aggregate.plan import plan as make

    how = how or How()
    return make(table_of(open_given(spec, data, how), question, how), wish, seed=seed)
