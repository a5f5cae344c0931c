"""What reading judgements gives: numbered records, what was odd about them, and whether workers are
persons.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput, place_fault, suggest
from nikawa.io.json import read_json_lines
from nikawa.io.judgements.remarks import REPORT, is_remark, kind_of, remarks_file
from nikawa.records import Judgement, Prelabel, Record, find_answerer

if TYPE_CHECKING:
    from nikawa.io.judgements.plain import PlainJudgements

Numbered = Iterator[tuple[int, Judgement]]
WorkersAre = Literal["persons", "columns", "simulated", "unknown"]
OffsetUnit = Literal["characters", "utf16"]

BLANK, WIDE, SPACES, BLANK_ROW = "blank answers", "full-width digits", "stray spaces", "blank rows"
DECOMPOSED = "answers in decomposed characters (NFD, as macOS writes file names)"
NO_SPANS = "answers without spans"
MAX_NAMES_REMEMBERED = 1 << 14
"""Names of a `BoundedSet`."""
MAX_LINES_NOTED = 5
"""Places a note keeps."""
KINDS = ("choice", "number", "text", "ranking", "spans", "relations")
"""What a question may ask for."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


class Note(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something odd about a file that was not refused: how often, and where first."""

    what: str
    done: str
    """What was done about it."""
    count: int
    lines: tuple[int, ...]
    """The first places, at most `MAX_LINES_NOTED`."""
    place: str = "line"
    """What they count: lines, or tasks, rows, records and instances of other tools."""


DONE = {
    BLANK: "no answer counted",
    WIDE: "read as plain digits",
    SPACES: "cut off",
    BLANK_ROW: "skipped",
    DECOMPOSED: "compared as composed ones (NFC)",
    NO_SPANS: "counted as 'nothing to mark'",
}


QUESTION = "label"
"""The question of a file that names none."""


@dataclass(frozen=True)
class JudgementOptions:
    """What the caller knows of a file."""

    form: str | None = None
    """One of `FORMS` or a platform's name; None recognises it by content."""
    mapping: Mapping[str, str] | None = None
    """Field of a judgement to column of a sheet; see `sheets.parse_map`."""
    question: str = QUESTION
    """The question of files that name none."""
    encoding: str | None = None
    """Of a sheet; None detects it."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """Our question to the tool's name of it; answers to others are skipped, and noted. Empty: all, as they are called."""
    only: str | None = None
    """The only question that counts: an answer to another one that cannot be read is skipped, and noted."""
    asks_spans: bool = False
    """Whether the answers are spans: one that holds nothing then marks nothing, in a file without any span too."""
    offsets: OffsetUnit | None = None
    """What a tool counted that keeps no text of its spans; None: where it makes a difference, the file is refused."""
    empty: Literal["none", "skip"] = "none"
    """What an empty list of spans says where the tool does not tell whether somebody looked at the item."""

    def needs(self, question: str) -> bool:
        """Whether an answer to the tool's question must be read: else it may be one that we cannot hold."""
        if self.questions:
            return question in self.questions.values()
        return self.only in (None, question)


def parse_questions(text: str) -> tuple[str | None, dict[str, str]]:
    """`NAME`, the question that is asked, or `OURS=THEIRS,…`, what a tool calls questions of ours.

    >>> parse_questions("spans=ner")
    (None, {'spans': 'ner'})
    """
    if "=" not in text:
        return text.strip() or None, {}
    mapping: dict[str, str] = {}
    for part in text.split(","):
        ours, _, theirs = (word.strip() for word in part.partition("="))
        if not ours or not theirs or ours in mapping or theirs in mapping.values():
            cure = "write OURS=THEIRS, separated by commas, each once"
            raise BadInput(f"--question {text!r} does not name a question of the tool", cure=cure)
        mapping[ours] = theirs
    return None, mapping


class BoundedSet(set[str]):
    """Names that were looked at and need nothing; the set stays small where all names differ."""

    def add(self, name: str) -> None:
        """Remember a name while there is room."""
        if len(self) < MAX_NAMES_REMEMBERED:
            super().add(name)


class Notes:
    """What was odd, counted while a file is read."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._done: dict[str, str] = {}

    def add(self, what: str, line: int, done: str = "") -> None:
        """One more of these."""
        count, lines = self._places.get(what, (0, ()))
        self._places[what] = (count + 1, (*lines, line) if len(lines) < MAX_LINES_NOTED else lines)
        self._done[what] = done or DONE.get(what, "")

    def add_many(self, what: str, count: int, done: str) -> None:
        """So many more of these, all over the file."""
        before, lines = self._places.get(what, (0, ()))
        self._places[what] = (before + count, lines)
        self._done[what] = done

    def report(self) -> tuple[Note, ...]:
        """All notes, in the order they were first met."""
        return tuple(
            Note(what=what, done=self._done[what], count=count, lines=lines)
            for what, (count, lines) in self._places.items()
        )


def _not_plain() -> None:
    """For a file that is read record by record."""


@dataclass
class Reading:
    """A file of judgements about to be read: `notes` fill while `rows` are taken."""

    path: Path
    form: str
    """What it was recognised as, for people: `records`, `sheet in cp932`."""
    rows: Numbered
    """(Place, judgement); can be gone through once."""
    workers_are: WorkersAre = "unknown"
    """Whether workers are persons or only columns of a sheet, as far as the form tells."""
    notes: Notes = field(default_factory=Notes)
    place: str = "line"
    """What the numbers of the rows count."""
    file: Path | None = None
    """The file that is being read, where `path` is a folder of them."""
    kinds: dict[str, str] = field(default_factory=dict)
    """What each question asks for, as far as the form tells, once its rows were taken: one of `KINDS`."""
    decisions: list[tuple[int, Judgement]] = field(default_factory=list)
    """(Place, decision) of an owner, in the order of the file; complete when the last row was taken, as are the next two."""
    reports: list[tuple[int, Judgement]] = field(default_factory=list)
    """(Place, report) of workers who handed an item back."""
    comments: list[tuple[int, Judgement]] = field(default_factory=list)
    """(Place, answer) of the answers that a worker wrote a comment on."""
    plain: Callable[[], PlainJudgements | None] = _not_plain
    """The same as `rows` as coded columns, at once, with answers in NFC; None where the file is not plain: then take `rows`."""

    def fault(self, place: int, what: str, cure: str) -> BadInput:
        """Return the error for a place in the file."""
        return place_fault(
            what, file=self.file or self.path, unit=self.place, place=place, cure=cure
        )

    def skip_unreadable(self, question: str, place: int, why: str) -> None:
        """Note an answer that cannot be held, to a question that is not asked."""
        self.notes.add(f"answers to {question!r} that cannot be read", place, f"skipped: {why}")

    def rename(self, questions: Mapping[str, str]) -> Reading:
        """The same with the questions named as ours, given as ours to theirs; answers to others are noted and skipped."""
        rows, ours = self.rows, {theirs: name for name, theirs in questions.items()}

        def rename_rows() -> Numbered:
            seen: dict[str, None] = {}
            is_used = False
            for place, judgement in rows:
                if is_remark(judgement):  # an owner's or of a report: in our words already
                    yield place, judgement
                    continue
                name = ours.get(judgement.question)
                seen[judgement.question] = None
                if name is None:
                    what = f"answers to {judgement.question!r}"
                    self.notes.add(what, place, "skipped: no --question names it")
                    continue
                is_used = True
                if name != judgement.question:
                    judgement = replace(judgement, question=name)  # noqa: PLW2901
                yield place, judgement
            if seen and not is_used:
                names = ", ".join(map(repr, seen))
                what = f"answers {names}, but --question names none of them"
                raise BadInput(what, file=self.path, cure=suggest(next(iter(ours)), seen))
            kinds = self.kinds
            self.kinds = {ours[name]: kind for name, kind in kinds.items() if name in ours}

        self.rows, self.plain = rename_rows(), _not_plain
        return self

    def known(self, names: Container[str]) -> Numbered:
        """The rows; an answer about an item that is not among `names` is refused."""
        for place, judgement in self.rows:
            if judgement.example not in names:
                cure = "check the column of the ids, or the examples"
                raise self.fault(
                    place, f"answers about {judgement.example!r}, which is not an example", cure
                )
            yield place, judgement

    def set_remarks_aside(self) -> Reading:
        """The same with workers' answers alone as rows; decisions and reports go into lists of their own.

        A file of remarks next to the input file is read with it (see `remarks`).
        """
        rows = self.rows
        beside = remarks_file(self.path)

        def part() -> Numbered:
            comments: dict[tuple[str, str], str] = {}
            prelabels: dict[tuple[str, str, str], Prelabel] = {}
            apart: list[tuple[int, Judgement]] = []
            if beside.is_file() and beside.stat().st_size:
                for place, judgement in read_json_lines(beside, Judgement):
                    if is_remark(judgement):
                        apart.append((place, judgement))
                    else:
                        comments[judgement.example, judgement.worker] = judgement.comment
                        if judgement.prelabel is not None:
                            key = judgement.example, judgement.worker, judgement.question
                            prelabels[key] = judgement.prelabel
            ordinary = BoundedSet()
            for place, judgement in rows:
                if judgement.kind != "person" or judgement.worker not in ordinary:
                    if is_remark(judgement):
                        self._add_remark(place, judgement)
                        continue
                    kind = find_answerer(judgement)
                    if kind != judgement.kind:
                        judgement = replace(judgement, kind=kind)  # noqa: PLW2901
                    elif kind == "person":
                        ordinary.add(judgement.worker)
                if comments and not judgement.comment:
                    comment = comments.get((judgement.example, judgement.worker), "")
                    judgement = replace(judgement, comment=comment)  # noqa: PLW2901
                if prelabels and judgement.prelabel is None:
                    key = judgement.example, judgement.worker, judgement.question
                    judgement = replace(judgement, prelabel=prelabels.get(key))  # noqa: PLW2901
                if judgement.comment:
                    self.comments.append((place, judgement))
                yield place, judgement
            for place, judgement in apart:
                self._add_remark(place, judgement)

        self.rows = part()
        if beside.exists():
            self.plain = _not_plain
        return self

    def _add_remark(self, place: int, judgement: Judgement) -> None:
        kind = kind_of(judgement)
        if judgement.answer is None:  # of a blank cell: nothing was decided
            self.notes.add(f"{kind}s without an answer", place, "skipped")
            return
        remarks = self.reports if kind == REPORT else self.decisions
        remarks.append((place, replace(judgement, kind=kind)))

    def composed(self) -> Reading:
        """The same with answers in NFC, noted where that changes them: 긍정 is one label however it
        was typed.

        Texts inside lists and mappings stay as given, for offsets count their characters.
        """
        rows = self.rows

        def compose() -> Numbered:
            composed = BoundedSet()
            for place, judgement in rows:
                answer = judgement.answer
                if isinstance(answer, str) and answer not in composed:
                    if unicodedata.is_normalized("NFC", answer):
                        composed.add(answer)
                    else:
                        self.notes.add(DECOMPOSED, place)
                        answer = unicodedata.normalize("NFC", answer)
                        judgement = replace(judgement, answer=answer)  # noqa: PLW2901
                yield place, judgement

        self.rows = compose()
        return self


def clean_cell(cell: str, line: int, notes: Notes) -> str:
    """A cell without the white space around it, which is noted.

    The ideographic space counts as such.
    """
    stripped = cell.strip()
    if stripped != cell and stripped:
        notes.add(SPACES, line)
    return stripped


def parse_answer_cell(cell: str, line: int, notes: Notes) -> str | int | float | None:
    """The answer in a cell: a number where it is written as one, None (noted) where it is blank."""
    text = clean_cell(cell, line, notes)
    if not text:
        notes.add(BLANK, line)
        return None
    narrow = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if not _NUMBER.fullmatch(narrow):
        return text
    if narrow != text:
        notes.add(WIDE, line)
    return float(narrow) if "." in narrow else int(narrow)


def parse_json_cell(cell: str) -> list[Any] | dict[str, Any] | None:
    """The mapping, or the list of texts or mappings, that a cell holds as JSON, as our own sheets write it; None for
    anything else.

    >>> parse_json_cell('["a","b"]'), parse_json_cell("[sic]"), parse_json_cell("[1]"), parse_json_cell('{"heads":[0]}')
    (['a', 'b'], None, None, {'heads': [0]})
    """
    text = cell.strip()
    if text.startswith("{") and text.endswith("}"):
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return None
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        parts = msgspec.json.decode(text, type=list[Any])
    except (msgspec.MsgspecError, RecursionError):
        return None
    is_list = any(all(isinstance(part, kind) for part in parts) for kind in (str, dict))
    return parts if is_list or _are_lists_of_texts(parts) else None


def _are_lists_of_texts(parts: list[Any]) -> bool:
    """Whether each part is a list of texts, as the states of a dialogue, turn by turn."""
    return all(isinstance(part, list) and all(isinstance(t, str) for t in part) for part in parts)


def format_answer_cell(answer: Any) -> Any:
    """An answer as `read_columns` takes it from a cell: lists and mappings as JSON, numbers and texts as they are.

    An apostrophe goes before a text that would be read as a list.
    """
    if answer is None or isinstance(answer, int | float):
        return answer
    if isinstance(answer, str):
        return f"'{answer}" if parse_json_cell(answer.lstrip("'")) is not None else answer
    return msgspec.json.encode(answer).decode()


def parse_seconds(cell: str, line: int, path: Path) -> float | None:
    """Seconds, or minutes and seconds with colons between them; None for a blank cell, and for `nan`.

    >>> parse_seconds("1:02秒", 1, Path("sheet.csv"))
    62.0
    """
    text = unicodedata.normalize("NFKC", cell).strip().rstrip("秒초s ").replace(",", "")
    if not text:
        return None
    try:
        parts = [float(part) for part in text.split(":")]
    except ValueError:
        what = f"the time {cell!r} is not a number of seconds"
        raise BadInput(what, file=path, line=line, cure="write 12.5 or 0:12") from None
    seconds = 0.0
    for power, part in enumerate(reversed(parts)):
        seconds += part * float(60**power)
    return None if math.isnan(seconds) else seconds
