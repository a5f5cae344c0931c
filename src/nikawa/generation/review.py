"""Review generated problems: a sheet for people, the doubtful ones first, and the dataset without what they dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import field
from msgspec.structs import replace

from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.generation.generator import load_pack_lexicon
from nikawa.generation.lexicon import Lexicon
from nikawa.generation.pack import Pack, pack_names
from nikawa.generation.plausibility import Decision, Plausibility, export_review, import_review
from nikawa.generation.problem_reader import ParsedProblem, ProblemReader
from nikawa.generation.template import Template, strip_case_number
from nikawa.generation.templates import open_pack
from nikawa.generation.word_space import inflect_word
from nikawa.io.folders import write_folder
from nikawa.records import Dataset, Example, Record

Score = Callable[[Example], float | None]


class ReviewReport(Record, frozen=True, kw_only=True):
    """What was written to a sheet, or what its decisions came to."""

    dataset: str
    rows: int
    """Problems on the sheet that was written, or decided on the one that was read."""
    scored: int = 0
    kept: int = 0
    dropped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    templates: dict[str, int] = field(default_factory=dict)
    """Template to the problems of it that were dropped, the worst first."""
    file: str


def export_sheet(
    spec: str,
    sheet: Path,
    *,
    data: Path | None = None,
    pack: str | None = None,
    most: int | None = None,
    overwrite: bool = False,
) -> ReviewReport:
    """Write the sheet of a dataset, the least plausible problems first; `most` keeps the sheet short."""
    dataset = load(spec, data=data)
    known = pack or _recipe(dataset)
    score = scorer(open_pack(known, data)) if known else None
    rows = [(score(example) if score else None, example) for example in _referenced(dataset)]
    scored = sum(value is not None for value, _ in rows)
    rows.sort(key=lambda row: (row[0] is None, row[0] or 0.0))
    chosen = rows[:most]
    values = {example.id: value for value, example in chosen}
    count = export_review(
        (example for _, example in chosen), sheet, score=lambda e: values[e.id], overwrite=overwrite
    )
    return ReviewReport(dataset=dataset.name, rows=count, scored=scored, file=str(sheet))


def apply_review(
    spec: str,
    sheet: Path,
    *,
    data: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> ReviewReport:
    """Take the decisions of a sheet; `out` is a folder for the dataset without the problems that were dropped."""
    dataset = load(spec, data=data)
    decisions = {decision.id: decision for decision in import_review(sheet)}
    examples = {example.id: example for example in _referenced(dataset)}
    for name in decisions:
        if name not in examples:
            raise BadInput(
                f"{dataset.name} has no {name!r}", file=sheet, cure="review the data it came from"
            )
    dropped = [d for d in decisions.values() if not d.keep]
    templates = Counter(str(examples[d.id].meta.get("template", "")) for d in dropped)
    if out is not None:
        write_folder(_without(dataset, dropped), out, overwrite=overwrite)
    return ReviewReport(
        dataset=dataset.name,
        rows=len(decisions),
        kept=len(decisions) - len(dropped),
        dropped=len(dropped),
        reasons=dict(Counter(d.reason for d in dropped).most_common()),
        templates=dict(templates.most_common()),
        file=str(sheet),
    )


def _referenced(dataset: Dataset) -> Iterator[Example]:
    """Every example under `split/id`, which is unique in the dataset."""
    for split, examples in dataset.splits.items():
        yield from (replace(example, id=f"{split}/{example.id}") for example in examples)


def _recipe(dataset: Dataset) -> str | None:
    """The shipped pack a dataset was made from, if it says so."""
    for examples in dataset.splits.values():
        for example in examples[:1]:
            if example.origin and example.origin.recipe in pack_names():
                return example.origin.recipe
    return None


def _without(dataset: Dataset, dropped: Iterable[Decision]) -> Dataset:
    gone = {decision.id for decision in dropped}
    splits = {
        split: tuple(example for example in examples if f"{split}/{example.id}" not in gone)
        for split, examples in dataset.splits.items()
    }
    said = f"{len(gone)} problems were dropped in a review."
    card = replace(dataset.card, problems=(*dataset.card.problems, said))
    return replace(dataset, splits=splits, card=card)


def scorer(pack: Pack) -> Score:
    """How plausible a problem of a pack is by the frames of its lexicon; None where that cannot be told."""
    lexicon = load_pack_lexicon(pack)
    plausibility = Plausibility(lexicon)
    readers = {template.id: ProblemReader(template) for template in pack.templates}
    verbs = _Verbs(lexicon)

    def score(example: Example) -> float | None:
        reader = readers.get(str(example.meta.get("template")))
        if reader is None:
            return None
        parsed = reader.read(example.inputs["premise"], example.inputs["hypothesis"])
        if parsed is None:
            return None
        found = [
            max(plausibility.score(verb, nouns) for verb in named)
            for named, nouns in _frames(reader.template, parsed, verbs)
            if named and nouns
        ]
        return min(found, default=None)

    return score


class _Verbs:
    """Which verbs have a form that is written so."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._known: dict[str, dict[str, set[str]]] = {}

    def named(self, form: str, text: str) -> frozenset[str]:
        """Dictionary forms of the verbs whose `form` is `text`."""
        if form not in self._known:
            table: dict[str, set[str]] = {}
            for frame in self._lexicon.frames:
                written = inflect_word(frame.verb, form, frame.ctype, self._lexicon.language)
                table.setdefault(written, set()).add(frame.verb)
            self._known[form] = table
        return frozenset(self._known[form].get(text, ()))


def _frames(
    template: Template, parsed: ParsedProblem, verbs: _Verbs
) -> Iterator[tuple[frozenset[str], dict[str, str]]]:
    """Each verb a problem may have, with its nouns by case."""
    for name, slot in template.slots.items():
        if slot.kind == "verb":
            forms = [(form, parsed.texts[f"{name}.{form}"]) for form in slot.forms]
            named = frozenset.intersection(*(verbs.named(*form) for form in forms))
            nouns = {
                strip_case_number(other.case): parsed.texts[place]
                for place, other in template.slots.items()
                if other.kind not in ("verb", "agent") and other.case and other.case in slot.frame
            }
            yield named, nouns
