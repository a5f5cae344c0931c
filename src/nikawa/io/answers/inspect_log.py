"""inspect's logs: `.eval` archives with a file a sample, and the same as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from nikawa.errors import BadInput
from nikawa.io.answers.archive import members
from nikawa.io.answers.base import Ask, Form, Given, Rows, fault, id_text
from nikawa.io.answers.fields import Unfit
from nikawa.io.answers.logs import Variant
from nikawa.io.answers.match import Matcher
from nikawa.io.answers.parse import Parser, parser_of
from nikawa.io.json import decode_json, read_json
from nikawa.records import Example

NAME = "inspect"
_SHORT = ("text", "inference", "relation", "choice", "similarity")
"""Kinds of task whose answer may stand inside a longer completion, from which a scorer took it."""


def is_log(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document looks like a log of inspect."""
    return isinstance(document.get("samples"), list) and (
        "eval" in document or "status" in document
    )


def _read(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    reader = _Samples(ask)
    variant = Variant(path, NAME, "epoch", ask.option)
    place = 0
    for place, sample in rows:
        if not isinstance(sample, dict):
            raise fault(path, "sample", place, "is not an object", "write the log again")
        if not variant.takes(str(sample.get("epoch", 1))):
            continue
        try:
            yield reader.given(sample, place)
        except Unfit as problem:
            raise fault(path, "sample", place, problem.what, problem.cure) from None
    if not place:
        raise BadInput(
            "holds no samples", file=path, cure="is it a log of inspect, and did the run finish?"
        )
    variant.check()


def _parse(path: Path) -> Rows:
    with path.open("rb") as stream:
        is_archive = stream.read(2) == b"PK"
    if is_archive:
        for place, (name, content) in enumerate(members(path, "samples/"), start=1):
            yield place, decode_json(content, object, path / name)
    else:
        document = read_json(path, cast("type[dict[str, Any]]", dict))
        if not isinstance(document.get("samples"), list):
            raise BadInput(
                "is no log of inspect: it has no samples", file=path, cure="name another form"
            )
        yield from enumerate(document["samples"], start=1)


class _Samples:
    """Reads samples of one log."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._matcher = Matcher(ask)
        self._parse: Parser | None = parser_of(ask.task) if ask.task.kind in _SHORT else None

    def given(self, sample: Mapping[str, Any], place: int) -> Given:
        """The answer of one sample."""
        found = self._find(sample)
        name = id_text(sample.get("id"))
        if found is None and name is None:
            raise Unfit("has no id", "is this a log of inspect?")
        own = found.id if found else f"sample {name}"
        completion = _completion(sample.get("output"))
        if completion is None or (not completion and _stop(sample) != "stop"):
            return Given(place, own, None, why=_why(sample))
        return Given(place, own, self._answer(completion, sample, found), raw=completion)

    def _answer(self, completion: str, sample: Mapping[str, Any], found: Example | None) -> str:
        """The completion, or what the log's scorers took from it where it cannot be read whole."""
        if self._parse is None or found is None:
            return completion
        scores = sample.get("scores")
        taken = scores.values() if isinstance(scores, Mapping) else ()
        answers = [score.get("answer") for score in taken if isinstance(score, Mapping)]
        texts = [completion, *(answer for answer in answers if isinstance(answer, str))]
        return next((text for text in texts if self._parse(text, found)[1] is None), completion)

    def _find(self, sample: Mapping[str, Any]) -> Example | None:
        """By an id in the metadata; by the sample's own id, or its number from 1, whichever's texts the input holds."""
        by_metadata = self._matcher.find(sample.get("metadata"))
        if by_metadata is not None:
            return self._ask.by_id[by_metadata]
        own = sample.get("id")
        by_id = self._ask.by_id.get(id_text(own) or "")
        number = own - 1 if type(own) is int else -1
        by_number = self._ask.examples[number] if 0 <= number < len(self._ask.examples) else None
        prompt = _prompt(sample)
        held = [(_held(e, prompt), e) for e in (by_id, by_number) if e is not None]
        (count, _), best = max(held, key=lambda pair: pair[0], default=((0, False), None))
        return best if count else by_id if isinstance(own, str) else None


def _held(example: Example, prompt: str) -> tuple[int, bool]:
    """How many of the example's texts the prompt holds, and whether in their order: a pair may occur both ways round."""
    texts = [value.strip() for value in example.inputs.values() if isinstance(value, str)]
    places = [prompt.rfind(text) for text in texts if text and text in prompt]
    return len(places), places == sorted(places)


def _prompt(sample: Mapping[str, Any]) -> str:
    given = sample.get("input")
    if isinstance(given, str):
        return given
    messages = given if isinstance(given, list) else []
    return "\n".join(
        _content(message.get("content")) for message in messages if isinstance(message, Mapping)
    )


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _completion(output: Any) -> str | None:
    if not isinstance(output, Mapping):
        return None
    if isinstance(output.get("completion"), str):
        return cast("str", output["completion"])
    choice = _first(output)
    message = choice.get("message")
    return _content(message.get("content")) if isinstance(message, Mapping) else None


def _first(output: Any) -> Mapping[str, Any]:
    choices = output.get("choices") if isinstance(output, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, Mapping) else {}


def _stop(sample: Mapping[str, Any]) -> str | None:
    reason = _first(sample.get("output")).get("stop_reason")
    return reason if isinstance(reason, str) else None


def _why(sample: Mapping[str, Any]) -> str:
    error = sample.get("error")
    said = error.get("message") if isinstance(error, Mapping) else None
    return f"the run failed: {said}" if said else "the log holds no output"


FORM = Form(NAME, _parse, _read, "sample", log=True)
