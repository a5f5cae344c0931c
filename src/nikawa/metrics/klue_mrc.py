"""Exact match and ROUGE-W of KLUE-MRC.

The reference: lower-case, drop ASCII punctuation, collapse white space. ROUGE-W is F1 of the longest
common run of characters (Park et al. 2021, section 1.1: LCCS), not Lin's weighted subsequence. Best over the
gold answers, mean over questions.

Two defects, kept in `official` and mended in `documented`. The pattern that should drop quotes and brackets
closes its bracket too early and never fires, so 《미션》 is not 미션. And runs are searched with a heuristic that
ignores frequent characters of gold answers of 200 characters or more.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.metrics.base import Additive, Items, Metric, Mode, mean

PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
AS_WRITTEN = re.compile("['\"《》<>〈〉]\\(\\)‘’")
"""What the reference matches: one of the marks and then literally ()‘’."""
TAIL = "()‘’"
"""Without these in a row that pattern has nothing to match."""
AS_MEANT = re.compile("['\"《》<>〈〉()‘’]")
"""What its author meant: any of the marks."""
LONG = 200
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
    if mode == "official" and len(gold) >= LONG:
        run = (
            SequenceMatcher(None, answer, gold)
            .find_longest_match(0, len(answer), 0, len(gold))
            .size
        )
    else:
        run = longest_run(answer, gold)
    if not run:
        return 0.0
    precision, recall = run / len(answer), run / len(gold)
    return 2 * precision * recall / (precision + recall)


def gold_texts(answers: Iterable[Any], mode: Mode) -> list[str]:
    """The distinct normalised gold answers; the empty one alone where there is none."""
    return list(
        dict.fromkeys(normalise(a if isinstance(a, str) else a["text"], mode) for a in answers)
    ) or [""]


def _exact(answer: str, golds: Sequence[str], mode: Mode) -> float:
    return float(answer in golds)


def _run(answer: str, golds: Sequence[str], mode: Mode) -> float:
    if answer in golds and not (mode == "official" and len(answer) >= LONG):
        return 1.0
    return max(rouge_w(answer, gold, mode) for gold in golds)


def _metric(
    score: Callable[[str, Sequence[str], Mode], float],
) -> Callable[[Items, Mode], Additive]:
    def evaluate(items: Items, mode: Mode = "official") -> Additive:
        pairs = zip(items.gold, items.answers, strict=True)
        scores = [
            0.0 if a is None else score(normalise(a, mode), gold_texts(g, mode), mode)
            for g, a in pairs
        ]
        return mean(np.array(scores))

    return evaluate


exact_match = _metric(_exact)
rouge_w_mean = _metric(_run)


def _golden_pair(case: dict[str, str]) -> float:
    return rouge_w(case["pred"], case["label"])


def _golden(case: Sequence[dict[str, Any]]) -> dict[str, float]:
    missing = [row["qid"] for row in case if row["prediction"] is None]
    if missing:
        raise BadInput(
            f"no answer to {missing[0]}", cure="the official scorer needs one a question"
        )
    items = Items([row["answers"] for row in case], [row["prediction"] for row in case])
    return {
        "em": exact_match(items, "official").value * 100,
        "rouge_w": rouge_w_mean(items, "official").value * 100,
    }


MARKS = (
    "The reference's pattern for quotes and brackets never fires; documented drops 《》〈〉‘’()."
)
JUNK = "Besides the brackets, the reference ignores frequent characters of gold answers of 200 characters or more."
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
GOLDEN = {
    "klue_mrc_normalize": normalise,
    "klue_mrc_rouge_w_pair": _golden_pair,
    "klue_mrc_em_rouge_w": _golden,
}
