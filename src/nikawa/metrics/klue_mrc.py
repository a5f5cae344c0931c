"""Exact match and ROUGE-W of KLUE-MRC.

The reference: lower-case, drop ASCII punctuation, collapse white space. ROUGE-W is F1 of the longest
common run of characters (Park et al. 2021, section 1.1: LCCS), not Lin's weighted subsequence. Best over the
gold answers, mean over questions.

Two defects, kept in `official` and fixed in `documented`. The pattern that should drop quotes and brackets
closes its bracket too early and never matches, so 《미션》 is not 미션. And runs are searched with a heuristic that
ignores frequent characters of gold answers of 200 characters or more.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from nikawa.metrics.base import Additive, Items, Metric, Mode, f1_of_item, golden_questions, mean

PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
AS_WRITTEN = re.compile("['\"《》<>〈〉]\\(\\)‘’")
"""What the reference matches: one of the marks and then literally ()‘’."""
TAIL = "()‘’"
"""Without these in a row that pattern has nothing to match."""
AS_MEANT = re.compile("['\"《》<>〈〉()‘’]")
"""What its author meant: any of the marks."""
MIN_JUNK_CHARS = 200
"""Characters from which the reference's search ignores frequent characters of the gold answer."""


def normalise(answer: str, mode: Mode = "official") -> str:
    """An answer as it is compared."""
    text = answer.lower()
    if mode == "documented":
        text = AS_MEANT.sub(" ", text)
    elif TAIL in text:
        text = AS_WRITTEN.sub(" ", text)
    return " ".join(PUNCTUATION.sub("", text).split())


def longest_run(a: str, b: str) -> int:
    """Length of the longest run of characters common to both, by bisection on the length."""
    if len(a) > len(b):
        a, b = b, a
    if a in b:
        return len(a)
    low, high = 0, len(a) - 1
    while low < high:
        size = (low + high + 1) // 2
        if any(a[i : i + size] in b for i in range(len(a) - size + 1)):
            low = size
        else:
            high = size - 1
    return low


def rouge_w(answer: str, gold: str, mode: Mode = "official") -> float:
    """F1 of the longest common run of two normalised strings."""
    if not gold or not answer:
        return float(answer == gold)
    if mode == "official" and len(gold) >= MIN_JUNK_CHARS:
        matcher = SequenceMatcher(None, answer, gold)
        run = matcher.find_longest_match(0, len(answer), 0, len(gold)).size
    else:
        run = longest_run(answer, gold)
    return f1_of_item(run, len(answer), len(gold))


def normalise_golds(answers: Iterable[Any], mode: Mode) -> list[str]:
    """The distinct normalised gold answers; only the empty one if there is no gold answer."""
    texts = (answer if isinstance(answer, str) else answer["text"] for answer in answers)
    return list(dict.fromkeys(normalise(text, mode) for text in texts)) or [""]


def normalise_items(items: Items, mode: Mode) -> list[tuple[str, list[str]] | None]:
    """Of each item the normalised answer and gold answers; None where there is no answer."""
    return [
        None if answer is None else (normalise(answer, mode), normalise_golds(gold, mode))
        for gold, answer in zip(items.gold, items.answers, strict=True)
    ]


def exact_match(items: Items, mode: Mode = "official") -> Additive:
    """Share of questions answered with a gold answer."""
    texts = items.compute_once(normalise_items, mode)
    right = [pair is not None and pair[0] in pair[1] for pair in texts]
    return mean(np.array(right, dtype=np.float64))


def rouge_w_mean(items: Items, mode: Mode = "official") -> Additive:
    """Mean ROUGE-W against the nearest gold answer."""
    scores = []
    for pair in items.compute_once(normalise_items, mode):
        if pair is None:
            scores.append(0.0)
            continue
        answer, golds = pair
        # the reference's search may miss the run of a long answer with itself
        if answer in golds and (mode == "documented" or len(answer) < MIN_JUNK_CHARS):
            scores.append(1.0)
        else:
            scores.append(max(rouge_w(answer, gold, mode) for gold in golds))
    return mean(np.array(scores))


def golden_case(case: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Both scores in percent, as the reference reports them."""
    items = golden_questions(case, "qid")
    return {
        "em": exact_match(items).value * 100,
        "rouge_w": rouge_w_mean(items).value * 100,
    }


MARKS = "The reference's pattern for quotes and brackets never matches; the documented metric drops 《》〈〉‘’()."
JUNK = "The reference also ignores frequent characters of gold answers with 200 or more characters."
METRICS = (
    Metric(
        "klue-em",
        exact_match,
        "Share of answers equal to a gold answer.",
        MARKS,
        kinds=("reading",),
    ),
    Metric(
        "rouge-w",
        rouge_w_mean,
        "F1 of the longest common run of characters.",
        JUNK,
        kinds=("reading",),
    ),
)
GOLDEN: dict[str, Callable[[Any], Any]] = {
    "klue_mrc_normalize": normalise,
    "klue_mrc_rouge_w_pair": lambda case: rouge_w(case["pred"], case["label"]),
    "klue_mrc_em_rouge_w": golden_case,
}
