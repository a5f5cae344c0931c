"""lm-eval's `samples_*.jsonl`: generated texts, or a log-likelihood for each choice.

Newer versions write every response as text (`["-3.1", "False"]`) and the arguments as `gen_args_0`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.io.answers.base import (
    AnswerForm,
    RawAnswer,
    Rows,
    Target,
    UnfitAnswer,
)
from nikawa.io.answers.content import (
    LogSample,
    SampleMatcher,
    find_own_id,
    list_fields,
    list_texts,
)
from nikawa.io.answers.logs import (
    LogVariant,
    find_choices,
    find_offer,
    name_keys,
    place_unit,
    read_samples,
)
from nikawa.io.answers.parse import best_label
from nikawa.io.answers.reader import make_label_reader
from nikawa.io.answers.readings import Offer
from nikawa.records import Example

NAME = "lm-eval"


def is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a record looks like a sample of lm-eval."""
    return "doc_id" in row and ("filtered_resps" in row or "resps" in row)


class Responses(NamedTuple):
    """What a sample answers: a text, or a log-likelihood for each continuation."""

    text: Any
    chances: tuple[float, ...] = ()
    continuations: tuple[Any, ...] = ()


def read_log(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """The answers of a log, matched by the document it repeats; of several filters one is taken."""
    variant = LogVariant(path, NAME, "filter", target.option)

    def list_samples() -> Iterator[LogSample]:
        for place, row in rows:
            if not variant.takes(str(row.get("filter", "none"))):
                continue
            try:
                yield make_sample(row, place, target)
            except UnfitAnswer as problem:
                raise problem.at(path, place_unit(path), place) from None

    for match in SampleMatcher(target, by_order=True).match(list_samples()):
        responses, offer = match.sample.payload, match.sample.offer
        answer, scores = choose_answer(responses, target, match.example, offer)
        # likelihoods give the answer itself, not a reply to the prompt
        own = {"offer": None} if responses.chances else {}
        yield match.make_answer(answer, scores=scores, **own)
    variant.check()


def make_sample(row: Mapping[str, Any], place: int, target: Target) -> LogSample:
    """What a record tells about its example, and what it answers."""
    order, doc = row.get("doc_id"), row.get("doc")
    if type(order) is not int or order < 0:
        cure = "lm-eval counts documents from 0: is this its log?"
        raise UnfitAnswer(f"doc_id is {order!r}", cure)
    fields = doc if isinstance(doc, Mapping) else {}
    arguments = row.get("arguments")
    first: Any = None  # the prompt is the same for all continuations
    if isinstance(arguments, Mapping):
        first = next(iter(arguments.values()), None)
        first = first.get("arg_0") if isinstance(first, Mapping) else None
    elif isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        first = next(iter(arguments[0]), None)
    return LogSample(
        place,
        tuple(list_fields(fields)),
        fields,
        find_own_id(doc, target),
        None,
        order,
        read_responses(row),
        tuple(list_texts(first)),
        find_offer(fields),
    )


def read_responses(row: Mapping[str, Any]) -> Responses:
    """The responses of a sample."""
    responses = row.get("filtered_resps", row.get("resps"))
    if not isinstance(responses, list) or not responses:
        raise UnfitAnswer("has no responses", "run lm-eval with --log_samples again")
    likelihoods = [read_likelihood(response) for response in responses]
    chances = [chance for chance in likelihoods if chance is not None]
    if len(responses) == 1 or len(chances) < len(responses):
        text: Any = responses  # one text inside nested lists; None where there are several
        while isinstance(text, list) and text and all(item == text[0] for item in text):
            text = text[0]
        return Responses(None if isinstance(text, list) else text)
    arguments, continuations = row.get("arguments"), []
    if isinstance(arguments, Mapping):
        for part in arguments.values():
            continuations.append(part.get("arg_1") if isinstance(part, Mapping) else None)
    elif isinstance(arguments, list):
        for part in arguments:
            is_pair = isinstance(part, list) and len(part) > 1
            continuations.append(part[1] if is_pair else None)
    return Responses(None, tuple(chances), tuple(continuations))


def choose_answer(
    responses: Responses, target: Target, example: Example | None, offer: Offer | None = None
) -> tuple[Any, dict[str, float] | None]:
    """The answer, and where the responses are likelihoods of choices, their scores."""
    chances = responses.chances
    if not chances:
        return responses.text, None
    names = name_keys(responses.continuations, target.task, offer)
    names = names or name_choices(responses, target, example)
    if names is None:
        return None, None
    scores: dict[str, float] = {}
    for name, chance in zip(names, chances, strict=True):
        scores.setdefault(name, chance)
    top = best_label(scores)
    answer = int(top) if target.task.kind == "choice" else top
    return answer, scores if all(map(math.isfinite, chances)) else None


def read_likelihood(response: Any) -> float | None:
    """The log-likelihood of a `[number, is it the greedy one]`, which may be wrapped once more and
    be text.
    """
    if isinstance(response, list) and len(response) == 1:
        response = response[0]
    if not isinstance(response, list) or len(response) != 2:
        return None
    if str(response[1]) not in ("True", "False"):
        return None
    try:
        return float(response[0])
    except (TypeError, ValueError, OverflowError):
        return None


def name_choices(responses: Responses, target: Target, example: Example | None) -> list[str] | None:
    """What each likelihood is of: the choice with the continuation's text, else the one at its
    place; or the label that the continuation means.
    """
    size, continuations = len(responses.chances), responses.continuations
    if target.task.kind == "choice":
        texts = [text for text in continuations if isinstance(text, str)]
        places = find_choices(texts, example) if len(texts) == size else None
        return [str(place) for place in places or range(size)]
    read = make_label_reader(target.task)
    labels = [label for label in map(read, continuations) if label is not None]
    return labels if len(labels) == len(continuations) == size else None


FORM = AnswerForm(NAME, read_samples, read_log, log=True)
