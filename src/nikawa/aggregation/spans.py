"""Answers that are spans: how they are read, compared, written into a sheet, and voted on.

A table of judgements holds the spans of an answer as one tuple of marks, in order. `majority` keeps the spans that more
than half of an item's workers marked just so (start, end and label), `votes:K` those that K did: each span by itself,
however many an answer holds. An item is tied where exactly half marked a span, or where spans that no worker marked
together overlap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.measure import ratio
from nikawa.aggregation.rules import Rule, Step
from nikawa.aggregation.table import Floats, Table
from nikawa.errors import BadInput
from nikawa.records import Example, Judgement, Span

Mark = tuple[int, int, str]
"""Start, end and label of a span."""
Marks = tuple[Mark, ...]
"""The spans of one answer, in order."""
Flags = NDArray[np.bool_]

TEXT_INPUTS = ("text", "context")
"""Inputs that spans count the characters of, the first that is there."""
NO_SPANS = "none"
"""How a sheet says that nothing is to be marked."""
CURE = "write 0-3:PS, 5-7:LC (start, end, label), or none"
_WRITTEN_MARK = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*(?::\s*([^,]*?)\s*)?")


# Reading


def freeze_spans(
    judgements: Iterable[Judgement], question: str | None = None
) -> Iterator[Judgement]:
    """The judgements with spans as tuples, which a table can hold; other lists stay, and are refused there."""
    for judgement in judgements:
        marks = None
        is_asked = question is None or judgement.question == question
        if is_asked and type(judgement.answer) in (list, dict):
            marks = _checked_marks(judgement)
        yield judgement if marks is None else msgspec.structs.replace(judgement, answer=marks)


def read_spans(judgement: Judgement) -> list[Span]:
    """The spans of an answer to a question of tagging; anything else is refused."""
    marks = _checked_marks(judgement)
    if marks is None:
        what = f"{judgement.worker}'s answer about {judgement.example} is not a list of spans"
        raise BadInput(what, cure="an answer is a list of {start, end, label}")
    return [Span(*mark) for mark in marks]


def _checked_marks(judgement: Judgement) -> Marks | None:
    marks = find_marks(judgement.answer)
    for start, end, _ in marks or ():
        if type(start) is not int or type(end) is not int or not 0 <= start < end:
            raise BadInput(
                f"worker {judgement.worker} marks characters {start!r} to {end!r} of {judgement.example}",
                cure="a span starts at 0 or later, and ends after its start",
            )
    return None if marks is None else tuple(sorted(set(marks)))


def find_marks(value: Any) -> Marks | None:
    """The spans that a list of them, or one, holds; None where it holds something else."""
    parts = value if isinstance(value, list | tuple) else [value]
    marks: list[Mark] = []
    for part in parts:
        if isinstance(part, Span):
            marks.append((part.start, part.end, part.label))
        elif isinstance(part, dict) and {"start", "end"} <= part.keys():
            label = str(part.get("label") or "")
            marks.append((part["start"], part["end"], label))
        else:
            return None
    return tuple(marks)


def to_marks(value: Any) -> Any:
    """A known answer as a table of spans holds it: spans of any form, or what a sheet says."""
    if isinstance(value, str):
        return parse_marks(value)
    marks = find_marks(value)
    return value if marks is None else tuple(sorted(set(marks)))


def parse_marks(text: str) -> Marks:
    """What a person wrote into a sheet: `0-3:PS, 5-7:LC`, or `none`; or a program: JSON."""
    fault = BadInput(f"the answer {text!r} is not a list of spans", cure=CURE)
    if text.lstrip().startswith("["):
        try:
            spans = msgspec.json.decode(text, type=list[Span])
        except msgspec.MsgspecError:
            raise fault from None
        return tuple(sorted({(span.start, span.end, span.label) for span in spans}))
    if text.strip().casefold() == NO_SPANS:
        return ()
    marks: set[Mark] = set()
    for part in text.split(","):
        match = _WRITTEN_MARK.fullmatch(part)
        if match is None:
            raise fault
        start = int(match[1])
        end = int(match[2])
        if start >= end:
            raise fault
        marks.add((start, end, match[3] or ""))
    return tuple(sorted(marks))


def format_mark(mark: Mark) -> str:
    """`0-3:PS`."""
    start, end, label = mark
    return f"{start}-{end}:{label}" if label else f"{start}-{end}"


def text_of(item: str, example: Example) -> str:
    """The text whose characters spans count: the input `text` or `context`, or the only one."""
    texts = {name: value for name, value in example.inputs.items() if isinstance(value, str)}
    names = (*TEXT_INPUTS, *texts) if len(texts) == 1 else TEXT_INPUTS
    for name in names:
        if name in texts:
            return texts[name]
    what = f"{item} has no text for spans"
    raise BadInput(what, cure=f"name the text {' or '.join(TEXT_INPUTS)}")


# Tables of spans


def holds_spans(table: Table) -> bool:
    """Whether the answers are spans; some that are and some that are not are refused."""
    others = [answer for answer in table.categories if not isinstance(answer, tuple)]
    if 0 < len(others) < len(table.categories):
        raise BadInput(
            f"some answers to {table.question!r} are spans, some are not (such as {others[0]!r})",
            cure="ask two questions, or remove what is not a span",
        )
    return bool(table.categories) and not others


def answers_by_item(table: Table) -> list[list[Marks]]:
    """The answers about each item of a table of spans."""
    answers: list[list[Marks]] = [[] for _ in table.items]
    for item, answer in zip(table.item.tolist(), table.answer.tolist(), strict=True):
        answers[item].append(table.categories[answer])
    return answers


def count_spans_by_label(table: Table) -> dict[str, int]:
    """How many spans of each label were marked, by all workers together."""
    times = table.per_category().tolist()
    counts: Counter[str] = Counter()
    for marks, count in zip(table.categories, times, strict=True):
        for _, _, label in marks:
            counts[label] += count
    return dict(sorted(counts.items()))


def count_marks(answers: Sequence[Marks]) -> dict[Mark, int]:
    """How many workers marked each span of an item, the most first."""
    counts = Counter(mark for marks in answers for mark in marks)
    by_mark = sorted(counts.items())
    return dict(sorted(by_mark, key=lambda pair: -pair[1]))


def count_equal(one: Marks, other: Marks) -> int:
    """How many spans two answers have in common."""
    return len(one) if one == other else len(set(one) & set(other))


# Votes


def check_span_rule(rule: Rule, prefers: bool) -> None:
    """Refuse a rule that makes no gold of spans, and a tie rule that prefers a label."""
    steps = (rule.decider, *rule.steps)
    odd = [step.text for step in steps if step.name not in ("majority", "votes", "min")]
    if odd or rule.first:
        what = f"the rule {rule.text!r}: {odd[0] if odd else 'first'!r} is not for spans"
        cure = "spans are voted on one by one: majority, votes:2/3 or votes:2, +min:3 if need be"
        raise BadInput(what, cure=cure)
    if prefers:
        raise BadInput(
            "a tie between spans cannot prefer a label",
            cure="pass --ties drop or --ties adjudicate",
        )


def _holds_contradiction(kept: Marks, answers: Sequence[Marks]) -> bool:
    """Whether two of the kept spans overlap that no worker marked together."""
    for one, other in combinations(kept, 2):
        overlap = one[1] > other[0]
        if overlap and not any(one in marks and other in marks for marks in answers):
            return True
    return False


def vote_on_spans(table: Table, decider: Step) -> tuple[list[Marks], Flags, Flags]:
    """Of each item the spans with enough votes, whether its answers suffice to tell, and whether it is tied."""
    by_majority = decider.name == "majority"
    gold, enough, tied = [], [], []
    for answers in answers_by_item(table):
        n = len(answers)
        counts = Counter(mark for marks in answers for mark in marks)
        least = n // 2 + 1 if by_majority else decider.number
        kept = tuple(sorted(mark for mark, votes in counts.items() if votes >= least))
        gold.append(kept)
        # votes:K/N: of no more than N answers, and of fewer only if the missing ones could bring no further span
        missing = 0 if by_majority or decider.of is None else decider.of - n
        undecided = (least - missing <= votes < least for votes in (*counts.values(), 0))
        enough.append(missing >= 0 and not any(undecided))
        even = by_majority and any(2 * votes == n for votes in counts.values())
        tied.append(even or _holds_contradiction(kept, answers))
    return gold, np.array(enough, dtype=bool), np.array(tied, dtype=bool)


def mean_support(table: Table, gold: Sequence[Marks]) -> Floats:
    """Of each item the mean share of workers who marked a span of its gold; 0 where it holds none."""
    shares = np.zeros(len(gold))
    by_item = zip(gold, answers_by_item(table), strict=True)
    for place, (marks, answers) in enumerate(by_item):
        if marks:
            votes = sum(count_equal(marks, theirs) for theirs in answers)
            shares[place] = votes / (len(marks) * len(answers))
    return shares


def f1_against_rest(table: Table) -> Floats:
    """F1 of each worker's spans against the others' about the same items, every answer of theirs weighed alike."""
    shared = np.zeros(len(table.workers))
    size = np.zeros(len(table.workers))
    workers: list[list[int]] = [[] for _ in table.items]
    for item, worker in zip(table.item.tolist(), table.worker.tolist(), strict=True):
        workers[item].append(worker)
    for item_workers, answers in zip(workers, answers_by_item(table), strict=True):
        others = len(answers) - 1
        rows = zip(item_workers, answers, strict=True)
        for (first, one), (second, other) in combinations(rows, 2):
            both = 2 * count_equal(one, other) / others
            marked = (len(one) + len(other)) / others
            for worker in (first, second):
                shared[worker] += both
                size[worker] += marked
    return ratio(shared, size)
