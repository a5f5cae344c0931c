"""How well a running project's workers agree, how fast they are, and which items and workers need a look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.agree import Options, measured
from nikawa.aggregation.kappa import WIDE
from nikawa.aggregation.agreement import standing
from nikawa.aggregation.table import Table
from nikawa.aggregation.workers import optional, quality, wilson
from nikawa.aggregation.workers import ODD_PACE, median_seconds
from nikawa.collect.dashboard import troubled
from nikawa.collect.export import judgements
from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.errors import BadInput

PLACES = frozenset({"start"})
"""Questions that only say where another's answer stands."""
CELLS = 50_000_000
"""Items times different answers from which on nobody's answers are compared: the table of counts is dense."""
LISTED = 100
"""Rows of a list."""
FEWEST = 5
"""Answers others gave too from which on a worker is told apart from them."""


@dataclass
class Columns:
    """The answers to one question, side by side."""

    items: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def table(self, question: str) -> Table:
        """The same as codes; time is kept where it was said."""
        made = Table.from_columns(self.items, self.workers, self.answers, question)
        return replace(made, seconds=np.array(self.seconds, dtype=np.float32))


def writes(project: Project) -> bool:
    """Whether the form asks for texts of the worker's own: there, no two answers are meant to be equal."""
    return project.form.writes


def judged(project: Project, store: Store) -> dict[str, Any]:
    """Agreement by question, the map of workers, time per item, and what is flagged."""
    free = writes(project)
    columns = _columns(project, store, free)
    tables = {question: found.table(question) for question, found in columns.items()}
    first = next(iter(tables.values()), None)
    compared = first is not None and not free and len(first.items) * len(first.categories) <= CELLS
    workers = [] if first is None else _workers(first, compared)
    return {
        "writes": free,
        "agreement": [] if free else [_agreement(table) for table in tables.values()],
        "workers": workers,
        "time": None if first is None else _time(first),
        "flagged": {
            "items": _items(store, first, compared),
            "workers": [row for row in workers if row["flags"]][:LISTED],
        },
    }


def _columns(project: Project, store: Store, free: bool) -> dict[str, Columns]:
    """The standing answers by question, the project's own question first."""
    main = getattr(project.options, "question", project.form.questions[0])
    found: dict[str, Columns] = {main: Columns()}
    ordered = hasattr(project.options, "low")
    with store.read() as link:
        for judgement in judgements(link, project):
            if judgement.answer is None or judgement.question in PLACES:
                continue
            column = found.setdefault(judgement.question, Columns())
            column.items.append(judgement.example)
            column.workers.append(judgement.worker)
            column.answers.append("" if free else _comparable(judgement.answer, ordered))
            column.seconds.append(float("nan") if judgement.seconds is None else judgement.seconds)
    return {question: column for question, column in found.items() if column.items}


def _comparable(answer: Any, ordered: bool) -> Any:
    """An answer as a category: a number on a scale, a label, the first of a ranking, else all of it."""
    if isinstance(answer, str) or (ordered and isinstance(answer, int | float)):
        return answer
    if isinstance(answer, list) and answer and isinstance(answer[0], str):
        return answer[0]
    return msgspec.json.encode(answer, order="deterministic").decode()


def _agreement(table: Table) -> dict[str, Any]:
    told: dict[str, Any] = {
        "question": table.question,
        "items": len(table.items),
        "workers": len(table.workers),
        "answers": len(table),
        "measures": [],
        "counts": {},
    }
    try:
        told["measures"] = [msgspec.to_builtins(row) for row in measured(table, Options())]
    except BadInput:  # no item has two answers yet
        return told
    if len(table.categories) <= WIDE:
        told["counts"] = {name: int(which.sum()) for name, which in standing(table).items()}
    return told


def _workers(table: Table, compared: bool) -> list[dict[str, Any]]:
    """Each worker's place on the map: agreement with the others by speed; most answers first."""
    if compared:
        shared = table.worker[table.per_item()[table.item] > 1]
        counts = np.bincount(shared, minlength=len(table.workers)).tolist()
        rows = [
            {**msgspec.to_builtins(row), "compared": count}
            for row, count in zip(quality(table), counts, strict=True)
        ]
    else:
        counts = np.bincount(table.worker, minlength=len(table.workers)).tolist()
        speed = optional(median_seconds(table))
        rows = [
            {"worker": name, "answers": count, "seconds": seconds}
            for name, count, seconds in zip(table.workers, counts, speed, strict=True)
        ]
    _mark(rows)
    return sorted(rows, key=lambda row: (-row["answers"], row["worker"]))


def _mark(rows: Sequence[dict[str, Any]]) -> None:
    """Add the interval of a worker's agreement, and a flag where all of it lies below the usual."""
    known = [row["agreement"] for row in rows if row.get("agreement") is not None]
    usual = median(known) if len(known) > 2 else None
    for row in rows:
        share, flags = row.setdefault("agreement", None), list(row.get("flags", ()))
        row["low"], row["high"] = (
            (None, None)
            if share is None
            else wilson(round(share * row["compared"]), row["compared"])
        )
        if (
            usual is not None
            and share is not None
            and row["compared"] >= FEWEST
            and row["high"] < usual
        ):
            flags.append("disagrees")
        row["flags"] = flags


def _item_seconds(table: Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The median time of each item: the same as that of a worker, with the two changed over."""
    return median_seconds(replace(table, worker=table.item, workers=table.items, _kept={}))


def _time(table: Table) -> dict[str, Any] | None:
    """Time per item: the middle, the tenths at both ends, and the slowest items."""
    seconds = _item_seconds(table)
    known = np.flatnonzero(~np.isnan(seconds))
    if not len(known):
        return None
    low, middle, high = np.quantile(seconds[known], (0.1, 0.5, 0.9)).tolist()
    slow = known[np.argsort(-seconds[known], kind="stable")][:20]
    rows = [{"ref": table.items[i], "seconds": round(float(seconds[i]), 3)} for i in slow.tolist()]
    return {"items": len(known), "low": low, "median": middle, "high": high, "slowest": rows}


def _items(store: Store, table: Table | None, compared: bool) -> list[dict[str, Any]]:
    """Items with a reason to look at them, those with most reasons first."""
    why: dict[str, dict[str, Any]] = {}
    for ref, reports, aside in store.ask(lambda link: troubled(link, LISTED)):
        flags = ["reported", *(["set-aside"] if aside else [])]
        why[ref] = {"ref": ref, "flags": flags, "reports": reports}
    if table is not None:
        for ref, flag in _odd(table, compared):
            row = why.setdefault(ref, {"ref": ref, "flags": [], "reports": 0})
            row["flags"].append(flag)
    return sorted(why.values(), key=lambda row: (-len(row["flags"]), -row["reports"], row["ref"]))[
        :LISTED
    ]


def _odd(table: Table, compared: bool) -> Iterator[tuple[str, str]]:
    """Items without a majority, and items that take far longer than the usual one."""
    if compared and len(table.categories) <= WIDE:
        for place in np.flatnonzero(standing(table)["none"]).tolist():
            yield table.items[place], "no-majority"
    seconds = _item_seconds(table)
    known = seconds[~np.isnan(seconds)]
    if len(known) > 2:
        with np.errstate(invalid="ignore"):
            slow = seconds > ODD_PACE * float(np.median(known))
        yield from ((table.items[place], "slow") for place in np.flatnonzero(slow).tolist())


def as_names(found: Mapping[str, int], most: int = 3) -> list[list[Any]]:
    """The most frequent names with their counts."""
    return [
        list(pair) for pair in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    ]
