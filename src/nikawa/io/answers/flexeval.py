"""flexeval's `outputs.jsonl`: generated texts with their inputs, or log-probabilities of choices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nikawa.io.answers.base import AnswerForm, RawAnswer, Rows, Target, UnfitAnswer
from nikawa.io.answers.logs import ExampleMatcher, place_unit, read_samples
from nikawa.io.answers.reader import make_label_reader
from nikawa.io.answers.scores import to_float


def is_sample(row: Mapping[str, Any]) -> bool:
    """Whether a record looks like an output of flexeval."""
    return "lm_output" in row or {"choices", "log_probs", "prediction"} <= row.keys()


def read_outputs(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """The answers of a log, matched by the inputs it repeats."""
    matcher = ExampleMatcher(target)
    for order, (place, row) in enumerate(rows):
        try:
            if "log_probs" in row:
                yield read_choice_sample(row, place, order, target, matcher)
            else:
                yield read_text_sample(row, place, order, matcher)
        except UnfitAnswer as problem:
            raise problem.at(path, place_unit(path), place) from None


def read_text_sample(
    row: Mapping[str, Any], place: int, order: int, matcher: ExampleMatcher
) -> RawAnswer:
    """The answer of a sample whose model wrote a text; None with a reason where the request failed."""
    if "lm_output" not in row:
        raise UnfitAnswer("has no 'lm_output'", "is this the outputs.jsonl of flexeval?")
    name = matcher.find(row.get("extra_info", row.get("task_inputs")), order)
    output, reason = row["lm_output"], row.get("finish_reason")
    if not output and reason != "stop":  # a failed request is logged as an empty text
        why = f"the log holds no output (finish reason: {reason or 'not stated'})"
        return RawAnswer(place, name, None, why=why, order=order)
    return RawAnswer(place, name, output, order=order)


def read_choice_sample(
    row: Mapping[str, Any], place: int, order: int, target: Target, matcher: ExampleMatcher
) -> RawAnswer:
    """The answer of a sample that gives a log-probability for each choice: the likeliest, with all
    of them as scores.
    """
    choices, log_probs = row.get("choices"), row.get("log_probs")
    if (
        not isinstance(choices, list)
        or not isinstance(log_probs, list)
        or not 0 < len(choices) == len(log_probs)
    ):
        what = "choices and log_probs are not two lists of one length"
        raise UnfitAnswer(what, "write the log again")
    if not all(type(chance) in (int, float) for chance in log_probs):
        raise UnfitAnswer("a log-probability is no number", "write the log again")
    chances = [to_float(chance) for chance in log_probs]
    top = max(range(len(chances)), key=chances.__getitem__)
    texts = [str(choice).strip() for choice in choices]
    if target.task.kind == "choice":
        names, has_names = [str(i) for i in range(len(texts))], True
        example = matcher.find_choices(texts, str(row.get("prefix", "")), order)
    else:
        names, has_names = texts, all(map(make_label_reader(target.task), texts))
        example = None
    scores = None
    if has_names and all(map(math.isfinite, chances)):
        scores = dict(zip(names, chances, strict=True))
    answer = top if target.task.kind == "choice" else texts[top]
    return RawAnswer(place, example, answer, scores, order=order)


FORM = AnswerForm("flexeval", read_samples, read_outputs, log=True)
