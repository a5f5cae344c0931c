"""Exact match and character F1 of JSQuAD.

The reference is the SQuAD scorer of transformers 4.9.2 with JGLUE's patch: lower-case, strip 。 from the
end, collapse white space (in this order, so a blank behind 。 protects it); F1 on the multiset of
characters; the best over the gold answers, EM and F1 each for itself; the mean over questions.
Order of characters does not count: 東京大阪 against 大阪東京 is F1 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nikawa.metrics.base import (
    Additive,
    Items,
    Metric,
    Mode,
    f1_of_item,
    golden_questions,
    mean,
    refuse_no_items,
)


def normalise(answer: str) -> str:
    """An answer as it is compared."""
    return " ".join(answer.lower().rstrip("。").split())


def normalise_golds(answers: Iterable[Any]) -> list[str]:
    """The distinct normalised gold answers; only the empty one if there is no gold answer."""
    texts = dict.fromkeys(normalise(a if isinstance(a, str) else a["text"]) for a in answers)
    texts.pop("", None)
    return list(texts) or [""]


def character_f1(answer: str, gold: str) -> float:
    """F1 of two normalised strings as bags of characters."""
    if not answer or not gold:
        return float(answer == gold)
    shared = sum(min(answer.count(c), gold.count(c)) for c in set(answer))
    return f1_of_item(shared, len(answer), len(gold))


def score_answer(answer: str, golds: Sequence[str]) -> tuple[float, float]:
    """EM and F1 of a normalised answer against the nearest gold answer."""
    if answer in golds:
        return 1.0, 1.0
    return 0.0, max(character_f1(answer, gold) for gold in golds)


def item_scores(items: Items) -> tuple[list[float], list[float]]:
    """EM and F1 of each item; an answer that could not be read scores 0."""
    exact, overlap = [], []
    for gold, answer in zip(items.gold, items.answers, strict=True):
        em = f1 = 0.0
        if answer is not None:
            em, f1 = score_answer(normalise(answer), normalise_golds(gold))
        exact.append(em)
        overlap.append(f1)
    return exact, overlap


def exact_match(items: Items, mode: Mode = "official") -> Additive:
    """Share of questions answered with a gold answer."""
    return mean(np.array(items.compute_once(item_scores)[0]))


def character_f1_mean(items: Items, mode: Mode = "official") -> Additive:
    """Mean character F1."""
    return mean(np.array(items.compute_once(item_scores)[1]))


def golden_case(case: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """EM and F1 of each question and of all, as the reference reports them."""
    if not case:
        refuse_no_items()
    items = golden_questions(case, "id")
    exact, overlap = items.compute_once(item_scores)
    ids = [row["id"] for row in case]
    return {
        "exact_per_id": dict(zip(ids, exact, strict=True)),
        "f1_per_id": dict(zip(ids, overlap, strict=True)),
        "summary": {
            "exact": exact_match(items).value * 100,
            "f1": character_f1_mean(items).value * 100,
            "total": len(case),
        },
    }


METRICS = (
    Metric(
        "jsquad-em", exact_match, "Share of answers equal to a gold answer.", kinds=("reading",)
    ),
    Metric(
        "jsquad-f1",
        character_f1_mean,
        "Overlap in characters with the nearest gold answer.",
        kinds=("reading",),
    ),
)
GOLDEN = {"jsquad_normalize_answer": normalise, "jsquad_em_f1": golden_case}
