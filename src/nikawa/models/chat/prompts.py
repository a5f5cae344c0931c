"""Prompt files: plain text in sections, with `{slots}` for what differs from example to example.

A file is `KIND.LANGUAGE.txt`, or `TASK.LANGUAGE.txt` where a task has words of its own. `== system ==` and
`== user ==` are sent; `== labels ==` names the words a label is shown by. See docs/chat.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Literal

from nikawa.errors import BadInput, suggest
from nikawa.io.lines import read_whole
from nikawa.models.base import get_gold
from nikawa.models.chat.journal import compute_digest
from nikawa.records import Example, Kind, Task

PROMPTS_FOLDER = Path(__file__).parents[1] / "prompts"
GUIDE = "see docs/chat.md"
SECTIONS = ("system", "user", "labels")
SLOTS: dict[Kind, tuple[str, ...]] = {
    "text": ("text", "options"),
    "inference": ("premise", "hypothesis", "options"),
    "similarity": ("sentence1", "sentence2", "low", "high"),
    "choice": ("question", "options"),
    "reading": ("title", "context", "question", "none"),
    "tagging": ("text", "options"),
    "relation": ("text", "subject", "object", "marked", "options"),
    "tree": ("text", "words", "options"),
    "dialogue": ("turns", "options"),
}
"""What a prompt may name, by kind of task; the inputs of the task under their own names besides."""
NOT_INPUTS = ("options", "low", "high", "none")
"""Slots that are the same for all examples; the options of a choice are not."""

_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEAD = re.compile(r"==\s*(\w+)\s*==\s*")

Line = tuple[int, str]


@dataclass(frozen=True)
class Template:
    """A prompt file, read and checked."""

    name: str
    """The name of the file, without its folder."""
    version: str
    """A digest of what it says."""
    system: tuple[str, ...]
    user: tuple[str, ...]
    labels: Mapping[str, str]

    def filled(self, part: str, slots: Mapping[str, str]) -> str:
        """A section with its slots filled; a line that names an input the task leaves out is left out with it."""
        lines = []
        for line in getattr(self, part):
            if all(name in slots for name in _SLOT.findall(line)):
                lines.append(_SLOT.sub(lambda found: slots[found[1]], line))
        return "\n".join(lines).strip()


def find_template(task: Task, language: str, given: str = "") -> Template:
    """The prompt of a task: the file given, else that of the task, its dataset or its kind."""
    if given:
        return read_template(Path(given), task)
    for name in (task.name, task.dataset, task.kind):
        path = PROMPTS_FOLDER / f"{name}.{language}.txt"
        if path.is_file():
            return read_template(path, task)
    what = f"there is no prompt for {task.kind} tasks in {language!r}"
    raise BadInput(what, cure=f"give one with prompt=FILE, or set language; {GUIDE}")


def read_template(path: Path, task: Task) -> Template:
    """Read and check a prompt file; faults are told with their lines."""
    parts = _sections(path, read_whole(path).split("\n"))
    known = {*SLOTS[task.kind], *task.inputs}
    common = {
        name
        for name in NOT_INPUTS
        if name in known and not (name == "options" and task.kind == "choice")
    }
    _check_slots(path, parts["user"], known, known)
    _check_slots(path, parts["system"], known, common)
    used = {
        name
        for part in ("system", "user")
        for _, line in parts[part]
        for name in _SLOT.findall(line)
    }
    _check_use(path, task, parts, used)
    labels = dict(_label(path, line) for line in parts["labels"] if line[1].strip())
    plain = {part: tuple(line for _, line in parts[part]) for part in ("system", "user")}
    return Template(
        path.name, compute_digest(plain, labels), plain["system"], plain["user"], labels
    )


def _sections(path: Path, lines: Iterable[str]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    current: list[Line] | None = None
    for number, line in enumerate(lines, start=1):
        head = _HEAD.fullmatch(line)
        if head:
            if head[1] not in SECTIONS or head[1] in found:
                what = (
                    f"the section {head[1]!r} is {'there twice' if head[1] in found else 'unknown'}"
                )
                raise BadInput(
                    what, file=path, line=number, cure=f"sections: {', '.join(SECTIONS)}"
                )
            current = found.setdefault(head[1], [])
        elif current is not None:
            current.append((number, line))
        elif line.strip() and not line.startswith("#"):
            cure = "begin with == system == or == user ==; notes before it begin with #"
            raise BadInput("stands before the first section", file=path, line=number, cure=cure)
    if "user" not in found:
        raise BadInput("has no section == user ==", file=path, cure=GUIDE)
    return {name: found.get(name, []) for name in SECTIONS}


def _check_slots(path: Path, lines: list[Line], known: set[str], here: set[str]) -> None:
    for number, line in lines:
        for name in _SLOT.findall(line):
            if name not in known:
                what = f"there is no slot {{{name}}} in prompts of this kind"
                raise BadInput(what, file=path, line=number, cure=suggest(name, known))
            if name not in here:
                what = f"{{{name}}} differs from example to example"
                raise BadInput(what, file=path, line=number, cure="name it in the section user")


def _check_use(path: Path, task: Task, parts: dict[str, list[Line]], used: set[str]) -> None:
    """A prompt must show the example, and the options where there are some."""
    asked = {name for _, line in parts["user"] for name in _SLOT.findall(line)}
    if not asked - {*NOT_INPUTS}:
        cure = f"name at least one of: {', '.join(sorted({*SLOTS[task.kind], *task.inputs} - {*NOT_INPUTS}))}"
        raise BadInput("the section user shows nothing of the example", file=path, cure=cure)
    if "options" in SLOTS[task.kind] and "options" not in used:
        raise BadInput("does not show the answers to choose from", file=path, cure="name {options}")


def _label(path: Path, line: Line) -> tuple[str, str]:
    name, equals, word = line[1].partition("=")
    if not equals or not name.strip() or not word.strip():
        raise BadInput("is not LABEL = WORD", file=path, line=line[0], cure=GUIDE)
    return name.strip(), word.strip()


def draw_shots(
    task: Task, pool: Sequence[Example], count: int | Literal["all"], seed: int
) -> list[Example]:
    """A first drawn example of each label, then a second, …; all of them in an order of their own in the end.

    One more than asked for is drawn, where there is one, to stand in for an example that is itself the question.
    """
    if count == 0:
        return []
    gold = get_gold(task, pool)
    wanted = len(pool) if count == "all" else count
    if wanted > len(pool):
        raise BadInput(
            f"{wanted} shots cannot be drawn from {len(pool)} examples", cure="set shots lower"
        )
    groups: dict[str, list[tuple[str, int]]] = {name: [] for name in map(str, task.labels)}
    for i, (example, value) in enumerate(zip(pool, gold, strict=True)):
        groups.setdefault(_group(task, value), []).append(
            (compute_digest(seed, example.id, example.inputs), i)
        )
    rounds = zip_longest(*(sorted(group) for group in groups.values()))
    drawn = [found for found in chain.from_iterable(rounds) if found is not None][: wanted + 1]
    return [pool[i] for _, i in (*sorted(drawn[:wanted]), *drawn[wanted:])]


def _group(task: Task, value: Any) -> str:
    """What the draw is balanced by."""
    if task.kind == "similarity":
        return str(round(float(value)))
    if task.kind in ("reading", "tagging", "dialogue"):
        return str(bool(value))
    return "" if task.kind == "tree" else str(value)


def drop_same_question(
    task: Task, shots: Sequence[Example], example: Example, count: int
) -> list[Example]:
    """The first `count` that do not ask what `example` asks."""
    asked = [example.inputs.get(name) for name in task.inputs]
    return [shot for shot in shots if [shot.inputs.get(name) for name in task.inputs] != asked][
        :count
    ]
