"""flexeval's `outputs.jsonl`: generated texts with their inputs, or log-probabilities of choices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nikawa.io.answers.base import Ask, Form, Given, Rows, fault
from nikawa.io.answers.fields import Unfit
from nikawa.io.answers.logs import log_samples, unit
from nikawa.io.answers.match import Matcher
from nikawa.io.answers.parse import as_float, label_reader

NAME = "flexeval"


def is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a record looks like an output of flexeval."""
    return "lm_output" in row or {"choices", "log_probs", "prediction"} <= row.keys()


def _read(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    matcher = Matcher(ask)
    for order, (place, row) in enumerate(rows):
        try:
            yield (
                _choice(row, place, order, ask, matcher)
                if "log_probs" in row
                else _text(row, place, order, matcher)
            )
        except Unfit as problem:
            raise fault(path, unit(path), place, problem.what, problem.cure) from None


def _text(row: Mapping[str, Any], place: int, order: int, matcher: Matcher) -> Given:
    if "lm_output" not in row:
        raise Unfit("has no 'lm_output'", "is this the outputs.jsonl of flexeval?")
    found = matcher.find(row.get("extra_info", row.get("task_inputs")), order)
    output, reason = row["lm_output"], row.get("finish_reason")
    if not output and reason != "stop":  # a failed request is logged as an empty text
        why = f"the log holds no output (finish reason: {reason or 'not stated'})"
        return Given(place, found, None, why=why, order=order)
    return Given(place, found, output, order=order)


def _choice(row: Mapping[str, Any], place: int, order: int, ask: Ask, matcher: Matcher) -> Given:
    choices, given = row.get("choices"), row.get("log_probs")
    if (
        not isinstance(choices, list)
        or not isinstance(given, list)
        or not 0 < len(choices) == len(given)
    ):
        raise Unfit("choices and log_probs are not two lists of one length", "write the log again")
    if not all(type(chance) in (int, float) for chance in given):
        raise Unfit("a log-probability is no number", "write the log again")
    chances = list(map(as_float, given))
    top = max(range(len(chances)), key=chances.__getitem__)
    texts = [str(choice).strip() for choice in choices]
    is_choice = ask.task.kind == "choice"
    names = list(map(str, range(len(texts)))) if is_choice else texts
    usable = is_choice or all(label_reader(ask.task)(text) for text in texts)
    finite = usable and all(math.isfinite(chance) for chance in chances)
    scores = dict(zip(names, chances, strict=True)) if finite else None
    found = matcher.find_choices(texts, str(row.get("prefix", "")), order) if is_choice else None
    return Given(place, found, top if is_choice else texts[top], scores, order=order)


FORM = Form(NAME, log_samples, _read, log=True)
