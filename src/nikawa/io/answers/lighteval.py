"""lighteval's `details_*.parquet`: the item (`doc`), what the model wrote (`model_response`) and the value of each metric.

lighteval shuffles the items and numbers them itself, so neither the order nor `doc.id` says which example a row is about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.io.answers.base import AnswerForm, RawAnswer, Rows, Target, UnfitAnswer
from nikawa.io.answers.content import LogSample, SampleMatcher, find_own_id, list_fields, list_texts
from nikawa.io.answers.keyed import parse_parquet
from nikawa.io.answers.logs import choose_likeliest, find_offer
from nikawa.io.json import decode_json
from nikawa.io.parquet import open_parquet

NAME = "lighteval"
COLUMNS = {"doc", "metric", "model_response"}
ROW = "row"
"""The field of `doc.specific` that holds an exported item as JSON text."""


def is_log(path: Path) -> bool:
    """Whether a Parquet file has the columns of a log of lighteval."""
    with open_parquet(path) as (file, _):
        return set(file.schema_arrow.names) >= COLUMNS


class Response(NamedTuple):
    """What a row answers: a text, None with a reason, or a log-likelihood for each choice."""

    text: str | None
    why: str | None = None
    chances: tuple[float, ...] = ()
    choices: tuple[str, ...] = ()


def read_log(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """The answers of a log, matched by the item that a row repeats."""

    def list_samples() -> Iterator[LogSample]:
        for place, row in rows:
            try:
                yield make_sample(row, place, target, path)
            except UnfitAnswer as problem:
                raise problem.at(path, "row", place) from None

    for match in SampleMatcher(target, by_order=False).match(list_samples()):
        response: Response = match.sample.payload
        if not response.chances:
            yield match.make_answer(response.text, why=response.why)
            continue
        answer, scores = choose_likeliest(
            response.choices, response.chances, target.task, match.example, match.sample.offer
        )
        # likelihoods give the answer itself, not a reply to the prompt
        yield match.make_answer(answer, scores=scores, offer=None)


def make_sample(row: Mapping[str, Any], place: int, target: Target, path: Path) -> LogSample:
    """What a row tells about its example, and what it answers."""
    doc, reply = row.get("doc"), row.get("model_response")
    if not isinstance(doc, Mapping) or not isinstance(reply, Mapping):
        raise UnfitAnswer("has no doc or no model_response", "is this a log of lighteval?")
    specific = doc.get("specific")
    fields: Any = specific if isinstance(specific, Mapping) else {}
    if isinstance(fields.get(ROW), str) and fields[ROW].startswith("{"):
        fields = decode_json(fields[ROW], object, path)
    texts = [*list_fields(fields), *list_texts(doc.get("query")), *list_texts(doc.get("choices"))]
    return LogSample(
        place,
        tuple(texts),
        fields,
        find_own_id(fields, target),
        None,
        None,
        read_response(reply, doc),
        offer=find_offer(fields),
    )


def read_response(reply: Mapping[str, Any], doc: Mapping[str, Any]) -> Response:
    """What the model answered; several texts are refused."""
    texts = reply.get("text_post_processed") or reply.get("text") or []
    chances, choices = reply.get("logprobs") or [], doc.get("choices") or []
    if not texts and chances:
        if len(chances) != len(choices) or not all(map(_is_number, chances)):
            raise UnfitAnswer("has not one log-likelihood for each choice", "run lighteval again")
        names = tuple(str(choice).strip() for choice in choices)
        return Response(None, None, tuple(map(float, chances)), names)
    if len(texts) > 1:
        cure = "run the task with one sample for each item"
        raise UnfitAnswer(f"has {len(texts)} replies to one question", cure)
    if not texts or not texts[0]:
        return Response(None, "the log holds no output")
    return Response(texts[0])


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and not math.isnan(value)


FORM = AnswerForm(NAME, parse_parquet, read_log, "row", log=True)
