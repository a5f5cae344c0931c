"""The round trip of an export: write the task for a tool, run the tool on it, score the tool's own log.

Three figures must be the same for every kind of task: what the tool prints, what `nikawa score` computes from the tool's log, and
the official metric of the answers that the scripted model gave. The logs are kept for `tests/seams/test_export.py`.
"""

from __future__ import annotations

import gzip
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.environments import ensure_data_folder
from tests.interop.export_items import (
    WALKS,
    PlannedReply,
    compute_expected,
    plan_replies,
    read_dataset,
    read_rows,
    write_dataset,
)

from nikawa.datasets.load import load
from nikawa.exchange.base import Row
from nikawa.exchange.job import ToolOptions, export_to_tool
from nikawa.records import CLASS_KINDS, Task

SHOTS = 2
FIGURES = "export_figures.json"


@dataclass(frozen=True)
class Walk:
    """The export of one kind of task, and what must come out."""

    kind: str
    dataset: Path
    task: Task
    folder: Path
    """The export."""
    name: str
    """The task in the tool."""
    rows: list[Row]
    plans: dict[str, PlannedReply]
    expected: dict[str, float]

    @property
    def is_closed(self) -> bool:
        """Whether log-likelihoods can choose the answer."""
        return self.task.kind in CLASS_KINDS


def export_kinds(tool: str, work: Path, kinds: Iterable[str] = WALKS) -> list[Walk]:
    """Write a dataset of each kind and export it, with few-shot examples."""
    walks = []
    for kind in kinds:
        path = write_dataset(kind, work)
        task, examples = read_dataset(path)
        folder = work / f"export-{kind}"
        report = export_to_tool(
            load(str(path)), [task], tool, folder, ToolOptions(shots=SHOTS, split="test")
        )
        name = report.tasks[0].name
        rows = read_rows(folder, name)
        plans = plan_replies(task, examples, rows)
        expected = compute_expected(task, examples, rows, plans)
        walks.append(Walk(kind, path, task, folder, name, rows, plans, expected))
    return walks


def make_reply(walks: Sequence[Walk]) -> Callable[[str], str]:
    """What the scripted model says: the planned reply to the question at the end of the message."""
    replies = {text: plan.reply for walk in walks for text, plan in walk.plans.items()}
    assert len(replies) == sum(len(walk.rows) for walk in walks), "a question occurs twice"

    def reply(message: str) -> str:
        if message in replies:
            return replies[message]
        return next(reply for text, reply in replies.items() if message.rstrip().endswith(text))

    return reply


def score_log(dataset: Path, log: Path, *more: str) -> dict[str, float]:
    """The scores of `nikawa score` for a log, and the share of unread replies."""
    command = [sys.executable, "-m", "nikawa", "score", f"{dataset}:test", str(log), "--json"]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    figures = {row["metric"]: row["value"] for row in report["scores"] if row["mode"] == "official"}
    return {**figures, "unread": report["unparsed"] / report["n"]}


def compare_figures(walk: Walk, printed: Mapping[str, float], scored: Mapping[str, float]) -> None:
    """Check that the three figures of each metric are the same."""
    for name, value in walk.expected.items():
        for source, figures in (("the tool", printed), ("nikawa score", scored)):
            other = figures[name]
            same = math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)
            assert same, f"{walk.name} {name}: {source} says {other}, official is {value}"


def keep_logs(tool: str, logs: Mapping[str, tuple[Walk, Path, Mapping[str, Any]]]) -> None:
    """Keep the logs under their names, with the figures that the tool printed; Parquet is packed, since it is mostly schema."""
    folder = ensure_data_folder(tool)
    figures: dict[str, Any] = {}
    for name, (walk, log, printed) in sorted(logs.items()):
        if log.suffix == ".parquet":
            (folder / f"{name}.gz").write_bytes(gzip.compress(log.read_bytes(), 9, mtime=0))
        else:
            shutil.copy(log, folder / name)
        figures[name] = {"kind": walk.kind, "figures": {**printed}}
    text = json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True)
    (folder / FIGURES).write_text(text + "\n", encoding="utf-8")
