r"""From which score a sentence is toxic, measured on judged items.

The threshold is the one with the highest :math:`F_1 = 2 P R / (P + R)`, or the highest one with a given recall. Chosen and
tried on the same items, it would look better than it is. Precision and recall are therefore cross-fitted: the items are
parted into ten, and each tenth is tried at the threshold of the other nine. The AUC is the probability that a toxic item
scores higher than another one, ties counted as one half (Hanley and McNeil 1982). Intervals are percentile bootstrap intervals
over items.

An item without a score counts as flagged, as it does when sentences are cleaned.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.cleaning.toxicity_models import QUESTION, TOXIC
from nikawa.datasets.load import open_file
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.records import Example, Record
from nikawa.stats.resample import SCORE_RESAMPLES, draw_weights, percentile_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PARTS = 10
FEW = 30
"""Items of a kind below which the report says that they are few."""
TEXT = "text"
LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz")
TRUE, FALSE = (True, 1, 1.0, "1", "true", "yes"), (False, 0, 0.0, "0", "false", "no")


class Estimate(Record, frozen=True, kw_only=True):
    """A figure with its 95% interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Threshold(Record, frozen=True, kw_only=True):
    """A threshold, and what it does on judged items."""

    value: float
    rule: str
    """How it was chosen."""
    items: int = 0
    """Judged items; 0: it is not measured."""
    toxic: int = 0
    """Of them judged toxic."""
    without_score: int = 0
    """Items to which the scorer gave no answer."""
    precision: Estimate | None = None
    """Of the flagged items, the share that is judged toxic."""
    recall: Estimate | None = None
    """Of the items judged toxic, the share that is flagged."""
    auc: Estimate | None = None
    notes: tuple[str, ...] = ()


def read_judged(path: Path, toxic: Sequence[str] = (TOXIC,)) -> dict[str, bool]:
    """Texts, and whether each was judged toxic.

    The file has records with the input `text` and one gold label, or JSON lines like `{"text": "…", "toxic": true}`. Labels
    of `toxic` mean toxic, all others do not. Raises `BadInput` for a line without text or label, and for two
    judgements of a text that differ.
    """
    judged: dict[str, bool] = {}
    names = {name.casefold() for name in (*toxic, TOXIC)}
    for line, text, label in _read_rows(path):
        is_toxic = _read_label(label, names)
        if is_toxic is None:
            what = f"the label {label!r} says neither toxic nor not"
            raise BadInput(what, file=path, line=line, cure="write true or false, or a label")
        if judged.setdefault(text, is_toxic) != is_toxic:
            what = "judges a text in two ways"
            raise BadInput(what, file=path, line=line, cure="keep one judgement of each text")
    return judged


def _read_rows(path: Path) -> Any:
    """(Line, text, label) of each item."""
    if not path.is_file():
        raise BadInput("does not exist", file=path, cure="pass a file of judged texts")
    if not path.name.endswith(LINES) or _has_records(path):
        for number, example in enumerate(open_file(path), start=1):
            yield number, *_read_example(example, path, number)
        return
    for line, row in read_json_lines(path, dict):
        text = row.get(TEXT)
        named = [name for name in (TOXIC, "label", QUESTION) if name in row]
        if not isinstance(text, str) or not text.strip() or not named:
            what = "has no text, or does not say whether it is toxic"
            cure = 'write lines like {"text": "…", "toxic": true}'
            raise BadInput(what, file=path, line=line, cure=cure)
        yield line, text, row[named[0]]


def _has_records(path: Path) -> bool:
    """Whether the first line is a record, not just a text and a label."""
    _, first = next(read_json_lines(path, dict))
    return "inputs" in first


def _read_example(example: Example, path: Path, line: int) -> tuple[str, Any]:
    text = example.inputs.get(TEXT)
    if not isinstance(text, str):
        what = f"example {example.id!r} has no input {TEXT!r}"
        raise BadInput(what, file=path, line=line, cure="name the text of each item `text`")
    gold = dict(example.gold)
    label = gold.get(QUESTION, gold.get(TOXIC, gold.get("label")))
    if label is None and len(gold) == 1:
        (label,) = gold.values()
    if label is None:
        what = f"example {example.id!r} has no gold label {QUESTION!r}"
        raise BadInput(what, file=path, line=line, cure="pass items with a judgement each")
    return text, label


def _read_label(label: Any, toxic: set[str]) -> bool | None:
    plain = label.strip().casefold() if isinstance(label, str) else label
    if not isinstance(plain, bool | int | float | str) or plain == "":
        return None
    if plain in toxic or plain in TRUE:
        return True
    return False if plain in FALSE or isinstance(plain, str) else None


def require_both(judged: dict[str, bool], path: Path) -> None:
    """Refuse items that are all toxic, or none of them."""
    toxic = sum(judged.values())
    if not 0 < toxic < len(judged):
        what = f"{toxic:,} of {len(judged):,} items are judged toxic"
        cure = f"pass items of both kinds; {TOXIC!r} or --toxic-label names the label"
        raise BadInput(what, file=path, cure=cure)


def choose_threshold(scores: Floats, toxic: Bools, min_recall: float | None = None) -> float:
    """The score that separates toxic items best: halfway to the next lower one, where there is one.

    >>> choose_threshold(np.array([0.1, 0.4, 0.8]), np.array([False, False, True]))
    0.6
    """
    values = np.unique(scores[np.isfinite(scores)])
    if not len(values):
        return 1.0
    flagged = len(scores) - np.searchsorted(np.sort(scores), values)
    hits = toxic.sum() - np.searchsorted(np.sort(scores[toxic]), values)
    recall = hits / max(1, toxic.sum())
    precision = hits / np.maximum(1, flagged)
    if min_recall is not None:
        reaching = np.flatnonzero(recall >= min_recall - 1e-12)
        place = int(reaching[-1]) if len(reaching) else 0
    else:
        f1 = 2 * precision * recall / np.maximum(1e-12, precision + recall)
        place = int(np.flatnonzero(f1 >= f1.max() - 1e-12)[-1])
    if not place:
        return float(values[0])
    return round(float(values[place - 1] + values[place]) / 2, 6)


def flag_cross_fitted(
    texts: Sequence[str], scores: Floats, toxic: Bools, min_recall: float | None
) -> Bools | None:
    """What is flagged where each tenth is tried at the threshold of the others; None for too few items."""
    parts = min(PARTS, int(toxic.sum()), int((~toxic).sum()))
    if parts < 2:
        return None
    order = sorted(
        range(len(texts)), key=lambda i: blake2b(texts[i].encode("utf-8", "replace")).digest()
    )
    number = np.zeros(len(texts), dtype=int)
    for kind in (False, True):
        own = [i for i in order if toxic[i] == kind]
        number[own] = np.arange(len(own)) % parts
    flagged = np.zeros(len(texts), dtype=bool)
    for part in range(parts):
        inside = number == part
        limit = choose_threshold(scores[~inside], toxic[~inside], min_recall)
        flagged[inside] = scores[inside] >= limit
    return flagged


def measure_threshold(
    judged: dict[str, bool],
    scores: Sequence[float],
    *,
    given: float | None = None,
    min_recall: float | None = None,
) -> Threshold:
    """Choose the threshold on judged items with their scores, or take the `given` one, and measure it."""
    texts = list(judged)
    values = np.array(scores, dtype=float)
    toxic = np.array([judged[text] for text in texts], dtype=bool)
    notes = []
    if given is not None:
        value, rule, flagged = given, "as given", values >= given
    else:
        value = choose_threshold(values, toxic, min_recall)
        rule = "highest F1" if min_recall is None else f"highest with a recall of {min_recall:g}"
        cross_fitted = flag_cross_fitted(texts, values, toxic, min_recall)
        if cross_fitted is None:
            notes.append("precision and recall need two items of each kind")
        flagged = np.zeros(0, dtype=bool) if cross_fitted is None else cross_fitted
    few = min(int(toxic.sum()), int((~toxic).sum()))
    if few < FEW:
        notes.append(f"few items: {few} of the rarer kind, so the threshold may be far off")
    precision = recall = None
    if len(flagged):
        hit = flagged & toxic
        precision = _estimate_share(hit, flagged)
        recall = _estimate_share(hit, toxic)
    return Threshold(
        value=value,
        rule=rule,
        items=len(texts),
        toxic=int(toxic.sum()),
        without_score=int(np.isinf(values).sum()),
        precision=precision,
        recall=recall,
        auc=_estimate_auc(values, toxic),
        notes=tuple(notes),
    )


def _estimate_share(part: Bools, whole: Bools) -> Estimate:
    if not whole.any():
        return Estimate(value=None)
    blocks = []
    for weights in draw_weights(len(part), SCORE_RESAMPLES, 0):
        total = weights @ whole.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            blocks.append((weights @ part.astype(float)) / total)
    return _interval(float(part.sum() / whole.sum()), np.concatenate(blocks), len(part))


def _estimate_auc(scores: Floats, toxic: Bools) -> Estimate:
    _, level = np.unique(scores, return_inverse=True)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(level.max() + 1))

    def compute(weights: Floats) -> Floats:
        above = np.add.reduceat((weights * toxic)[:, order], starts, axis=1)
        below = np.add.reduceat((weights * ~toxic)[:, order], starts, axis=1)
        lower = below.cumsum(1) - below / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            values: Floats = (above * lower).sum(1) / (above.sum(1) * below.sum(1))
        return values

    value = float(compute(np.ones((1, len(scores))))[0])
    blocks = [compute(weights) for weights in draw_weights(len(scores), SCORE_RESAMPLES, 0)]
    return _interval(value, np.concatenate(blocks), len(scores))


def _interval(value: float, resampled: Floats, items: int) -> Estimate:
    low, high = percentile_interval(resampled, items)
    return Estimate(
        value=round(value, 6),
        low=None if np.isnan(low) else round(low, 6),
        high=None if np.isnan(high) else round(high, 6),
    )


def describe_threshold(threshold: Threshold) -> list[str]:
    """The threshold in lines for a terminal."""
    if not threshold.items:
        return [
            f"Toxic from a score of {threshold.value:g}: {threshold.rule}, not measured on judged items"
        ]
    lines = [
        f"Toxic from a score of {threshold.value:g} ({threshold.rule}), measured on {threshold.items:,} judged items, {threshold.toxic:,} of them toxic"
    ]
    figures = (
        ("precision", threshold.precision),
        ("recall", threshold.recall),
        ("AUC", threshold.auc),
    )
    shown = []
    for name, figure in figures:
        if figure is None or figure.value is None:
            shown.append(f"{name}: not defined")
            continue
        interval = (
            "" if figure.low is None else f" (95% interval {figure.low:.3f} to {figure.high:.3f})"
        )
        shown.append(f"{name} {figure.value:.3f}{interval}")
    lines.append("; ".join(shown))
    if threshold.without_score:
        lines.append(
            f"{threshold.without_score:,} judged items have no answer and count as flagged"
        )
    return [*lines, *threshold.notes]
