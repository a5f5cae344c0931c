"""Task sheets: the items that people are asked about, as files that annotation pages and
spreadsheets read.

A sheet is a folder with `tasks.jsonl` (the items as records), `tasks.csv` (the same for a
spreadsheet) and `sheet.json` (the question about them). Builds write one per question, analyses
write one for suspected label errors, and the annotation server takes them as a project.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json, pack_json
from nikawa.io.jsonl import encode_record
from nikawa.records import Example, Record

SHEET, TASKS, CELLS = "sheet.json", "tasks.jsonl", "tasks.csv"
PEOPLE = "people"
"""The folder of a build that holds its sheets."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet computes."""
READING_ORDER = (
    "title",
    "context",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "english",
    "japanese",
    "marked",
    "text",
    "source",
    "relation",
    "targets",
    "question",
    "choices",
    "answer",
    "candidates",
    "votes",
    "check",
)
"""The reading order of the columns of a sheet: a text comes after the text it is compared with. Files order
inputs by name."""
ANSWER_SHAPES = {
    "choice": "one of the labels",
    "inference": "entailment, contradiction or neutral",
    "relation": "one of the relations",
    "ranked": "labels, the best first, as a list or with > between",
    "multiple-selection": "labels, as a list or with | between",
    "scale": "a number of the scale",
    "multiple-choice": "the number of a choice, from 0, or its text",
    "write-hypotheses": "so many texts, as a list or a line each",
    "write-contradictions": "so many texts, as a list or a line each",
    "write-question": "so many {question, answer}, as a list or two lines each",
    "further-answers": "a text",
    "reading": "a {type, question, answer} for each type, as a list or two lines each: question and answer",
    "reading-answers": "{text, start}, or a text of the passage, or no-answer",
    "concept-question": "a text",
    "free-text": "a text, or as many as are asked for, as a list or a line each",
    "translation": "a text in the language of the data",
    "distractors": "so many texts, as a list or a line each",
    "span-tagging": "a list of {start, end, label}, or the text with <span:LABEL> in it",
    "dialogue": "{how, turns}, a turn being {role, text, state}",
    "dialogue-states": "the state after each turn of the user, a list of lists of domain-slot-value",
    "acceptability": "one of the labels",
    "preference": "a, b or tie",
    "best-worst": "the letter of the best choice, from A, or its text",
    "tree": "{heads, labels}, or head:LABEL for each word with blanks between, the root 0:LABEL",
}
"""Form to the shape of an answer, in words."""


class Sheet(Record, frozen=True, kw_only=True):
    """The question for people: `sheet.json` next to the tasks, for the annotation pages and for
    readers.
    """

    recipe: str
    name: str
    title: str
    form: str
    question: str
    prompt: str
    labels: tuple[str, ...]
    scale: tuple[float, float] | None
    texts: int
    """How many texts a worker writes, where texts are asked for."""
    workers: int
    """How many different workers answer about each item."""
    items: int
    answer: str
    """The shape of an answer, in words."""
    language: str
    tasks: str
    """Digest of the items."""
    reports: tuple[str, ...] = ()
    """Words that hand an item back, instead of an answer."""
    heading: str = ""
    """What the task is called at the head of a worker's page."""
    guideline: tuple[str, ...] = ()
    """What workers keep to, a point each; the form's own guideline when empty."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """What a label, an input or a report (`report_CODE`) is called on the page."""
    anchors: dict[str, str] = msgspec.field(default_factory=dict)
    """What the numbers of a scale stand for, by number."""
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    """Further settings of the form."""
    simulated: bool = False
    """Whether the items come from answers of simulated workers: such a sheet is a rehearsal."""


LATER_FIELDS = ("heading", "guideline", "names", "anchors", "settings", "simulated")
"""Fields that sheets of earlier versions lack; they are written where they say something, so that a sheet that needs none
of them has the bytes it always had."""


def digest_values(*parts: Any) -> str:
    """A short digest of plain values."""
    return blake2b(encode_json(parts), digest_size=16).hexdigest()


def digest_items(examples: Sequence[Example]) -> str:
    """The digest of a sheet's items: their ids and inputs."""
    return digest_values([e.id for e in examples], [e.inputs for e in examples])


def write_task_sheet(
    folder: Path, sheet: Sheet, examples: Sequence[Example], *, overwrite: bool = False
) -> None:
    """Write the three files of a sheet.

    Of the examples people see ids and inputs, no gold and nothing of how they were made.
    """
    with atomic_write(folder / TASKS, overwrite=overwrite) as stream:
        for example in examples:
            shown = Example(id=example.id, inputs=example.inputs, group=example.group)
            stream.write(encode_record(shown) + b"\n")
    write_cells(folder / CELLS, examples)
    table = {
        name: value
        for name, value in msgspec.to_builtins(sheet).items()
        if value or name not in LATER_FIELDS
    }
    if (
        sheet.settings
    ):  # pages show the entries of a file, such as the domains of an ontology, in its order
        table["settings"] = {
            name: msgspec.Raw(msgspec.json.encode(value)) for name, value in sheet.settings.items()
        }
    with atomic_write(folder / SHEET, overwrite=overwrite) as stream:
        stream.write(msgspec.json.format(pack_json(table), indent=2) + b"\n")


def write_cells(path: Path, examples: Iterable[Example]) -> None:
    """Items as a CSV sheet: id and inputs; lists as lines of a cell.

    If items have spans, a column `marked` shows them in the text: a spreadsheet cannot draw them, and you correct
    them by editing that text. It opens in spreadsheets as UTF-8. Workers write some of the texts: one that a spreadsheet would
    take for a formula gets an apostrophe in front.
    """
    rows = [(example.id, {**example.inputs, **mark_spans(example.inputs)}) for example in examples]
    names = {name for _, inputs in rows for name in inputs}
    columns = [name for name in READING_ORDER if name in names]
    columns += sorted(names.difference(columns))
    with atomic_write(path, overwrite=True) as stream, io.StringIO() as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["example", *columns])
        for name, inputs in rows:
            cells = [format_cell(inputs.get(column)) for column in columns]
            writer.writerow([format_cell(name), *cells])
        stream.write(b"\xef\xbb\xbf" + text.getvalue().encode())


def mark_spans(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return the text with its spans written into it, as the input `marked`; empty without spans.

    >>> mark_spans({"text": "윤가람은 왔다.", "spans": [{"start": 0, "end": 3, "label": "PS"}]})
    {'marked': '<윤가람:PS>은 왔다.'}
    """
    plain = msgspec.to_builtins(dict(inputs))
    text, spans = plain.get("text"), plain.get("spans")
    marks: list[tuple[dict[str, Any], str, str]] = []
    if isinstance(spans, list):
        marks = [(span, "<", f":{span['label']}>") for span in spans]
    elif {"subject", "object"} <= plain.keys():
        short = (("subject", "subj"), ("object", "obj"))
        marks = [(plain[name], f"<{tag}>", f"</{tag}>") for name, tag in short]
    if not isinstance(text, str) or not marks:
        return {}
    for span, before, after in sorted(marks, key=lambda mark: -int(mark[0]["start"])):
        start, end = span["start"], span["end"]
        text = f"{text[:start]}{before}{text[start:end]}{after}{text[end:]}"
    return {"marked": text}


def format_cell(value: Any) -> str:
    """A value as a cell of a spreadsheet that computes nothing.

    >>> format_cell(["a", "b"]), format_cell("=1+1")
    ('a\\nb', "'=1+1")
    """
    if value is None:
        return ""
    text = "\n".join(map(_plain, value)) if isinstance(value, list | tuple) else _plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()


def unquote_cell(cell: str) -> str:
    """Remove the apostrophe that keeps a cell from being a formula."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
