"""Review generated problems: a sheet for people, the doubtful ones first, and the dataset without
what they dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import field
from msgspec.structs import replace

from nikawa.datasets import load
from nikawa.datasets.hidden import refuse_label_loss
from nikawa.errors import BadInput, suggest
from nikawa.generation.frame_counts import FrameCounts, Triple
from nikawa.generation.generator import load_pack_lexicon
from nikawa.generation.lexicon import Lexicon, load_lexicon
from nikawa.generation.pack import Pack, open_pack, pack_names
from nikawa.generation.problem_reader import ProblemReader
from nikawa.generation.template import strip_case_number
from nikawa.generation.word_space import inflect_word
from nikawa.io.atomic import atomic_write
from nikawa.io.escapes import escape, unescape
from nikawa.io.folders import write_folder
from nikawa.io.hand_edited import read_rows
from nikawa.records import Dataset, Example, Record

LISTED_WEIGHT = 10
"""Observations that a noun listed in a frame counts as."""
TOGETHER_BITS = 3.0
"""What nouns of one frame line gain, and nouns of none lose."""
REASONS = ("semantically unnatural", "incomplete sentence", "grammatically unnatural")
"""Why a sentence is dropped, as JAMP's authors did (Table 4 of their paper)."""


Nouns = Mapping[str, str]
"""Case to its noun."""


class Plausibility:
    """Scores of one lexicon: a `Lexicon`, the name of a shipped one, or a folder."""

    def __init__(self, lexicon: Lexicon | str | Path = "ja") -> None:
        self.lexicon = lexicon if isinstance(lexicon, Lexicon) else load_lexicon(lexicon)
        counts: Counter[Triple] = Counter(self.lexicon.counts.counts)
        self._lines: dict[tuple[str, frozenset[str]], list[dict[str, frozenset[str]]]] = {}
        """Verb and cases to the nouns of each frame line."""
        self._cases: dict[str, set[frozenset[str]]] = {}
        """Verb to the sets of cases that its frames have."""
        for frame in self.lexicon.frames:
            cases = frozenset(frame.nouns)
            line = {case: frozenset(nouns) for case, nouns in frame.nouns.items()}
            self._lines.setdefault((frame.verb, cases), []).append(line)
            self._cases.setdefault(frame.verb, set()).add(cases)
            for case, nouns in frame.nouns.items():
                for noun in nouns:
                    counts[frame.verb, case, noun] += LISTED_WEIGHT
        self.counts = FrameCounts(counts)

    def score(self, verb: str, nouns: Nouns) -> float:
        """How natural the verb is with a noun in each case, in bits; 0 for a verb of which nothing
        is known.
        """
        if not nouns:
            return 0.0
        bits = [self.counts.pmi(verb, case, noun) for case, noun in nouns.items()]
        mean = sum(bits) / len(bits)
        fits = self._fits(verb, nouns)
        if fits is None:
            return mean
        return mean + TOGETHER_BITS if fits else min(mean, 0.0) - TOGETHER_BITS

    def _fits(self, verb: str, nouns: Nouns) -> bool | None:
        """Whether one line of the verb has all the nouns; None where the lines cannot tell."""
        lines = self._lines.get((verb, frozenset(nouns)))
        if lines is None:
            return False if self._is_incomplete(verb, nouns) else None
        for line in lines:
            if all(noun in line[case] for case, noun in nouns.items()):
                return True
        return False if len(nouns) > 1 else None

    def _is_incomplete(self, verb: str, nouns: Nouns) -> bool:
        """Whether every frame of the verb has a case more than these."""
        known = self._cases.get(verb, ())
        return bool(known) and all(cases > frozenset(nouns) for cases in known)

    def reason(self, verb: str, nouns: Nouns) -> str:
        """The likeliest of `REASONS` for a low score: a case the verb needs is missing, or the
        nouns do not fit.
        """
        return REASONS[1] if self._is_incomplete(verb, nouns) else REASONS[0]


@cache
def load_plausibility(lexicon: str) -> Plausibility:
    """The scores of a shipped lexicon, which is read once."""
    return Plausibility(lexicon)


def score_phrase(verb: str, nouns: Nouns, lexicon: str = "ja") -> float:
    """The score by a shipped lexicon, in bits; above 0 the phrase is natural.

    >>> score_phrase("読む", {"ヲ": "本"}) > 0 > score_phrase("読む", {"ヲ": "水"})
    True
    """
    return load_plausibility(lexicon).score(verb, nouns)


COLUMNS = ("id", "premise", "hypothesis", "score", "decision", "reason")
DECISIONS = ("keep", "drop", "")
Score = Callable[[Example], float | None]
"""How plausible an example is; None if that is unknown."""


class ReviewReport(Record, frozen=True, kw_only=True):
    """What was written to a sheet, or what its decisions came to."""

    dataset: str
    rows: int
    """Problems on the sheet that was written, or decided on the one that was read."""
    scored: int = 0
    """Problems of the dataset that have a score."""
    kept: int = 0
    dropped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    """Reason to the problems that were dropped for it, the most frequent first."""
    templates: dict[str, int] = field(default_factory=dict)
    """Template to the problems of it that were dropped, the worst first."""
    file: str


class Decision(Record, frozen=True, kw_only=True):
    """What a person decided about one example."""

    id: str
    keep: bool
    reason: str = ""
    """One of `REASONS` where it was dropped."""


def export_review(
    spec: str,
    sheet: Path,
    *,
    data: Path | None = None,
    pack: str | None = None,
    most: int | None = None,
    overwrite: bool = False,
) -> ReviewReport:
    """Write the sheet of a dataset, the least plausible problems first.

    `pack` is the pack that the dataset was made from, where its examples do not name one; `most`
    keeps the sheet short.
    """
    dataset = load(spec, data=data)
    if pack is None:
        # The shipped pack that the dataset was made from, if its examples name one.
        first = [examples[0] for examples in dataset.splits.values() if examples]
        recipes = [example.origin.recipe for example in first if example.origin]
        pack = next((recipe for recipe in recipes if recipe in pack_names()), None)
    score: Score = ProblemScorer(open_pack(pack, data)) if pack else lambda example: None
    rows = rank_examples(_number_examples(dataset), score)
    scores = {example.id: value for value, example in rows}
    count = write_review_sheet(
        [example for _, example in rows[:most]],
        sheet,
        score=lambda example: scores[example.id],
        overwrite=overwrite,
    )
    scored = sum(value is not None for value in scores.values())
    return ReviewReport(dataset=dataset.name, rows=count, scored=scored, file=str(sheet))


def rank_examples(
    examples: Iterable[Example], score: Score | None = None
) -> list[tuple[float | None, Example]]:
    """Examples with their scores, the least plausible first, those without a score last.

    The score is that of `score`, else the example's own `meta["plausibility"]`.
    """
    rows: list[tuple[float | None, Example]] = []
    for example in examples:
        value = score(example) if score else example.meta.get("plausibility")
        rows.append((float(value) if isinstance(value, int | float) else None, example))
    rows.sort(key=lambda row: (row[0] is None, row[0] or 0.0))
    return rows


def apply_review(
    spec: str,
    sheet: Path,
    *,
    data: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> ReviewReport:
    """Take the decisions of a sheet.

    `out` is a folder for the dataset without the problems that were dropped.
    """
    dataset = load(spec, data=data)
    decisions = read_review_sheet(sheet)
    examples = {example.id: example for example in _number_examples(dataset)}
    for decision in decisions:
        if decision.id not in examples:
            what = f"{dataset.name} has no {decision.id!r}"
            raise BadInput(what, file=sheet, cure="review the data it came from")
    dropped = {decision.id: decision for decision in decisions if not decision.keep}
    templates = Counter(str(examples[id].meta.get("template", "")) for id in dropped)
    if out is not None:
        refuse_label_loss(spec, out, examples.values())
        splits = {
            split: tuple(one for one in examples if f"{split}/{one.id}" not in dropped)
            for split, examples in dataset.splits.items()
        }
        problem = f"{len(dropped)} problems were dropped in a review."
        card = replace(dataset.card, problems=(*dataset.card.problems, problem))
        write_folder(replace(dataset, splits=splits, card=card), out, overwrite=overwrite)
    return ReviewReport(
        dataset=dataset.name,
        rows=len(decisions),
        kept=len(decisions) - len(dropped),
        dropped=len(dropped),
        reasons=dict(Counter(d.reason for d in dropped.values()).most_common()),
        templates=dict(templates.most_common()),
        file=str(sheet),
    )


def _number_examples(dataset: Dataset) -> Iterator[Example]:
    """Every example under `split/id`, which is unique in the dataset."""
    for split, examples in dataset.splits.items():
        for example in examples:
            yield replace(example, id=f"{split}/{example.id}")


def write_review_sheet(
    examples: Iterable[Example],
    path: Path,
    *,
    score: Score | None = None,
    overwrite: bool = False,
) -> int:
    """Write a sheet with one row per example, the least plausible first, and return how many.

    The score is that of `score`, else the example's own `meta["plausibility"]`. People fill
    `decision` (keep or drop) and `reason`.
    """
    rows = rank_examples(examples, score)
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(("\t".join(COLUMNS) + "\n").encode())
        for number, example in rows:
            texts = [str(example.inputs.get(name, "")) for name in ("premise", "hypothesis")]
            cells = [escape(text) for text in (example.id, *texts)]
            cells += ["" if number is None else f"{number:.2f}", "", ""]
            stream.write(("\t".join(cells) + "\n").encode())
    return len(rows)


def read_review_sheet(path: Path) -> list[Decision]:
    """The decisions of a sheet, in its order; rows without one are left out."""
    decisions: dict[str, Decision] = {}
    lines: dict[str, int] = {}
    for line, row in read_rows(path, ("id", "decision", "reason"), cut=True):
        decision = row["decision"].strip().lower()
        reason = row["reason"].strip().lower()
        error = _check_decision(decision, reason)
        if error is not None:
            what, cure = error
            raise BadInput(what, file=path, line=line, cure=cure)
        if not decision:
            continue
        id = unescape(row["id"])
        if id in decisions:
            what = f"{id!r} was decided on line {lines[id]} already"
            raise BadInput(what, file=path, line=line, cure="keep one of the two")
        lines[id] = line
        decisions[id] = Decision(id=id, keep=decision == "keep", reason=reason)
    return list(decisions.values())


def _check_decision(decision: str, reason: str) -> tuple[str, str] | None:
    """What is wrong with a row, and the cure; None where it is right."""
    if decision not in DECISIONS:
        return f"the decision is {decision!r}", "write keep or drop, or leave it empty"
    if reason and reason not in REASONS:
        return f"the reason is {reason!r}", suggest(reason, REASONS)
    if decision == "drop" and not reason:
        return "a row is dropped without a reason", f"one of: {', '.join(REASONS)}"
    if decision != "drop" and reason:
        return "there is a reason without drop", "write drop, or clear the reason"
    return None


class ProblemScorer:
    """How plausible a problem of a pack is by the frames of its lexicon.

    Call it with an example.
    """

    def __init__(self, pack: Pack) -> None:
        self.lexicon = load_pack_lexicon(pack)
        self.plausibility = Plausibility(self.lexicon)
        self.readers = {template.id: ProblemReader(template) for template in pack.templates}
        self._verbs: dict[str, dict[str, set[str]]] = {}
        """Form and text to the verbs that are written so."""

    def __call__(self, example: Example) -> float | None:
        """The score of the least plausible verb of a problem; None if that is unknown."""
        reader = self.readers.get(str(example.meta.get("template")))
        if reader is None:
            return None
        premise, hypothesis = (example.inputs.get(name) for name in ("premise", "hypothesis"))
        if not isinstance(premise, str) or not isinstance(hypothesis, str):
            return None
        problem = reader.read(premise, hypothesis)
        if problem is None:
            return None
        slots = reader.template.slots
        scores = []
        for name, slot in slots.items():
            if slot.kind != "verb":
                continue
            candidates = [
                self.find_verbs(form, problem.texts[f"{name}.{form}"]) for form in slot.forms
            ]
            verbs = set.intersection(*candidates)
            nouns = {}
            for other_name, other in slots.items():
                is_noun = other.kind not in ("verb", "agent")
                if is_noun and other.case and other.case in slot.frame:
                    nouns[strip_case_number(other.case)] = problem.texts[other_name]
            if verbs and nouns:
                scores.append(max(self.plausibility.score(verb, nouns) for verb in verbs))
        return min(scores, default=None)

    def find_verbs(self, form: str, text: str) -> set[str]:
        """Dictionary forms of the verbs whose `form` is `text`."""
        if form not in self._verbs:
            table: dict[str, set[str]] = {}
            for frame in self.lexicon.frames:
                written = inflect_word(frame.verb, form, frame.ctype, self.lexicon.language)
                table.setdefault(written, set()).add(frame.verb)
            self._verbs[form] = table
        return self._verbs[form].get(text, set())
