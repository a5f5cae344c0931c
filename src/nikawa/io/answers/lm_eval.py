"""lm-eval's `samples_*.jsonl`: generated texts, or a log-likelihood for each choice.

Newer versions write every response as text (`["-3.1", "False"]`) and the arguments as `gen_args_0`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nikawa.io.answers.base import Ask, Form, Given, Rows, fault
from nikawa.io.answers.fields import Unfit
from nikawa.io.answers.logs import Variant, log_samples, unit
from nikawa.io.answers.match import Matcher
from nikawa.io.answers.parse import label_reader
from nikawa.io.answers.scores import best

NAME = "lm-eval"


def is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a record looks like a sample of lm-eval."""
    return "doc_id" in row and ("filtered_resps" in row or "resps" in row)


def _read(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    matcher, variant = Matcher(ask), Variant(path, NAME, "filter", ask.option)
    for place, row in rows:
        if not variant.takes(str(row.get("filter", "none"))):
            continue
        try:
            order = _order(row)
            answer, scores = _answer(row, ask)
            found = matcher.find(row.get("doc"), order)
        except Unfit as problem:
            raise fault(path, unit(path), place, problem.what, problem.cure) from None
        yield Given(place, found, answer, scores, order=order)
    variant.check()


def _order(row: Mapping[str, Any]) -> int:
    order = row.get("doc_id")
    if type(order) is not int or order < 0:
        raise Unfit(f"doc_id is {order!r}", "lm-eval counts documents from 0: is this its log?")
    return order


def _answer(row: Mapping[str, Any], ask: Ask) -> tuple[Any, dict[str, float] | None]:
    responses = row.get("filtered_resps", row.get("resps"))
    if not isinstance(responses, list) or not responses:
        raise Unfit("has no responses", "run lm-eval with --log_samples again")
    chances = [_likelihood(response) for response in responses]
    if len(chances) > 1 and all(chance is not None for chance in chances):
        return _choose([chance for chance in chances if chance is not None], row, ask)
    return _only(responses), None


def _only(value: Any) -> Any:
    """The single text inside nested lists; None where there are several different ones."""
    while isinstance(value, list) and value and all(item == value[0] for item in value):
        value = value[0]
    return None if isinstance(value, list) else value


def _likelihood(response: Any) -> float | None:
    """The log-likelihood of a `[number, is it the greedy one]`, which may be wrapped once more and be text."""
    if isinstance(response, list) and len(response) == 1:
        response = response[0]
    if (
        not isinstance(response, list)
        or len(response) != 2
        or str(response[1]) not in ("True", "False")
    ):
        return None
    try:
        return float(response[0])
    except (TypeError, ValueError, OverflowError):
        return None


def _choose(
    chances: list[float], row: Mapping[str, Any], ask: Ask
) -> tuple[Any, dict[str, float] | None]:
    names = _names(row, len(chances), ask)
    if names is None:
        return None, None
    scores: dict[str, float] = {}
    for name, chance in zip(names, chances, strict=True):
        scores.setdefault(name, chance)
    top = best(scores)
    finite = all(math.isfinite(chance) for chance in chances)
    return int(top) if ask.task.kind == "choice" else top, scores if finite else None


def _names(row: Mapping[str, Any], size: int, ask: Ask) -> list[str] | None:
    """What each likelihood is of: the choice's place, or the label its continuation means."""
    if ask.task.kind == "choice":
        return [str(place) for place in range(size)]
    read = label_reader(ask.task)
    labels = [read(text) for text in _continuations(row)]
    return (
        None
        if len(labels) != size or None in labels
        else [label for label in labels if label is not None]
    )


def _continuations(row: Mapping[str, Any]) -> list[Any]:
    arguments = row.get("arguments")
    if isinstance(arguments, Mapping):
        return [
            part.get("arg_1") if isinstance(part, Mapping) else None for part in arguments.values()
        ]
    if isinstance(arguments, list):
        return [part[1] if isinstance(part, list) and len(part) > 1 else None for part in arguments]
    return []


FORM = Form(NAME, log_samples, _read, log=True)
