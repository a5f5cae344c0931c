"""flexeval's `outputs.jsonl`: generated texts with their inputs, or log-probabilities of choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.io.answers.base import AnswerForm, RawAnswer, Rows, Target, UnfitAnswer
from nikawa.io.answers.content import (
    LogSample,
    SampleMatcher,
    find_own_id,
    list_fields,
    list_texts,
)
from nikawa.io.answers.logs import choose_likeliest, find_offer, place_unit, read_samples
from nikawa.io.answers.readings import Offer
from nikawa.io.answers.scores import to_float
from nikawa.records import Example


def is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a record looks like an output of flexeval."""
    return "lm_output" in row or {"choices", "log_probs", "prediction"} <= row.keys()


class Output(NamedTuple):
    """What a sample answers: a text, None with a reason, or a log-probability for each choice."""

    text: str | None
    why: str | None = None
    chances: tuple[float, ...] = ()
    choices: tuple[str, ...] = ()


def read_outputs(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """The answers of a log, matched by the inputs it repeats, else by the prompt."""

    def list_samples() -> Iterator[LogSample]:
        for order, (place, row) in enumerate(rows):
            try:
                yield make_sample(row, place, order, target)
            except UnfitAnswer as problem:
                raise problem.at(path, place_unit(path), place) from None

    for match in SampleMatcher(target, by_order=True).match(list_samples()):
        output, offer = match.sample.payload, match.sample.offer
        answer, scores, why = choose_answer(output, target, match.example, offer)
        # likelihoods give the answer itself, not a reply to the prompt
        own = {"offer": None} if output.chances else {}
        yield match.make_answer(answer, scores=scores, why=why, **own)


def make_sample(row: Mapping[str, Any], place: int, order: int, target: Target) -> LogSample:
    """What a record tells about its example, and what it answers."""
    if "log_probs" in row:
        output = read_choices(row)
    elif "lm_output" in row:
        output = read_text(row)
    else:
        raise UnfitAnswer("has no 'lm_output'", "is this the outputs.jsonl of flexeval?")
    inputs = row.get("extra_info", row.get("task_inputs"))
    fields = dict(inputs) if isinstance(inputs, Mapping) else {}
    messages = fields.pop("messages", None)  # the chat; the other fields belong to the item
    prompt = [*list_texts(row.get("prefix")), *list_texts(row.get("lm_prompt"))]
    return LogSample(
        place,
        (*list_fields(fields), *output.choices),
        fields,
        find_own_id(inputs, target),
        None,
        order,
        output,
        (*prompt, *list_texts(messages)),
        find_offer(fields),
    )


def read_text(row: Mapping[str, Any]) -> Output:
    """The text that the model wrote; None with a reason where the request failed."""
    text, reason = row["lm_output"], row.get("finish_reason")
    if not text and reason != "stop":  # a failed request is logged as an empty text
        return Output(None, f"the log holds no output (finish reason: {reason or 'not stated'})")
    return Output(text)


def read_choices(row: Mapping[str, Any]) -> Output:
    """The log-probability of each choice."""
    choices, log_probs = row.get("choices"), row.get("log_probs")
    if (
        not isinstance(choices, list)
        or not isinstance(log_probs, list)
        or not 0 < len(choices) == len(log_probs)
    ):
        what = "choices and log_probs are not two lists of the same length"
        raise UnfitAnswer(what, "write the log again")
    if not all(type(chance) in (int, float) for chance in log_probs):
        raise UnfitAnswer("a log-probability is not a number", "write the log again")
    texts = tuple(str(choice).strip() for choice in choices)
    return Output(None, None, tuple(map(to_float, log_probs)), texts)


def choose_answer(
    output: Output, target: Target, example: Example | None, offer: Offer | None = None
) -> tuple[Any, dict[str, float] | None, str | None]:
    """Return the answer, the scores, and the reason for a missing answer; for choices, the most likely is the answer,
    and all are scores.
    """
    if not output.chances:
        return output.text, None, output.why
    answer, scores = choose_likeliest(output.choices, output.chances, target.task, example, offer)
    return answer, scores, None


FORM = AnswerForm("flexeval", read_samples, read_outputs, log=True)
