"""Analyses for the dashboard that other stages compute: agreement, speed, and workers who need a check.

The server computes each analysis in a separate process (`analyse_in_process`); `ANALYSES` names them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.agree_job import AgreeOptions, measure_rows
from nikawa.aggregation.agreement import classify_items, count_classes
from nikawa.aggregation.measure import MAX_CATEGORIES
from nikawa.aggregation.recheck import recheck_judgements
from nikawa.aggregation.rules import parse_rule
from nikawa.aggregation.spans import holds_spans
from nikawa.aggregation.structures import Structured, find_kind, structures_by_item
from nikawa.aggregation.table import Table
from nikawa.aggregation.trees import Tree, freeze_answers, holds_trees
from nikawa.aggregation.workers import ODD_PACE, median_seconds, none_for_nan, quality, wilson
from nikawa.collect.artifact_gate import analyse_artifacts
from nikawa.collect.dashboard import RECHECK, machine_rows, reported_items
from nikawa.collect.export import find_rankings, read_judgements
from nikawa.collect.project import Project, open_project
from nikawa.collect.store import Store, open_store
from nikawa.errors import BadInput
from nikawa.records import Judgement, is_person
from nikawa.serve.background import find_function, stream_in_process

PLACE_QUESTIONS = frozenset({"start"})
"""Questions that only say where another's answer is."""
MAX_CELLS = 50_000_000
"""Items times different answers beyond which answers are not compared: the table of counts is dense."""
MAX_ROWS_SHOWN = 100
MAX_RECHECKED = 1000
"""Answers in the queue of those that a machine and the other workers contradict."""
MAJORITY = parse_rule("majority").decider
MIN_SHARED_ANSWERS = 5
"""Minimum number of items that others answered too before a worker is compared with them."""


@dataclass
class Columns:
    """The answers to one question, side by side."""

    items: list[str] = field(default_factory=list)
    """The reference of the item of each answer."""
    workers: list[str] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    """As categories: see `_freeze_parts` and `_as_category`."""
    seconds: list[float] = field(default_factory=list)
    """NaN where no time was measured."""

    def table(self, question: str) -> Table:
        """The same as codes; the time is kept if it is known."""
        made = Table.from_columns(self.items, self.workers, self.answers, question)
        try:
            refuse_mixture(made)
        except (
            BadInput
        ):  # the form asked something else at some time: answers are compared as a whole
            answers = [_as_category(msgspec.to_builtins(one), False) for one in self.answers]
            made = Table.from_columns(self.items, self.workers, answers, question)
        return replace(made, seconds=np.array(self.seconds, dtype=np.float32))


def _analyse_judgements(project: Project, store: Store) -> dict[str, Any]:
    """Agreement by question, the map of workers, time per item, and what is flagged.

    Texts that workers write are not compared: of such a project only times, pay and reports are looked at.
    """
    is_written = project.form.writes  # no two texts of workers' own are meant to be equal
    columns = _read_columns(project, store)
    tables = {question: column.table(question) for question, column in columns.items()}
    first = next(iter(tables.values()), None)
    is_compared = (
        first is not None
        and not is_written
        and len(first.items) * len(first.categories) <= MAX_CELLS
    )
    workers = [] if first is None else _map_workers(first, is_compared)
    return {
        "writes": is_written,
        "agreement": [] if is_written else [measure_agreement(one) for one in tables.values()],
        "workers": workers,
        "time": None if first is None else _measure_times(first),
        "flagged": {
            "items": _flag_items(store, first, is_compared),
            "workers": [row for row in workers if row["flags"]][:MAX_ROWS_SHOWN],
        },
    }


def _read_columns(project: Project, store: Store) -> dict[str, Columns]:
    """The answers that count, by question, the project's own question first."""
    columns = {project.form.main_question(project.options): Columns()}
    is_ordered, rankings = hasattr(project.options, "low"), find_rankings(project)
    with store.connection() as db:
        for judgement in read_judgements(db, project):
            answer, seconds = judgement.answer, judgement.seconds
            if not is_person(judgement) or answer is None or judgement.question in PLACE_QUESTIONS:
                continue
            if project.form.writes:
                answer = ""
            elif judgement.question not in rankings:
                answer = _freeze_parts(judgement)
            column = columns.setdefault(judgement.question, Columns())
            column.items.append(judgement.example)
            column.workers.append(judgement.worker)
            column.answers.append(_as_category(answer, is_ordered))
            column.seconds.append(float("nan") if seconds is None else seconds)
    return {question: column for question, column in columns.items() if column.items}


def refuse_mixture(table: Table) -> None:
    """Raise `BadInput` for answers with parts of which some are of another sort than others."""
    find_kind(table)
    holds_spans(table)
    holds_trees(table)


def _freeze_parts(judgement: Judgement) -> Any:
    """An answer as `nikawa agree` compares it: spans, trees and other answers with parts by these; labels and numbers as they are."""
    try:
        (frozen,) = freeze_answers([judgement])
    except BadInput:  # answers that came in under other settings of the form
        return judgement.answer
    return frozen.answer


def _as_category(answer: Any, is_ordered: bool) -> Any:
    """An answer as a category: a number on a scale, a label, one with parts, the first of a ranking, else all of it."""
    if isinstance(answer, str | Structured | Tree | tuple):
        return answer
    if is_ordered and isinstance(answer, int | float):
        return answer
    if isinstance(answer, list) and answer and isinstance(answer[0], str):
        return answer[0]
    return msgspec.json.encode(answer, order="deterministic").decode()


def measure_agreement(table: Table) -> dict[str, Any]:
    """The measures of agreement on a question, and how many items have a majority."""
    figures: dict[str, Any] = {
        "question": table.question,
        "items": len(table.items),
        "workers": len(table.workers),
        "answers": len(table),
        "measures": [],
        "counts": {},
    }
    try:
        figures["measures"] = [
            msgspec.to_builtins(row) for row in measure_rows(table, AgreeOptions())
        ]
    except BadInput:  # no item has two answers yet
        return figures
    if len(table.categories) <= MAX_CATEGORIES:
        figures["counts"] = count_classes(table)
    return figures


def _map_workers(table: Table, is_compared: bool) -> list[dict[str, Any]]:
    """Each worker's place on the map: agreement with the others by speed; most answers first.

    `low` and `high` are Wilson's interval of the agreement. A worker whose whole interval is below the median of all
    is flagged `disagrees`.
    """
    if is_compared:
        shared = table.worker[table.per_item()[table.item] > 1]
        counts = np.bincount(shared, minlength=len(table.workers)).tolist()
        rows = [
            {**msgspec.to_builtins(row), "compared": count}
            for row, count in zip(quality(table), counts, strict=True)
        ]
    else:
        counts = table.per_worker().tolist()
        speed = none_for_nan(median_seconds(table))
        rows = [
            {"worker": name, "answers": count, "seconds": seconds}
            for name, count, seconds in zip(table.workers, counts, speed, strict=True)
        ]
    shares = [row["agreement"] for row in rows if row.get("agreement") is not None]
    usual = median(shares) if len(shares) > 2 else None
    for row in rows:
        share = row.setdefault("agreement", None)
        flags = list(row.get("flags", ()))
        row["low"] = row["high"] = None
        if share is not None:
            compared = row["compared"]
            row["low"], row["high"] = wilson(round(share * compared), compared)
            is_known = usual is not None and compared >= MIN_SHARED_ANSWERS
            if is_known and row["high"] < usual:  # all of the interval is below the usual
                flags.append("disagrees")
        row["flags"] = flags
    return sorted(rows, key=lambda row: (-row["answers"], row["worker"]))


def _item_seconds(table: Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The median time of each item: the same as that of a worker, with the two changed over."""
    return median_seconds(replace(table, worker=table.item, workers=table.items))


def _measure_times(table: Table) -> dict[str, Any] | None:
    """Time per item: the middle, the tenths at both ends, and the slowest items."""
    seconds = _item_seconds(table)
    known = np.flatnonzero(~np.isnan(seconds))
    if not len(known):
        return None
    low, middle, high = np.quantile(seconds[known], (0.1, 0.5, 0.9)).tolist()
    slow = known[np.argsort(-seconds[known], kind="stable")][:20]
    rows = [{"ref": table.items[i], "seconds": round(float(seconds[i]), 3)} for i in slow.tolist()]
    return {"items": len(known), "low": low, "median": middle, "high": high, "slowest": rows}


def _flag_items(store: Store, table: Table | None, is_compared: bool) -> list[dict[str, Any]]:
    """Items with a reason to look at them, those with most reasons first.

    Flags: `reported`, `set-aside`, and those of `find_odd_items` (`no-majority`, `slow`).
    """
    rows: dict[str, dict[str, Any]] = {}
    for ref, reports, is_set_aside in store.read(reported_items, MAX_ROWS_SHOWN):
        flags = ["reported", "set-aside"] if is_set_aside else ["reported"]
        rows[ref] = {"ref": ref, "flags": flags, "reports": reports}
    if table is not None:
        for ref, flag in _find_odd_items(table, is_compared):
            row = rows.setdefault(ref, {"ref": ref, "flags": [], "reports": 0})
            row["flags"].append(flag)
    ranked = sorted(
        rows.values(), key=lambda row: (-len(row["flags"]), -row["reports"], row["ref"])
    )
    return ranked[:MAX_ROWS_SHOWN]


def _find_odd_items(table: Table, is_compared: bool) -> Iterator[tuple[str, str]]:
    """Items without a majority, and items that take far longer than the usual one."""
    if (kind := find_kind(table)) is not None:
        for item, answers in zip(table.items, structures_by_item(table), strict=True):
            if len(answers) > 1 and kind.vote(answers, MAJORITY).state == "tied":
                yield item, "no-majority"
    elif is_compared and len(table.categories) <= MAX_CATEGORIES:
        for place in np.flatnonzero(classify_items(table)["none"]).tolist():
            yield table.items[place], "no-majority"
    seconds = _item_seconds(table)
    known = seconds[~np.isnan(seconds)]
    if len(known) > 2:
        with np.errstate(invalid="ignore"):
            slow = seconds > ODD_PACE * float(np.median(known))
        yield from ((table.items[place], "slow") for place in np.flatnonzero(slow).tolist())


def _analyse_recheck(project: Project, store: Store) -> dict[str, Any] | None:
    """The answers that a machine and the other workers contradict, the most doubtful first; None without answers of machines."""
    question = project.form.main_question(project.options)
    if project.form.writes:
        return None
    with store.connection() as db:
        if not machine_rows(db):
            return None
        rows = [row for row in read_judgements(db, project) if row.question == question]
    if question in find_rankings(project):
        rows = [
            msgspec.structs.replace(row, answer=_as_category(row.answer, False)) for row in rows
        ]
    try:
        report = recheck_judgements(rows, question)
    except BadInput:  # answers that are not compared, such as lists of their own shape
        return None
    if report is None:
        return None
    return {
        "compared": report.compared,
        "by_others": report.by_others,
        "answers": report.by_both,
        "items": report.items_to_check,
        "rows": [
            {"ref": row.example, "worker": row.worker, "doubt": row.doubt}
            for row in report.doubtful[:MAX_RECHECKED]
        ],
    }


Analysis = Callable[[Project, Store], Any]
ANALYSES: Mapping[str, Analysis] = {
    "judged": _analyse_judgements,
    "gate": analyse_artifacts,
    RECHECK: _analyse_recheck,
}
"""Name to a function of project and store; its result must be JSON."""


def in_process(analysis: Analysis) -> Analysis:
    """The same analysis, computed in a separate process."""
    name = f"{analysis.__module__}:{analysis.__qualname__}"

    def compute(project: Project, store: Store) -> Any:
        address = store.database.address
        blocks = stream_in_process(run_analysis, str(project.folder), address, name)
        return msgspec.json.decode(b"".join(blocks))

    return compute


def run_analysis(folder: str, database: str, name: str) -> Iterator[bytes]:
    """The JSON of an analysis, given as `module:function`, with a separate store."""
    project = open_project(Path(folder))
    with open_store(database, project.folder, project.name) as store:
        yield msgspec.json.encode(find_function(name)(project, store))
