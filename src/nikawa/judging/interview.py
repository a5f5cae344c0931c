"""One item put to a model: the question of the form as a conversation, and what the reply answers.

A closed question is asked by keys, in an order that is drawn for each item and copy; other questions by JSON in the shape
of the form's sample. The form itself checks every answer, and its own messages tell the model what to correct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from string import ascii_uppercase
from typing import Any

import msgspec

from nikawa.collect.form import Offer, Problem
from nikawa.io.answers.replies import blank_thoughts, find_json, is_refusal, quote
from nikawa.judging.structures import BLANK, ReplyFault, StatesField, TreeField, find_structure
from nikawa.judging.tasks import JudgingTask
from nikawa.models.chat.conversation import Messages
from nikawa.records import Example
from nikawa.serve.languages import fill_message, read_messages
from nikawa.text.marked import NO_ANSWER, is_marked

PLACE = "start"
"""The question or field that says where a text begins; it is found, not asked for."""
WORDINGS = 3
"""Wordings of the instruction, `system_1` and so on."""
MAX_CLIPPED = 200
"""Characters of a reply that a correction repeats."""


@dataclass(frozen=True)
class CopyPlan:
    """What sets a copy of a model apart from the others."""

    number: int
    """From 1."""
    seed: int
    temperature: float
    wording: int
    """From 1 to `WORDINGS`."""


@dataclass(frozen=True)
class ClosedField:
    """A question with a closed set of answers, in the order in which they are shown."""

    question: str
    values: tuple[Any, ...]
    keys: tuple[str, ...]
    words: tuple[str, ...]
    offer: Offer

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        one = {"type": "string", "enum": list(self.keys)}
        if not self.offer.is_ranking:
            return one
        most = min(self.offer.most, len(self.keys))
        return {"type": "array", "items": one, "minItems": 1, "maxItems": most}

    def shape(self) -> Any:
        """The answer with a blank in place of what is asked."""
        return [BLANK] if self.offer.is_ranking else BLANK

    def read(self, value: Any) -> Any:
        """The answer that a key or word means; anything else as it is, for the form to refuse."""
        if self.offer.is_ranking:
            parts = value if isinstance(value, list) else [value]
            return [self._read_one(part) for part in parts]
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return self._read_one(value)

    def _read_one(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        text = f"{value:g}" if isinstance(value, float) else str(value).strip()
        # the number of a choice would be read as either of two: models count from 0 and from 1
        stored = [value for value in self.values if isinstance(value, str)]
        for names in (self.keys, self.words, stored):
            same = [place for place, name in enumerate(names) if name.casefold() == text.casefold()]
            if len(same) == 1:
                return self.values[same[0]]
        if not (isinstance(value, str) or self.offer.is_ordered):
            raise ReplyFault(
                "not_offered", text
            )  # the form would take it for a place it did not show
        return value


@dataclass(frozen=True)
class OpenField:
    """A question whose answer is written: a text, several, or a list of objects."""

    question: str
    sample: Any
    count: int = 0
    """How many texts or objects are asked for; 0: not a fixed number."""
    names: tuple[str, ...] = ()
    """What each of the texts is."""
    labels: tuple[str, ...] = ()
    """Labels of spans, if spans are asked for."""
    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """The type of each object, where it is given and not asked for."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The texts of one object of the list."""
        given = (PLACE, "type") if self.kinds else (PLACE,)
        return tuple(name for name in self.sample[0] if name not in given)

    @property
    def is_quote(self) -> bool:
        """Whether the answer is a text of the paragraph, or none."""
        return is_marked(self.sample)

    @property
    def is_objects(self) -> bool:
        """Whether the answer is a list of objects."""
        return (
            isinstance(self.sample, list) and bool(self.sample) and isinstance(self.sample[0], dict)
        )

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        text: dict[str, Any] = {"type": "string"}
        if isinstance(self.sample, str) or self.is_quote:
            return text
        item = text
        if self.labels:
            item = _object({"text": text, "label": {"type": "string", "enum": list(self.labels)}})
        elif self.is_objects:
            item = _object(dict.fromkeys(self.fields, text))
        limits = {"minItems": self.count, "maxItems": self.count} if self.count else {}
        return {"type": "array", "items": item, **limits}

    def shape(self) -> Any:
        """The answer with blanks in place of what is asked."""
        if isinstance(self.sample, str) or self.is_quote:
            return BLANK
        if self.labels:
            return [{"text": BLANK, "label": BLANK}]
        return [dict.fromkeys(self.fields, BLANK) if self.is_objects else BLANK] * max(
            1, self.count
        )


Field = ClosedField | OpenField | TreeField | StatesField


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class Reading:
    """What a reply says."""

    answer: dict[str, Any] | None = None
    """The answer that the form takes."""
    why: str = ""
    """Why there is no answer."""
    correction: str = ""
    """What the model reads if it is asked again."""


@dataclass
class Interview:
    """The conversation with one copy about one item."""

    task: JudgingTask
    example: Example
    copy: CopyPlan
    fields: list[Field] = field(init=False)

    def __post_init__(self) -> None:
        if self.is_mirrored and self.task.form.mirror is not None:
            self.example = self.task.form.mirror.example(self.example)
        self.fields = list(self._make_fields())

    @cached_property
    def is_mirrored(self) -> bool:
        """Whether the sides of the item are exchanged: in every other copy, half of the items beginning with each."""
        if self.task.form.mirror is None:
            return False
        begins = Random(f"sides/{self.example.id}").random() < 0.5  # noqa: S311  (no secret)
        return begins == bool(self.copy.number % 2)

    def turn_back(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer to what was shown as an answer to the item."""
        mirror = self.task.form.mirror
        if mirror is None or not self.is_mirrored:
            return answer
        return mirror.answer(answer, self.task.options)

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The messages of worker pages, of the form and of this package in the language of the workers."""
        language = self.task.language
        pages = read_messages("nikawa.collect", "messages", language)
        own = read_messages("nikawa.judging", "words", language)
        return {**own, **pages, **self.task.form.words.get(language, {})}

    @cached_property
    def _own(self) -> Mapping[str, str]:
        return read_messages("nikawa.judging", "words", self.task.language)

    @cached_property
    def shown(self) -> dict[str, Any]:
        """What a worker would see of the item."""
        return self.task.form.view(self.task.form, self.example, self.task.options)

    # -- the question --

    def _make_fields(self) -> Iterator[Field]:
        form, options = self.task.form, self.task.options
        if form.offers is not None:
            for question, offer in form.offers(self.example, options).items():
                yield self._make_closed(question, offer)
            return
        main = form.main_question(options)
        if structure := find_structure(form):
            yield self._make_tree(main) if structure == "tree" else self._make_states(main)
            return
        sample = dict(form.sample.answer) if form.sample is not None else {}
        for name, value in sample.items():
            question = main if name == form.questions[0] else name
            if question == PLACE and len(sample) > 1:
                continue
            yield self._make_open(question, value)

    def _make_closed(self, question: str, offer: Offer) -> ClosedField:
        places = list(range(len(offer.values)))
        draw = self._draw(question)
        if offer.is_fixed:
            keys = [str(place + 1) for place in places]
        elif offer.is_ordered:
            if draw.random() < 0.5:
                places.reverse()
            keys = [f"{offer.values[place]:g}" for place in places]
        else:
            draw.shuffle(places)
            keys = []
        words = [self._name_value(offer, place) for place in places]
        for number, word in enumerate(words):
            if word and words.count(word) > 1 and not offer.words:  # two labels with one name
                words[number] = f"{word} ({offer.values[places[number]]})"
        values = tuple(offer.values[place] for place in places)
        keys = keys or _choose_keys(words)
        return ClosedField(question, values, tuple(keys), tuple(words), offer)

    def _name_value(self, offer: Offer, place: int) -> str:
        if offer.words:
            return offer.words[place]
        if offer.messages:
            return self.words[offer.messages[place]]
        value = offer.values[place]
        if offer.is_ordered:
            return (
                self.words.get(f"anchor_{value:g}", "")
                if offer.values[0] == 0 and offer.values[-1] == 5
                else ""
            )
        return self._name_label(str(value))

    def _name_label(self, label: str) -> str:
        names = getattr(self.task.options, "names", {})
        return str(names.get(label) or self.words.get(f"label_{label}", label))

    def _make_open(self, question: str, sample: Any) -> OpenField:
        options = self.task.options
        if isinstance(sample, str) and int(getattr(options, "texts", 0)) > 0:
            sample = [sample]
        labels = tuple(getattr(options, "labels", ()))
        is_list = isinstance(sample, list)
        parts = sample[0] if is_list and sample and isinstance(sample[0], dict) else {}
        if {PLACE, "end"} <= parts.keys():
            shuffled = list(labels)
            self._draw(question).shuffle(shuffled)
            words = tuple(map(self._name_label, shuffled))
            return OpenField(question, sample, labels=tuple(shuffled), words=words)
        kinds = tuple(self.shown.get("types", ())) if "type" in parts else ()
        if kinds:
            lines = [f"{self._name_label(kind)}: {self.words[f'type_{kind}']}" for kind in kinds]
            return OpenField(question, sample, len(kinds), tuple(lines), kinds=kinds)
        count = int(getattr(options, "texts", 0) or len(labels) or len(sample)) if is_list else 0
        names = tuple(map(self._name_label, labels)) if is_list and len(labels) == count else ()
        return OpenField(question, sample, count, names)

    def _make_tree(self, question: str) -> TreeField:
        words = [
            f"{word['form']} ({word['pos']})" if word["pos"] else word["form"]
            for word in self.shown["words"]
        ]
        labels = list(self.task.options.labels)
        self._draw(question).shuffle(labels)
        names = tuple(map(self._name_label, labels))
        return TreeField(question, tuple(words), tuple(labels), names, self.shown.get("tree"))

    def _make_states(self, question: str) -> StatesField:
        turns, begun = tuple(self.shown["turns"]), self.shown["states"]
        return StatesField(question, turns, self.task.options.ontology, begun)

    def _draw(self, question: str) -> Random:
        key = f"{self.copy.seed}/{self.copy.number}/{self.example.id}/{question}"
        return Random(key)  # noqa: S311  (no secret)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a reply."""
        return _object({one.question: one.schema() for one in self.fields})

    @cached_property
    def system(self) -> str:
        """The instruction, with the guideline that workers read."""
        return f"{self._own[f'system_{self.copy.wording}']}\n\n{self.task.guideline.strip()}"

    @cached_property
    def question(self) -> str:
        """The question of the form, the item, and how to answer."""
        blocks = [self._ask(), *self._show_inputs()]
        for number, one in enumerate(self.fields):
            heading = self.words.get(f"question_{one.question}", "") if number else ""
            blocks.append("\n".join(filter(None, (heading, *self._explain(one)))))
        shape = {one.question: one.shape() for one in self.fields}
        blocks.append(f"{self._own['reply']}\n{msgspec.json.encode(shape).decode()}")
        return "\n\n".join(blocks)

    @property
    def messages(self) -> Messages:
        """The conversation before the first reply."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.question},
        ]

    @cached_property
    def order(self) -> dict[str, list[Any]]:
        """The answers to each closed question in the order in which they were shown."""
        return {
            one.question: [
                self.turn_back({one.question: value})[one.question] for value in one.values
            ]
            for one in self.fields
            if isinstance(one, ClosedField)
        }

    def _ask(self) -> str:
        options = self.task.options
        if own := getattr(options, "prompt", ""):
            return str(own)
        values = {} if options is None else msgspec.structs.asdict(options)
        shown = {name: value for name, value in self.shown.items() if isinstance(value, str)}
        quotes = {name: self._quote(value) for name, value in self.shown.items() if _is_span(value)}
        return fill_message(self.words, "prompt", {**values, **shown, **quotes})

    def _quote(self, span: Mapping[str, Any]) -> str:
        return str(self.shown.get("text", ""))[span["start"] : span["end"]]

    def _show_inputs(self) -> Iterator[str]:
        """The inputs as a worker reads them, without lists of the answers that are offered anyway."""
        names = getattr(self.task.options, "names", {})
        offered = {
            str(word)
            for one in self.fields
            if isinstance(one, ClosedField)
            for word in (*one.values, *one.words)
        }
        kinds = [one.kinds for one in self.fields if isinstance(one, OpenField) and one.kinds]
        structures = [one for one in self.fields if isinstance(one, TreeField | StatesField)]
        own = {name for one in structures for name in one.shows}
        for name, value in self.shown.items():
            if name in own or (isinstance(value, list) and tuple(value) in kinds):
                continue
            if isinstance(value, str):
                text = value
            elif _is_span(value):
                kind = value.get("label", "")
                text = self._quote(value) + (f" ({kind})" if kind else "")
            elif isinstance(value, list | tuple) and value and all(map(_is_span, value)):
                text = "\n".join(f"- {self._quote(one)}: {one.get('label', '')}" for one in value)
            elif isinstance(value, list | tuple) and value and not set(map(str, value)) <= offered:
                text = "\n".join(f"- {part}" for part in value)
            else:
                continue
            title = str(names.get(name) or self.words.get(f"input_{name}", name))
            yield f"{title}:\n{text}"
        for one in structures:
            yield from one.show(self.words)

    def _explain(self, one: Field) -> Iterator[str]:
        """How a question is answered, and what it offers."""
        own = self._own
        values: dict[str, Any] = {"question": one.question}
        if isinstance(one, ClosedField):
            kind = "set" if one.offer.is_set else "ranked" if one.offer.is_ranking else "closed"
            yield fill_message(own, kind, {**values, "most": one.offer.most})
            for key, word in zip(one.keys, one.words, strict=True):
                yield f"{key}: {word}" if word and word != key else key
        elif isinstance(one, TreeField | StatesField):
            yield fill_message(own, one.message, values)
            yield from one.choices()
        elif one.labels:
            yield fill_message(own, "spans", values)
            for key, word in zip(one.labels, one.words, strict=True):
                yield f"{key}: {word}" if word != key else key
        elif isinstance(one.sample, str):
            yield fill_message(own, "written", values)
        elif one.is_quote:
            yield fill_message(own, "quote", values)
        else:
            kind = "objects" if one.is_objects else "written_list"
            yield fill_message(own, kind, {**values, "count": one.count})
            yield from (f"{number}. {name}" for number, name in enumerate(one.names, start=1))

    # -- the reply --

    def read(self, text: str) -> Reading:
        """The answer in a reply, or the reason why it has no answer, and what the model reads then."""
        body = blank_thoughts(text)
        value = find_json(body, (dict, list))
        (first, *more) = self.fields
        if value is None and not more and isinstance(first, ClosedField):
            value = {first.question: body.strip().strip("\"'`.。")}
            if first.read(value[first.question]) not in first.values:
                value = None
        if value is None:
            reason = "refusal" if is_refusal(body) else "unparsable"
            return Reading(None, f"{reason}: {quote(text)}", self._own["unreadable"])
        if not isinstance(value, dict):
            value = {first.question: value}
        elif value.keys() == {"answer"} and not more:
            value = {first.question: value["answer"]}
        answer: dict[str, Any] = {}
        for one in self.fields:
            if one.question not in value:
                missing = fill_message(self._own, "missing", {"question": one.question})
                return Reading(None, f"broke a rule: {missing}", missing)
            try:
                answer |= self._read_field(one, value[one.question])
            except ReplyFault as problem:
                correction = fill_message(
                    self._own, problem.message, {"value": _clip(problem.value)}
                )
                return Reading(None, f"broke a rule: {correction}", correction)
        problems = self.task.form.validate(answer, self.example, self.task.options)
        faults = [problem for problem in problems if not problem.warning]
        if not faults:
            return Reading(self.turn_back(answer))
        correction_text = "\n".join(dict.fromkeys(self._describe(problem) for problem in faults))
        return Reading(None, f"broke a rule: {' '.join(correction_text.split())}", correction_text)

    def _read_field(self, one: Field, value: Any) -> dict[str, Any]:
        if isinstance(one, ClosedField | TreeField | StatesField):
            return {one.question: one.read(value)}
        if one.labels:
            return {one.question: place_quotes(str(self.example.inputs.get("text", "")), value)}
        if one.is_objects and PLACE in one.sample[0] and isinstance(value, list):
            rows = [self._find_place(part) for part in value]
            if one.kinds and len(rows) == len(one.kinds) and all(map(_is_object, rows)):
                pairs = zip(one.kinds, rows, strict=True)
                rows = [{**row, "type": kind} for kind, row in pairs]
            return {one.question: rows}
        if one.is_quote:
            return {one.question: self._mark(value)}
        if PLACE in self._sample and isinstance(value, str):
            placed: dict[str, Any] = self._find_place({one.question: value}, one.question)
            return placed
        return {one.question: value}

    def _mark(self, value: Any) -> Any:
        """A quote as it is marked in the paragraph; an empty one is no answer. Raises `ReplyFault`."""
        quoted = value.get("text") if isinstance(value, dict) else value
        if not isinstance(quoted, str):
            return value
        if not quoted.strip():
            return dict(NO_ANSWER)
        place = str(self.example.inputs.get("context", "")).find(quoted)
        if place < 0:
            raise ReplyFault("span_absent", quoted)
        return {"text": quoted, PLACE: place}

    @property
    def _sample(self) -> Mapping[str, Any]:
        return self.task.form.sample.answer if self.task.form.sample is not None else {}

    def _find_place(self, part: Any, question: str = "answer") -> Any:
        """An answer with the place where the paragraph has it; without one where it has not."""
        if not isinstance(part, dict) or not isinstance(part.get(question), str):
            return part
        place = str(self.example.inputs.get("context", "")).find(part[question])
        return {**part, PLACE: place} if place >= 0 else part

    def _describe(self, problem: Problem) -> str:
        """A problem as a worker reads it, with the field it is about."""
        text = fill_message(self.words, problem.code, problem.values)
        field_name, dash, number = problem.where.rpartition("-")
        if dash and number.isdecimal() and field_name:
            return f"{int(number) + 1}: {text}"
        return f"{problem.where}: {text}" if problem.where else text

    def correct(self, messages: Messages, text: str, reading: Reading) -> Messages:
        """The conversation after a reply that was not accepted."""
        request = f"{self._own['again']}\n{reading.correction}\n{self._own['once_more']}"
        return [
            *messages,
            {"role": "assistant", "content": text or BLANK},
            {"role": "user", "content": request},
        ]


def _choose_keys(words: Sequence[str]) -> list[str]:
    """A key for each option: letters or numbers, whichever are not themselves among the options.

    >>> _choose_keys(["yes", "no"]), _choose_keys(["B", "A"]), _choose_keys(["2", "A"])
    (['A', 'B'], ['1', '2'], ['#1', '#2'])
    """
    taken = {word.casefold() for word in words}
    numbers = [str(number) for number in range(1, len(words) + 1)]
    letters = list(ascii_uppercase[: len(words)]) if len(words) <= len(ascii_uppercase) else []
    for keys in (letters, numbers):
        if keys and taken.isdisjoint(key.casefold() for key in keys):
            return keys
    return [f"#{number}" for number in numbers]


def _clip(value: Any) -> str:
    """The beginning of a part of a reply, on one line."""
    return " ".join(str(value).split())[:MAX_CLIPPED]


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_span(value: Any) -> bool:
    return isinstance(value, dict) and {"start", "end"} <= value.keys()


def place_quotes(text: str, value: Any) -> Any:
    """Spans of quoted texts; the second quote of the same words is their second occurrence.

    Raises `ReplyFault` for words that the text does not have, or not as often. What is no list of quotes stays as it is.

    >>> place_quotes("東京と東京", [{"text": "東京", "label": "LC"}, {"text": "東京", "label": "LC"}])
    [{'start': 0, 'end': 2, 'label': 'LC'}, {'start': 3, 'end': 5, 'label': 'LC'}]
    """
    if not isinstance(value, list):
        return value
    spans, ends = [], dict[str, int]()
    for part in value:
        quoted = part.get("text") if isinstance(part, dict) else None
        if not isinstance(quoted, str) or not quoted:
            return value
        start = text.find(quoted, ends.get(quoted, 0))
        if start < 0:
            raise ReplyFault("span_absent", quoted)
        ends[quoted] = start + len(quoted)
        spans.append({"start": start, "end": ends[quoted], "label": part.get("label", "")})
    return sorted(spans, key=lambda span: span["start"])
