"""What an export to another tool consists of: the description of a task, and the declaration of a tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from nikawa.exchange.copy_code import CodeCopy
from nikawa.exchange.scoring import READERS, UNREAD
from nikawa.metrics import metrics
from nikawa.records import CLASS_KINDS, Card, Kind, Task
from nikawa.version import __version__

Row = dict[str, Any]
"""One item as the tool's data file holds it; `describe.py` lists the fields."""
PROMPT, ANSWER, CHOICES, TARGET, NOTE = (
    "nikawa_prompt",
    "nikawa_answer",
    "nikawa_choices",
    "nikawa_target",
    "nikawa",
)
"""Fields of a row: the rendered question, the gold answer as the prompt asks for it, the keys to choose from, the place of the
right one, and the note that `nikawa score` reads in the tool's log."""


@dataclass(frozen=True)
class TaskExport:
    """One task of a dataset, rendered: everything that a tool needs, in no tool's form."""

    name: str
    """The stem of the names in the tool: `nikawa_jnli`."""
    task: Task
    title: str
    """The name of the dataset."""
    version: str
    card: Card
    language: str
    prompt: str
    """The name of the prompt file."""
    system: str
    shots: tuple[Row, ...]
    seed: int
    splits: dict[str, tuple[Row, ...]]
    """Split to its rows; rows of items with hidden labels have no gold."""
    offer: Mapping[str, Any]
    """The options of the prompt, which a reader of replies needs."""
    max_tokens: int

    @property
    def is_choice(self) -> bool:
        """Whether the answer is one of a few keys, so that likelihoods can choose it."""
        return self.task.kind in CLASS_KINDS

    def split_name(self, split: str) -> str:
        """The name of a split's task in the tool."""
        return f"{self.name}_{plain_name(split)}"

    def is_hidden(self, split: str) -> bool:
        """Whether no item of the split has a label."""
        return not any("gold" in row for row in self.splits[split])

    def metric_names(self, split: str, *, has_scores: bool = False) -> list[str]:
        """What a tool reports for a split: the metrics of the task that can be computed, and the unread replies."""
        names = [] if self.is_hidden(split) else list(self.task.metrics)
        if not has_scores:
            names = [name for name in names if not metrics()[name].needs_scores]
        return [*names, UNREAD]

    @property
    def about(self) -> dict[str, Any]:
        """The description for `ReplyScorer`, as JSON holds it."""
        task = self.task
        own = [metrics()[name] for name in task.metrics]
        renamed = {plain_name(split): split for split in self.splits if plain_name(split) != split}
        return {
            "nikawa": __version__,
            **({"splits": renamed} if renamed else {}),
            "dataset": {
                "name": self.title,
                "version": self.version,
                "licence": self.card.licence,
            },
            "task": {
                "name": task.name,
                "dataset": self.title,
                "kind": task.kind,
                "question": task.question,
                "inputs": list(task.inputs),
                "labels": list(task.labels),
                "metrics": list(task.metrics),
                "scale": list(task.scale) if task.scale else None,
                "unit": task.unit,
            },
            "offer": dict(self.offer),
            "kept_inputs": sorted({name for metric in own for name in metric.needs_inputs}),
            "metrics": {
                metric.name: {
                    "scale": metric.scale(task),
                    "needs_scores": metric.needs_scores,
                    "higher_is_better": metric.better == "higher",
                }
                for metric in own
            },
        }


@dataclass(frozen=True)
class ToolExport:
    """What is written for a tool: all tasks of a dataset, and the version of the tool."""

    tasks: tuple[TaskExport, ...]
    tool_version: str
    title: str
    card: Card


@dataclass(frozen=True)
class Tool:
    """A tool that Nikawa can export to; a file of `tools/` declares it under the name `TOOL`."""

    name: str
    """As `--to` names it."""
    about: str
    """One sentence for a person."""
    versions: tuple[str, ...]
    """The versions that exports were run with, the newest first."""
    write: Callable[[ToolExport], Iterator[tuple[str, str]]]
    """Path below the folder and content of every file."""
    kinds: tuple[Kind, ...] = get_args(Kind)
    """The kinds of task that it can ask and score exactly."""
    refused: Mapping[Kind, str] = field(default_factory=dict)
    """Why it cannot express the other kinds."""
    needs_gold: bool = False
    """Whether it cannot run a task without labels."""
    metrics: Mapping[str, str] | None = None
    """Metric to its name in the tool, if the tool computes only its own; None: exports bring the official metrics."""


def plain_name(text: str) -> str:
    """A name of small letters, digits and underscores, as all tools accept it.

    >>> plain_name("klue-nli"), plain_name("港の文")
    ('klue_nli', 'u6e2f_u306e_u6587')
    """
    signs = [
        sign
        if sign.isascii() and sign.isalnum()
        else "_"
        if sign.isascii()
        else f"_u{ord(sign):x}_"
        for sign in text.lower()
    ]
    return "_".join(part for part in "".join(signs).split("_") if part) or "task"


def write_rows(rows: Sequence[Row]) -> str:
    """Rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def data_file(name: str) -> str:
    """The file with the rows of a split or the few-shot examples, below the folder."""
    return f"data/{name}.jsonl"


def write_module(export: TaskExport, tool: str, glue: str, imports: Sequence[str] = ()) -> str:
    """A Python file for a tool: its glue, then a copy of the reader and the metrics of the task.

    `glue` uses `ABOUT`, the description of the task, and `SCORER`, a `ReplyScorer`.
    """
    copy = CodeCopy()
    copy.add("nikawa.exchange.scoring", "ReplyScorer")
    reader = READERS[export.task.kind].__name__
    copy.add("nikawa.exchange.scoring", reader)
    evaluate = {}
    for name in export.task.metrics:
        function = metrics()[name].evaluate
        copy.add(function.__module__, function.__name__)
        evaluate[name] = function.__name__
    own = {"import json", "import sys", "from pathlib import Path", "from types import ModuleType"}
    own.update(imports)
    lines = sorted({*copy.imports, *own}, key=lambda line: (line.startswith("from"), line))
    table = "".join(f"        {name!r}: {function},\n" for name, function in evaluate.items())
    # an apostrophe occurs only inside JSON strings, where it may be escaped
    about = json.dumps(export.about, ensure_ascii=False, indent=1).replace("'", "\\u0027")
    return f'''"""{export.title} ({export.task.name}) for {tool}. Written by Nikawa {__version__}; do not edit.

The official metric: Nikawa's own code if Nikawa is installed in this environment, else the copy of it below.
"""

from __future__ import annotations

{chr(10).join(lines)}

# Dataclasses look their module up; some tools register it only after they ran it.
sys.modules.setdefault(__name__, ModuleType(__name__))
FOLDER = Path(__file__).parent
ABOUT = json.loads(
    r\'\'\'
{about}
\'\'\'
)


{glue.strip()}


# A copy of Nikawa's reader of replies and of the official metrics of this task, used where Nikawa is not installed.


{copy.body}

def copied_scorer() -> ReplyScorer:
    """The scorer from the copy in this file."""
    evaluate = {{
{table}    }}
    return ReplyScorer(ABOUT, {reader}, evaluate)


def find_scorer() -> ReplyScorer:
    """The scorer of the installed Nikawa, else the copy."""
    try:
        from nikawa.exchange.scoring import load_scorer
    except ImportError:
        return copied_scorer()
    return load_scorer(ABOUT)


SCORER = find_scorer()
'''
