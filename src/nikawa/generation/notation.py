"""The native notation of templates: a plain text file in blocks, one template each.

    template since-1
      category:          以来（状態動詞）
      premise:           {time1}以来、{agent ガ}は{place ニ}に{verb 自 ガ ニ progressive}。現在、{time2}である。
      hypothesis:        {agent}は{time3}には{place}に{verb progressive_past}。
      given:             time1 < time2
      entails when:      time1 <= time3 <= time2
      contradicts when:  time3 < time1

A line that begins with `#` is a remark. A line that is indented and has no field name goes on with
the line above. Slots are in braces: `{agent ガ}`, `{verb1 他 ガ ヲ past}`, `{time1 -1day}`, and a
choice of texts, `{以内に|で}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from nikawa.errors import UnknownName, suggest
from nikawa.generation.conditions import (
    LABELS,
    NEVER,
    Condition,
    parse_condition,
    parse_slot_name,
)
from nikawa.generation.template import (
    INFLECTED,
    TIME_KINDS,
    WORD_KINDS,
    Choice,
    Element,
    Literal,
    Side,
    Template,
    Time,
    Word,
    attach_particle,
    find_unbound_names,
    merge_literals,
)
from nikawa.generation.template_errors import Position, TemplateError, TemplateErrors
from nikawa.generation.time_spans import SPANS
from nikawa.generation.times import (
    INTERVAL_FORMATS,
    POINT_FORMATS,
    VERB_TIMES,
    Format,
    formats_by_name,
)
from nikawa.io.hand_edited import read_lines

FIELDS = {
    "category": "category",
    "premise": "premise",
    "hypothesis": "hypothesis",
    "given": "given",
    "entails": "entails",
    "entails when": "entails",
    "contradicts": "contradicts",
    "contradicts when": "contradicts",
    "formats": "formats",
    "test format": "test",
    "spans": "spans",
    "weights": "weights",
    "note": "note",
}
"""What a line may begin with, and what it is called inside."""
CASES = {
    "ja": ("ガ", "ヲ", "ニ", "デ", "ト", "ヘ", "カラ", "マデ", "ヨリ", "ノ", "ノ~ヲ"),
    "ko": ("이/가", "을/를", "에", "에서", "에게", "와/과", "(으)로", "까지", "부터", "보다"),
}
"""Cases by language; a number after one distinguishes several agents of one verb."""
VOICES = {
    "他": True,
    "自": False,
    "transitive": True,
    "intransitive": False,
    "타": True,
    "자": False,
}
"""Whether a verb is transitive, by the words for it."""
MAX_WEIGHT = 9
"""The most that a cell may outweigh another."""
MAX_TIMES = 5
"""Slots of one kind of time: all orders of the times are tried, so there is a limit to them."""
_HEAD = re.compile(r"template\s+(\S+(?:\s+\S+)*)\s*")
"""The line that begins a template; a name of several words is refused."""
_FIELD = re.compile(r"\s*([A-Za-z][A-Za-z ]*?)\s*[:：]\s*")
_SLOT = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"[^\s,、]+")
_APART = re.compile(r"!=([A-Za-z]+_?\d*)([+-]\d+)days?")
_DAYS = re.compile(r"([+-]\d+)days?")


@dataclass(frozen=True)
class Notation:
    """What a pack lets its templates say."""

    language: str = "ja"
    kinds: tuple[str, ...] = WORD_KINDS
    formats: Mapping[str, Format] = field(default_factory=dict)
    """The times' formats by name; all of the language's when left out."""
    measures: Mapping[str, Format] = field(default_factory=dict)
    """The measures of number slots, by name."""
    spans: tuple[str, ...] = tuple(SPANS)
    """The spans of the pack, by name."""

    def __post_init__(self) -> None:
        if not self.formats:
            object.__setattr__(self, "formats", formats_by_name(self.language))

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms words take in this language."""
        if self.language == "ko":
            from nikawa.text.conjugation_ko import FORMS as KOREAN

            return tuple(KOREAN)
        from nikawa.text.conjugation_ja import FORMS

        return tuple(FORMS)

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases of this language."""
        return CASES.get(self.language, ())

    def find_format(self, name: str, at: Position) -> Format:
        """The format or measure of this name; `at` is where it was written."""
        known = {**self.formats, **self.measures}
        if name not in known:
            raise TemplateError("format", f"{name!r} is not a format", at, suggest(name, known))
        return known[name]


@dataclass
class Block:
    """The lines of one template, by field."""

    id: str
    at: Position
    fields: dict[str, tuple[str, Position]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """What a field says; empty where it is not there."""
        return self.fields[name][0] if name in self.fields else ""

    def add_line(self, line: str, at: Position, last: str) -> str:
        """Put a line into its field and return the field's name.

        `last` is the field of the line before.
        """
        match = _FIELD.match(line)
        if match is None:
            if not last or not line[:1].isspace():
                cure = f"begin the line with one of: {', '.join(FIELDS)}"
                raise TemplateError("syntax", "a field name is missing", at, cure)
            text, first = self.fields[last]
            gap = "\n" if last == "note" else ""
            self.fields[last] = (text + gap + line.strip(), first)
            return last
        written, name_at = match[1], at.forward(match.start(1))
        name = FIELDS.get(" ".join(written.lower().split()))
        if name is None:
            cure = suggest(written, FIELDS)
            raise TemplateError("syntax", f"{written!r} is not a field", name_at, cure)
        if name in self.fields:
            what = f"{written!r} is given twice"
            raise TemplateError("syntax", what, name_at, "keep one of them")
        start = match.end()
        self.fields[name] = (line[start:].rstrip(), at.forward(start))
        return name


def read_blocks(path: Path) -> Iterator[Block | TemplateError]:
    """Every block of a file; a line that fits none comes as a `TemplateError`."""
    block: Block | None = None
    last = ""
    for number, line in read_lines(path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        at = Position(number, 1)
        if head := _HEAD.fullmatch(line):
            if block is not None:
                yield block
            name_at, words = at.forward(head.start(1)), head[1].split()
            if len(words) > 1:
                cure = f"write template {'-'.join(words)}"
                yield TemplateError("syntax", f"{head[1]!r} is more than one word", name_at, cure)
            block = Block("-".join(words), name_at)
            last = ""
        elif block is None:
            cure = "write a line such as: template my-first"
            yield TemplateError("syntax", "a template must begin first", at, cure)
        else:
            try:
                last = block.add_line(line, at, last)
            except TemplateError as error:
                yield error
    if block is not None:
        yield block


def parse_block(block: Block, notation: Notation) -> Template:
    """The template of one block; if it cannot be read, a `TemplateError` contains all errors."""
    errors = TemplateErrors()
    for name in ("premise", "hypothesis", "category"):
        if not block.text(name):
            what = f"template {block.id} has no {name}"
            errors.append(TemplateError("syntax", what, block.at, f"add a line: {name}: …"))
    parser, empty = _SideParser(notation, errors), ("", block.at)
    premise = parser.parse(*block.fields.get("premise", empty))
    hypothesis = parser.parse(*block.fields.get("hypothesis", empty))
    both = (*premise, *hypothesis)
    errors.attempt(lambda: refuse_too_many_times(both, block.at), None)
    conditions: dict[str, Condition] = {}
    for name in ("given", "entails", "contradicts"):
        conditions[name] = NEVER
        if name in block.fields:
            conditions[name] = attempt_condition(*block.fields[name], errors)
    no_formats: tuple[Format, ...] = ()
    formats = errors.attempt(lambda: _choose_formats(block, notation, both), no_formats)
    test_format = None
    if "test" in block.fields and block.text("test") != "none":
        test_format = errors.attempt(lambda: notation.find_format(*block.fields["test"]), None)
    template = Template(
        id=block.id,
        premise=premise,
        hypothesis=hypothesis,
        entails=conditions["entails"],
        contradicts=conditions["contradicts"],
        given=(conditions["given"],) if "given" in block.fields else (),
        formats=formats,
        test_format=test_format,
        category=block.text("category"),
        spans=errors.attempt(lambda: _choose_spans(block, notation), ()),
        weights=errors.attempt(lambda: _read_weights(block), (1, 1, 1)),
        language=notation.language,
        note=block.text("note"),
        at=block.at,
        positions={name: at for name, (_, at) in block.fields.items()},
        source={name: text for name, (text, _) in block.fields.items()},
    )
    raise_errors(template, errors)
    return template


def attempt_condition(text: str, at: Position, errors: TemplateErrors) -> Condition:
    """A condition; never, where it cannot be read, and the error is added to `errors`."""
    never: Condition = NEVER
    return errors.attempt(lambda: parse_condition(text, at), never)


def raise_errors(template: Template, errors: TemplateErrors) -> None:
    """Raise what is wrong with a template that was read as far as it can be, if anything is."""
    if errors and not errors.may_hide_times:
        errors.extend(find_unbound_names(template))
    errors.raise_first()


def refuse_too_many_times(side: Side, at: Position) -> None:
    """Raise where there are more slots of a kind of time than all orders of can be tried."""
    times = [element for element in side if isinstance(element, Time)]
    for kind in TIME_KINDS:
        count = len({time.index for time in times if time.kind == kind})
        if count > MAX_TIMES:
            what = f"has {count} slots of the kind {kind}"
            raise TemplateError("syntax", what, at, f"use at most {MAX_TIMES}")


def _choose_formats(block: Block, notation: Notation, elements: Side) -> tuple[Format, ...]:
    """The formats that the times of a template may have.

    `formats:` names some, or `all but` some.
    """
    kinds = {e.kind for e in elements if isinstance(e, Time)}
    if not kinds:
        return ()
    if "number" in kinds:
        if len(kinds) > 1:
            what = "numbers and times in one template"
            raise TemplateError("format", what, block.at, "split it in two")
        chosen = tuple(notation.measures.values())
    else:
        pool = POINT_FORMATS if "time" in kinds else INTERVAL_FORMATS
        chosen = tuple(fmt for fmt in pool if fmt in notation.formats.values())
    text, at = block.fields.get("formats", ("all", block.at))
    if text not in ("all", "none"):
        but = re.match(r"all but\s+", text)
        listed = set()
        for word in _WORD.finditer(text, but.end() if but else 0):
            listed.add(notation.find_format(word[0], at.forward(word.start())))
        chosen = tuple(fmt for fmt in chosen if (fmt in listed) != bool(but))
    if not chosen:
        cure = "declare a [measure.…] in pack.toml" if "number" in kinds else "allow at least one"
        raise TemplateError("format", "no format is left for its times", at, cure)
    return chosen


def _choose_spans(block: Block, notation: Notation) -> tuple[str, ...]:
    """The spans that `spans:` names; none where all of the pack are meant."""
    text, at = block.fields.get("spans", ("", block.at))
    names = []
    for word in _WORD.finditer(text):
        if word[0] not in notation.spans:
            what = f"{word[0]!r} is not a span of the pack"
            cure = suggest(word[0], notation.spans)
            raise TemplateError("format", what, at.forward(word.start()), cure)
        names.append(word[0])
    return tuple(names)


def _read_weights(block: Block) -> tuple[int, int, int]:
    """The weights of entailment, contradiction and neutral."""
    if "weights" not in block.fields:
        return 1, 1, 1
    text, at = block.fields["weights"]
    words = text.split()
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(words) != len(LABELS) or len(numbers) != len(words) or max(numbers) > MAX_WEIGHT:
        what = f"the weights are {text!r}"
        cure = f"write three numbers from 0 to {MAX_WEIGHT}, for {', '.join(LABELS)}"
        raise TemplateError("syntax", what, at, cure)
    if not any(numbers):
        raise TemplateError("syntax", "all weights are 0", at, "give at least one label a weight")
    entailment, contradiction, neutral = numbers
    return entailment, contradiction, neutral


def parse_side(text: str, at: Position, notation: Notation) -> Side:
    """The elements of a sentence; the first error is raised and holds the others."""
    errors = TemplateErrors()
    side = _SideParser(notation, errors).parse(text, at)
    errors.raise_first()
    return side


Details = list[tuple[str, Position]]
"""The words after the name of a slot, each with its position."""
_TIME_DETAILS = {
    "time": ("a time", "write for example {time1 -1day} or {time2 !=time1-1day}"),
    "interval": ("an interval", "write for example {interval1 bare}"),
}
"""Kind of slot to its name in a sentence, and the details that it may have."""


@dataclass(frozen=True)
class _SideParser:
    """Reads sentences; what is wrong is added to `errors`, and reading goes on."""

    notation: Notation
    errors: TemplateErrors

    def parse(self, text: str, at: Position) -> Side:
        """The elements of one sentence."""
        elements: list[Element] = []
        position = 0
        for slot in _SLOT.finditer(text):
            start, end = slot.span()
            elements.append(self.parse_literal(text[position:start], at.forward(position)))
            elements.append(self.parse_slot(slot[1], at.forward(start)))
            position = end
        elements.append(self.parse_literal(text[position:], at.forward(position)))
        return merge_literals(elements)

    def add(self, check: str, what: str, at: Position, cure: str) -> None:
        self.errors.append(TemplateError(check, what, at, cure))

    def parse_literal(self, text: str, at: Position) -> Literal:
        """Text between slots; a brace in it was meant for a slot, and a full-width one is taken for
        no other.
        """
        wide = [match.start() for match in re.finditer("｛", text)]
        if not wide and "｝" in text:
            wide = [text.index("｝")]
        for place in wide:
            cure = "write { and } around a slot"
            self.add("syntax", f"a full-width {text[place]!r}", at.forward(place), cure)
        lone = next((mark for mark in "{}" if mark in text), "")
        if lone and not wide:
            cure = "close it with }" if lone == "{" else "open it with {"
            self.add("syntax", f"a lone {lone!r}", at.forward(text.index(lone)), cure)
        if re.search("[{}｛｝]", text):
            self.errors.may_hide_times = True
        return Literal(text, at)

    def parse_slot(self, inside: str, at: Position) -> Element:
        """The text between braces: a choice, a time or a word.

        What cannot be read becomes an empty literal.
        """
        if "|" in inside:
            return Choice(f"[{inside.replace('|', ',')}]", tuple(inside.split("|")), at)
        words = [(word[0], at.forward(1 + word.start())) for word in _WORD.finditer(inside)]
        if not words:
            self.add("syntax", "an empty slot", at, "write a name between the braces")
            return Literal("")
        (head, head_at), *details = words
        head, plus, particle = head.partition("+")
        if plus:
            details.insert(0, (f"+{particle}", head_at.forward(len(head))))
        name = parse_slot_name(head)
        known = (*self.notation.kinds, *TIME_KINDS)
        if name is None or name[0] not in known:
            kind = re.sub(r"[_\d]+$", "", head)
            cure = suggest(kind, known)
            if not get_close_matches(kind, known):
                cure += "; a kind of words of your own goes into slots in pack.toml"
            self.add("unknown-slot", f"{head!r} is not a slot", head_at, cure)
            if get_close_matches(kind, TIME_KINDS):
                self.errors.may_hide_times = True
            return Literal("")
        source = f"{{{inside}}}"
        if name[0] in TIME_KINDS:
            return self.parse_time(Time(*name, at=at, source=source), details)
        form = "dictionary" if name[0] in INFLECTED else ""
        return self.parse_word(Word(*name, form=form, at=at, source=source), details)

    def parse_time(self, time: Time, details: Details) -> Time:
        """The time with its details: days that are added, a day it must not be, a particle."""
        for text, at in details:
            if (days := _DAYS.fullmatch(text)) and time.kind == "time":
                time = replace(time, days=int(days[1]))
            elif (apart := _APART.fullmatch(text)) and time.kind == "time":
                other = parse_slot_name(apart[1])
                slot = f"{other[0]}_{other[1]}" if other else apart[1]
                time = replace(time, apart=(slot, int(apart[2])))
            elif text.startswith("+"):
                time = replace(time, particle=self.read_particle(text, at))
            elif text == "bare" and time.kind == "interval":
                time = replace(time, bare=True)
            else:
                kind, cure = _TIME_DETAILS.get(time.kind, (f"a {time.kind}", "leave it out"))
                self.add("syntax", f"{text!r} says nothing about {kind}", at, cure)
        return time

    def parse_word(self, word: Word, details: Details) -> Word:
        """The word with its details: case or frame, voice, kind of time, form, particle."""
        notation, is_verb = self.notation, word.kind == "verb"
        written: dict[str, str] = {}
        """Voice, time, class and form to the text that names it."""

        def note(what: str, text: str, at: Position) -> None:
            if written.setdefault(what, text) != text:
                twice = f"{text!r} is a second {what} of the same slot, after {written[what]!r}"
                self.add("form", twice, at, f"write one {what}")

        for text, at in details:
            form = text.replace("-", "_")
            if text.startswith("+"):
                word = replace(word, particle=self.read_particle(text, at))
            elif is_verb and text.startswith("#") and len(text) > 1:
                note("class", text, at)
                word = replace(word, tag=text[1:])
            elif text.rstrip("0123456789") in notation.cases:
                if is_verb:
                    word = replace(word, frame=(*word.frame, text))
                else:
                    note("case", text, at)
                    word = replace(word, case=text)
            elif is_verb and text in VOICES:
                note("voice", text, at)
                word = replace(word, transitive=VOICES[text])
            elif is_verb and text in VERB_TIMES:
                note("kind of time", text, at)
                word = replace(word, wants=text)
            elif word.form and form in notation.forms:
                note("form", text, at)
                word = replace(word, form=form)
            elif is_verb:
                cure = suggest(text, (*notation.forms, *notation.cases, *VOICES, *VERB_TIMES))
                self.add("form", f"{text!r} is no form, case, voice or time of a verb", at, cure)
            elif word.form:
                self.add("form", f"{text!r} is no form", at, suggest(text, notation.forms))
            else:
                cure = suggest(text, notation.cases)
                if notation.language == "ko" and "/" in text:
                    cure += f"; a particle follows a plus: +{text}"
                self.add("case", f"{text!r} is no case", at, cure)
        return word

    def read_particle(self, text: str, at: Position) -> str:
        """The particle after a plus; one that is written in two shapes must be known."""
        from nikawa.text.conjugation_ko import PAIRS

        particle = text[1:]
        for shape, other in PAIRS:
            if particle in (shape + other, other + shape):
                what = f"there is no particle {particle!r}"
                self.add("form", what, at, f"write +{shape}/{other}")
        try:
            attach_particle("", particle)
        except UnknownName as error:
            self.add("form", error.what, at, error.cure)
        return particle
