"""From a pack to tags: an exact pattern is one look-up by base form and one by part of speech.

Patterns with neighbours or open ends are kept apart, by the first character of their base forms, and cost
nothing to packs that have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.tagging.pack import Pack, Pattern
from nikawa.tagging.terms import ANY, Choice, Term, alternatives, choice, parse_terms
from nikawa.text import Analyser, Token, analyser

Tagger = Callable[[Example, Analyser], set[str]]
"""What finds the phenomena of an example."""
BATCH = 256
"""Examples whose texts are analysed together."""


@dataclass(frozen=True)
class Match:
    """A pattern and the characters of the text it was found on."""

    pattern: Pattern
    start: int
    end: int


@dataclass(frozen=True)
class Tagged:
    """An example and what was found in its texts; `why` says what kept a text from being read."""

    example: Example
    tags: frozenset[str]
    why: str = ""


@dataclass(frozen=True)
class _Rule:
    pattern: Pattern
    base: Choice
    pos: Choice
    before: tuple[Term, ...]
    after: tuple[Term, ...]

    def fits(self, tokens: Sequence[Token], place: int) -> bool:
        token = tokens[place]
        return (
            token.base in self.base
            and token.tag in self.pos
            and _meet(self.before, tokens, place - len(self.before))
            and _meet(self.after, tokens, place + 1)
        )


def _meet(terms: tuple[Term, ...], tokens: Sequence[Token], first: int) -> bool:
    last = len(tokens)
    return all(
        term.meets(tokens[place] if 0 <= place < last else None)
        for place, term in enumerate(terms, start=first)
    )


class PackTagger:
    """A pack made ready: call it with an example and the pack's analyser."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._exact: dict[str, dict[tuple[str, ...], list[Pattern]]] = {}
        self._rules: dict[str, list[_Rule]] = defaultdict(list)
        for pattern in pack.patterns:
            if pattern.before or pattern.after or ANY in pattern.base or ANY in pattern.pos:
                self._add_rule(pattern)
            else:
                self._add_exact(pattern)
        self._sets = {
            base: {pos: frozenset(p.tag for p in found) for pos, found in by_pos.items()}
            for base, by_pos in self._exact.items()
        }

    def _add_exact(self, pattern: Pattern) -> None:
        for base in alternatives(pattern.base):
            by_pos = self._exact.setdefault(base, {})
            for pos in alternatives(pattern.pos):
                by_pos.setdefault(tuple(pos.split(",")), []).append(pattern)

    def _add_rule(self, pattern: Pattern) -> None:
        before, after = parse_terms(pattern.before), parse_terms(pattern.after)
        rule = _Rule(pattern, choice(pattern.base), choice(pattern.pos), before, after)
        for first in sorted({base.removesuffix(ANY)[:1] for base in alternatives(pattern.base)}):
            self._rules[first].append(rule)

    def __call__(self, example: Example, analyser: Analyser) -> set[str]:
        """The phenomena of all texts of the example."""
        self.check(analyser)
        found: set[str] = set()
        for text in texts_of(example):
            found |= self.tags(analyser.analyse(text))
        return found

    def check(self, analyser: Analyser) -> None:
        """Refuse an analyser whose dictionary forms and tags the pack does not speak."""
        if analyser.name != self.pack.analyser:
            what = f"the tag pack {self.pack.name} is written for {self.pack.analyser}, not {analyser.name}"
            raise BadInput(what, cure=f"use analyser({self.pack.analyser!r})")

    def tags(self, tokens: Sequence[Token]) -> set[str]:
        """The phenomena of one analysed text."""
        found: set[str] = set()
        known = self._sets.get
        for token in tokens:
            by_pos = known(token.base)
            if by_pos is not None:
                found.update(by_pos.get(token.pos, ()))
        if self._rules:
            found.update(match.pattern.tag for match in self._by_rule(tokens))
        return found

    def matches(self, tokens: Sequence[Token]) -> list[Match]:
        """Every pattern found in one analysed text, with its place, in the order of the text."""
        exact = [
            Match(pattern, token.start, token.end)
            for token in tokens
            for pattern in self._exact.get(token.base, {}).get(token.pos, ())
        ]
        found = {(m.start, m.end, id(m.pattern)): m for m in (*exact, *self._by_rule(tokens))}
        return sorted(found.values(), key=lambda m: (m.start, m.end))

    def _by_rule(self, tokens: Sequence[Token]) -> Iterator[Match]:
        rules = self._rules
        open_ended = rules.get("", ())
        for place, token in enumerate(tokens):
            for rule in (*rules.get(token.base[:1], ()), *open_ended):
                if rule.fits(tokens, place):
                    yield Match(rule.pattern, token.start, token.end)


def tagger(pack: Pack) -> PackTagger:
    """The tagger of a pack."""
    return PackTagger(pack)


def texts_of(example: Example, inputs: Sequence[str] = ()) -> list[str]:
    """The texts of an example: strings, strings in lists (choices), and the text of turns. `inputs` narrows them."""
    found: list[str] = []
    for name in inputs or example.inputs:
        _gather(example.inputs.get(name), found)
    return found


def _gather(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, list | tuple):
        for item in value:
            _gather(item.get("text") if isinstance(item, dict) else item, found)


def tag_all(
    examples: Iterable[Example],
    pack: Pack,
    *,
    inputs: Sequence[str] = (),
    by: Analyser | None = None,
) -> Iterator[Tagged]:
    """Stream examples with what is found in their texts. One that cannot be analysed comes with the reason."""
    found, reader = PackTagger(pack), by or analyser(pack.analyser)
    found.check(reader)
    stream = iter(examples)
    while batch := list(islice(stream, BATCH)):
        yield from _tag_batch(
            batch, [texts_of(example, inputs) for example in batch], found, reader
        )


def _tag_batch(
    batch: list[Example], texts: list[list[str]], found: PackTagger, reader: Analyser
) -> Iterator[Tagged]:
    try:
        analyses = reader.analyse_many([text for some in texts for text in some])
        sets = [[found.tags(next(analyses)) for _ in some] for some in texts]
    except BadInput:  # one text spoils a batch: find out which
        yield from (
            _tag_one(example, some, found, reader)
            for example, some in zip(batch, texts, strict=True)
        )
        return
    for example, tags in zip(batch, sets, strict=True):
        yield Tagged(example, frozenset().union(*tags))


def _tag_one(example: Example, texts: list[str], found: PackTagger, reader: Analyser) -> Tagged:
    try:
        return Tagged(
            example, frozenset().union(*(found.tags(reader.analyse(text)) for text in texts))
        )
    except BadInput as problem:
        return Tagged(example, frozenset(), str(problem))
