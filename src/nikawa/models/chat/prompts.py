"""Prompt files and few-shot examples.

A prompt is plain text in sections, with `{slots}` for the parts that differ between examples. A file
is `KIND.LANGUAGE.txt`, or `TASK.LANGUAGE.txt` if a task has its own wording. `== system ==` and
`== user ==` are sent; `== labels ==` lists the words that represent the labels. See docs/chat.md.

Few-shot examples are drawn by seed and item, as many of each label as can be, the same for every
question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Literal

from nikawa.datasets.task_lookup import card_and_language
from nikawa.errors import BadInput, suggest
from nikawa.io.lines import read_whole
from nikawa.models.base import get_gold
from nikawa.models.chat.journal import compute_digest
from nikawa.records import Example, Kind, Task
from nikawa.text.conjugation_ko import attach

PROMPTS_FOLDER = Path(__file__).parents[1] / "prompts"
FIRST_VERSIONS = frozenset(
    {
        "70c7f036e23e50ff4623952a309c539f",  # choice.ja.txt
        "160faec193381fba220615a2fdfb42fb",  # choice.ko.txt
        "dae6a36bcecee549c70ddfd3589ee54f",  # dialogue.ja.txt
        "b5b480307131a665ce367c40ddc0dd17",  # dialogue.ko.txt
        "964dbfe10d7b66f50f022ea13370fdfe",  # inference.en.txt
        "fc3bfca5808ce95b636230ad3ce66b25",  # inference.ja.txt
        "2d310b3eeead5e22c0c355c4dcae768f",  # inference.ko.txt
        "69af63db3296c9a7a8e6b1c3a031021b",  # jcola.ja.txt
        "6b38db2a2e241f7ac56bce49b4a54d4c",  # marc-ja.ja.txt
        "5e9a918a57e2b8c085d6e4e9f93e6d6e",  # reading.ja.txt
        "2aa131525154b4e6688ab8e4cd0df755",  # reading.ko.txt
        "134530b67d80b43e9b0696584f8f5669",  # relation.ja.txt
        "bbeaa96e6486742c1b54c884505aa50d",  # relation.ko.txt
        "76a336000715cb818fc3be880ab0ba41",  # similarity.en.txt
        "b7b51ad48f6c8568dc0d54efec778a46",  # similarity.ja.txt
        "b2f63df37714e8bb88965585a6a14a0c",  # similarity.ko.txt
        "5478fe802d5c5bd6021834fd45f3b819",  # tagging.ja.txt
        "614b560c54b96990d3733ad95a67bb2e",  # tagging.ko.txt
        "46f19fa0905c9f6d570228a31a525617",  # text.ja.txt
        "d552217f5e5c0618ec04eee2fc9182c2",  # text.ko.txt
        "576c79dd13daa5e5127cc3855aae87e3",  # tree.ja.txt
        "017e66fdbf5e569a1907abc361485e44",  # tree.ko.txt
        "f344b46e2c04fcf48b919f6278a6c2cd",  # wos.ko.txt
        "b59d3650f6c70e0448472f6b8d464167",  # ynat.ko.txt
    }
)
"""The prompts of 0.1.0, which add no version to the hash of a run, so that such runs keep their hash.
Never add to it: a prompt that is changed, or new, must make other runs."""
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
"""Slots that a prompt may use, by kind of task, in addition to the inputs of the task."""
NOT_INPUTS = ("options", "low", "high", "none")
"""Slots that are the same for all examples; the options of a choice are not."""

_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NUMBER_WITH_PARTICLE = re.compile(r"\{(low|high)\}(은|는|이|가|을|를|과|와|으로|로)(?![가-힣])")
"""A number of the scale and the Korean particle after it, whose form depends on the reading of the number."""
_HEAD = re.compile(r"==\s*(\w+)\s*==\s*")

NumberedLine = tuple[int, str]


@dataclass(frozen=True)
class Template:
    """A prompt file, read and checked."""

    name: str
    """The name of the file, without its folder."""
    version: str
    """A digest of its content."""
    system: tuple[str, ...]
    user: tuple[str, ...]
    labels: Mapping[str, str]

    def names_slot(self, name: str) -> bool:
        """Whether the prompt shows a slot."""
        return any(name in _SLOT.findall(line) for line in (*self.system, *self.user))

    def fill(self, section: str, slots: Mapping[str, str]) -> str:
        """A section with its slots filled.

        A line with an input that the task hides is dropped.
        """
        lines = []
        for line in getattr(self, section):
            names = _find_slots(line)
            if all(name in slots for name in names):
                text = line
                if "low" in names or "high" in names:
                    text = _NUMBER_WITH_PARTICLE.sub(
                        lambda match: attach(slots[match[1]], match[2]), line
                    )
                lines.append(_SLOT.sub(lambda match: slots[match[1]], text) if names else text)
        return "\n".join(lines).strip()


@lru_cache
def _find_slots(line: str) -> tuple[str, ...]:
    """The slots of a line. A prompt is filled once per example, and its lines are searched once."""
    return tuple(_SLOT.findall(line))


def find_template(task: Task, language: str, path: str = "") -> Template:
    """The prompt of a task: the file at `path`, else that of the task, its dataset or its kind."""
    if path:
        return read_template(Path(path), task)
    for name in (task.name, task.dataset, task.kind):
        file = PROMPTS_FOLDER / f"{name}.{language}.txt"
        if file.is_file():
            return read_template(file, task)
    what = f"there is no prompt for {task.kind} tasks in {language!r}"
    raise BadInput(what, cure=f"pass one with prompt=FILE, or set language; {GUIDE}")


def find_prompt_version(task: Task, settings: Mapping[str, Any]) -> dict[str, str]:
    """The version, by name, of the prompt that defines a run. Empty for prompts of 0.1.0, and for a
    user's prompt, whose content already defines the run.
    """
    if settings.get("prompt"):
        return {}
    templates: dict[str, Template] = {}
    for language in ("ja", "ko", "en"):
        with suppress(BadInput):  # there is no prompt in this language
            templates[language] = find_template(task, language)
    changed = {
        language: template
        for language, template in templates.items()
        if template.version not in FIRST_VERSIONS
    }
    if not changed:
        return {}
    language = settings.get("language", "auto")
    if language == "auto":
        _, language = card_and_language(task.dataset)
    template = changed.get(language)
    return {} if template is None else {template.name: template.version}


def read_template(path: Path, task: Task) -> Template:
    """Read and check a prompt file; a fault is reported with its line."""
    sections = _split_sections(path, read_whole(path).split("\n"))
    known = {*SLOTS[task.kind], *task.inputs}
    common = {name for name in NOT_INPUTS if name in known}
    if task.kind == "choice":
        common.discard("options")
    in_user = _check_slots(path, sections["user"], known, known)
    in_system = _check_slots(path, sections["system"], known, common)
    if not in_user - {*NOT_INPUTS}:
        cure = f"use at least one of the slots: {', '.join(sorted(known - {*NOT_INPUTS}))}"
        raise BadInput("the section user contains no input of the example", file=path, cure=cure)
    if "options" in SLOTS[task.kind] and "options" not in in_user | in_system:
        raise BadInput("does not list the possible answers", file=path, cure="add {options}")
    labels: dict[str, str] = {}
    for number, line in sections["labels"]:
        if not line.strip():
            continue
        name, equals, word = line.partition("=")
        if not equals or not name.strip() or not word.strip():
            raise BadInput("is not of the form LABEL = WORD", file=path, line=number, cure=GUIDE)
        labels[name.strip()] = word.strip()
    plain = {name: tuple(line for _, line in sections[name]) for name in ("system", "user")}
    version = compute_digest(plain, labels)
    return Template(path.name, version, plain["system"], plain["user"], labels)


def _split_sections(path: Path, lines: Iterable[str]) -> dict[str, list[NumberedLine]]:
    """The lines of each section with their numbers."""
    sections: dict[str, list[NumberedLine]] = {}
    current: list[NumberedLine] | None = None
    for number, line in enumerate(lines, start=1):
        head = _HEAD.fullmatch(line)
        if head:
            name = head[1]
            if name not in SECTIONS or name in sections:
                what = f"the section {name!r} is {'repeated' if name in sections else 'unknown'}"
                cure = f"use each once: {', '.join(SECTIONS)}"
                raise BadInput(what, file=path, line=number, cure=cure)
            current = sections.setdefault(name, [])
        elif current is not None:
            current.append((number, line))
        elif line.strip() and not line.startswith("#"):
            cure = "start with == system == or == user ==; start a note with #"
            raise BadInput("is before the first section", file=path, line=number, cure=cure)
    if "user" not in sections:
        raise BadInput("has no section == user ==", file=path, cure=GUIDE)
    return {name: sections.get(name, []) for name in SECTIONS}


def _check_slots(
    path: Path, lines: list[NumberedLine], known: set[str], allowed: set[str]
) -> set[str]:
    """The slots of a section; raises BadInput for one that is unknown or not allowed there."""
    names = set()
    for number, line in lines:
        for name in _SLOT.findall(line):
            if name not in known:
                what = f"there is no slot {{{name}}} in prompts of this kind"
                raise BadInput(what, file=path, line=number, cure=suggest(name, known))
            if name not in allowed:
                what = f"{{{name}}} has a different value for each example"
                raise BadInput(what, file=path, line=number, cure="use it in the section user")
            names.add(name)
    return names


def draw_shots(
    task: Task, pool: Sequence[Example], count: int | Literal["all"], seed: int
) -> list[Example]:
    """Draw few-shot examples: one of each label, then a second of each, and so on.

    Their order does not depend on their labels. One more than `count` is drawn, if possible, to
    replace an example that is itself the question.
    """
    if count == 0:
        return []
    gold = get_gold(task, pool)
    size = len(pool) if count == "all" else count
    if size > len(pool):
        what = f"{size} shots cannot be drawn from {len(pool)} examples"
        raise BadInput(what, cure="set a smaller number of shots")
    groups: dict[str, list[tuple[str, int]]] = {name: [] for name in map(str, task.labels)}
    for place, (example, value) in enumerate(zip(pool, gold, strict=True)):
        key = compute_digest(seed, example.id, example.inputs)
        groups.setdefault(_coarsen_answer(task, value), []).append((key, place))
    rounds = zip_longest(*(sorted(group) for group in groups.values()))
    drawn = [entry for entry in chain.from_iterable(rounds) if entry is not None]
    chosen, spare = sorted(drawn[:size]), drawn[size : size + 1]
    return [pool[place] for _, place in (*chosen, *spare)]


def _coarsen_answer(task: Task, value: Any) -> str:
    """The value that the draw is balanced by: the label, or a coarse form of another answer."""
    if task.kind == "similarity":
        return str(round(float(value)))
    if task.kind in ("reading", "tagging", "dialogue"):
        return str(bool(value))
    return "" if task.kind == "tree" else str(value)


def drop_same_question(
    task: Task, shots: Sequence[Example], example: Example, count: int
) -> list[Example]:
    """The first `count` shots that differ from the question of `example`."""

    def inputs(shown: Example) -> list[Any]:
        return [shown.inputs.get(name) for name in task.inputs]

    question = inputs(example)
    return [shot for shot in shots if inputs(shot) != question][:count]
