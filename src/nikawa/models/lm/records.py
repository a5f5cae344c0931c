"""What is computed for each item, and the prediction that it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from nikawa.io.answers.extract import read_extracts
from nikawa.io.answers.replies import blank_thoughts, find_json
from nikawa.models.chat.conversation import read_answer
from nikawa.models.chat.logprobs import softmax
from nikawa.models.chat.questions import Questions, SimilarityQuestions
from nikawa.models.lm.prompts import Item
from nikawa.models.lm.settings import LmSettings
from nikawa.records import Prediction

NOT_FINITE = "not finite: a log-likelihood is not a number; set dtype=float32"


class ItemRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was computed for one item."""

    key: str
    """Digest of the prompt, the options and what defines the computation."""
    logprobs: list[float | None] | None = None
    """Log-likelihood of each option; None where it is not finite."""
    counts: list[int] | None = None
    """Tokens of each option."""
    empty: list[float | None] | None = None
    """Log-likelihood of each option after an empty context."""
    text: str | None = None
    """Generated text."""
    was_cut: bool = False
    """Whether it reached the maximum number of tokens."""
    tokens_in: int = 0
    tokens_out: int = 0
    dropped: int = 0
    """Few-shot examples that did not fit into the prompt."""
    truncated: int = 0
    """Tokens that the prompt lost at its beginning: it does not fit even without few-shot examples."""


def read_record(
    item: Item, record: ItemRecord, questions: Questions, settings: LmSettings
) -> Prediction:
    """The prediction of an item from what was computed for it."""
    if record.logprobs is None:
        return read_text(item, record, questions, settings)
    if any(value is None or not math.isfinite(value) for value in record.logprobs):
        return Prediction(example=item.example.id, why=NOT_FINITE)
    table = compare_options(item, record)
    if isinstance(questions, SimilarityQuestions):
        scores = {name: rate_scale(item, values) for name, values in table.items()}
        return Prediction(
            example=item.example.id,
            answer=scores[settings.normalise][settings.score],
            raw=msgspec.json.encode(scores).decode(),
        )
    values = table[settings.normalise]
    shares = softmax(dict(enumerate(values)))
    best = max(range(len(values)), key=lambda number: values[number])
    return Prediction(
        example=item.example.id,
        answer=item.values[best],
        scores={str(value): shares[i] for i, value in enumerate(item.values)},
        raw=msgspec.json.encode(table).decode(),
    )


def compare_options(item: Item, record: ItemRecord) -> Mapping[str, list[float]]:
    """The options by each normalisation, from one computation; without `pmi` where the tokenizer has
    no token for an empty context.
    """
    sums = [float(value) for value in record.logprobs or () if value is not None]
    lengths = [max(1, len(text.strip())) for text in item.answers]
    counts = record.counts or [1] * len(sums)
    table = {
        "sum": sums,
        "token": [value / count for value, count in zip(sums, counts, strict=True)],
        "character": [value / length for value, length in zip(sums, lengths, strict=True)],
    }
    empty = [value for value in record.empty or () if value is not None]
    if len(empty) == len(sums):
        table["pmi"] = [value - alone for value, alone in zip(sums, empty, strict=True)]
    return table


def rate_scale(item: Item, values: list[float]) -> dict[str, float]:
    """The score of a pair of sentences: the expectation over the scale, and the likeliest value."""
    shares = softmax(dict(enumerate(values)))
    best = max(range(len(values)), key=lambda number: values[number])
    expectation = sum(shares[i] * value for i, value in enumerate(item.values))
    return {"expectation": expectation, "best": item.values[best]}


def read_text(
    item: Item, record: ItemRecord, questions: Questions, settings: LmSettings
) -> Prediction:
    """The answer in generated text, or none with the reason."""
    text = record.text or ""
    is_torn = record.was_cut and questions.is_structured
    if is_torn and find_json(blank_thoughts(text), (dict, list)) is None:
        return Prediction(example=item.example.id, raw=text, why="length")
    reader: Any = read_extracts(questions.reader, settings.extract)
    return read_answer(reader, item.example, text, was_cut=record.was_cut, raw=text)
