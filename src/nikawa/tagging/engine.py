"""Find tags with a pack. An exact pattern is one look-up by base form and one by part of speech.

Patterns with conditions or open ends are indexed by the first character of their base forms. They
cost nothing in packs that have none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.records import Example, Record
from nikawa.tagging.pack import Pack, Pattern
from nikawa.tagging.terms import (
    ANY,
    Choice,
    Term,
    alternatives,
    meet_terms,
    parse_choice,
    parse_terms,
)
from nikawa.text import Analyser, Token, analyser

Tagger = Callable[[Example, Analyser], set[str]]
"""A function that finds the phenomena of an example."""
SENTENCE_ENDS = frozenset("。．.！？!?\n")
"""Morphemes that end the sentence in which `earlier` and `later` look."""
BATCH_SIZE = 256
"""Examples whose texts are analysed together."""


@dataclass(frozen=True)
class Match:
    """A pattern and the characters of the text that it matched."""

    pattern: Pattern
    start: int
    end: int


@dataclass(frozen=True)
class TaggedExample:
    """An example and the tags found in its texts; `why` is the reason if a text was not analysed."""

    example: Example
    tags: frozenset[str]
    why: str = ""


@dataclass(frozen=True)
class _Rule:
    """A pattern that depends on other morphemes, or that has open ends."""

    pattern: Pattern
    base: Choice
    pos: Choice
    before: tuple[Term, ...]
    after: tuple[Term, ...]
    earlier: tuple[Term, ...]
    later: tuple[Term, ...]

    def fits(self, tokens: Sequence[Token], place: int) -> bool:
        token = tokens[place]
        return (
            self.pos.has_pos(token.pos)
            and token.base in self.base
            and meet_terms(self.before, tokens, place - 1, -1)
            and meet_terms(self.after, tokens, place + 1, 1)
            and (not self.earlier or _meet_anywhere(self.earlier, tokens, place, -1))
            and (not self.later or _meet_anywhere(self.later, tokens, place, 1))
        )


def _meet_anywhere(
    terms: tuple[Term, ...], tokens: Sequence[Token], place: int, step: Literal[1, -1]
) -> bool:
    """Whether each term is met somewhere in the sentence; a negated one nowhere."""
    sentence: list[Token] = []
    place += step
    while 0 <= place < len(tokens):
        token = tokens[place]
        if step == -1 and token.surface in SENTENCE_ENDS:
            break
        sentence.append(token)
        if token.surface in SENTENCE_ENDS:  # belongs to the sentence: a question mark counts
            break
        place += step
    for term in terms:
        if term.negated:
            if not all(term.meets(token) for token in sentence):
                return False
        elif not any(term.meets(token) for token in sentence):
            return False
    return True


class PackTagger:
    """A compiled pack: call it with an example and the analyser of the pack."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._exact: dict[str, dict[tuple[str, ...], list[Pattern]]] = {}
        """Base form to part of speech to patterns."""
        self._rules: dict[str, list[_Rule]] = defaultdict(list)
        """First character of the base form to rules; those that begin with anything are under the
        empty string."""
        self._cancels: dict[str, list[_Rule]] = defaultdict(list)
        """Tag to the rules that take it away."""
        for pattern in pack.patterns:
            bases = alternatives(pattern.base)
            context = (pattern.before, pattern.after, pattern.earlier, pattern.later)
            if any(context) or pattern.cancel or ANY in pattern.base or ANY in pattern.pos:
                choices = parse_choice(pattern.base), parse_choice(pattern.pos)
                rule = _Rule(pattern, *choices, *(parse_terms(terms) for terms in context))
                if pattern.cancel:
                    self._cancels[pattern.tag].append(rule)
                    continue
                for first in sorted({base.removesuffix(ANY)[:1] for base in bases}):
                    self._rules[first].append(rule)
                continue
            for base in bases:
                by_pos = self._exact.setdefault(base, {})
                for pos in alternatives(pattern.pos):
                    by_pos.setdefault(tuple(pos.split(",")), []).append(pattern)
        self._sets: dict[str, dict[tuple[str, ...], frozenset[str]]] = {}
        """The same as `_exact`, with the tags only, which is all that most callers need."""
        for base, by_pos in self._exact.items():
            tags = {}
            for fields, patterns in by_pos.items():
                tags[fields] = frozenset(pattern.tag for pattern in patterns)
            self._sets[base] = tags

    def __call__(self, example: Example, analyser: Analyser) -> set[str]:
        """The phenomena of all texts of the example."""
        self.check(analyser)
        tags: set[str] = set()
        for text in texts_of(example):
            tags |= self.tags(analyser.analyse(text))
        return tags

    def check(self, analyser: Analyser) -> None:
        """Refuse an analyser that the pack is not written for."""
        if analyser.name != self.pack.analyser:
            what = f"the tag pack {self.pack.name} is written for {self.pack.analyser}, not {analyser.name}"
            raise BadInput(what, cure=f"use analyser({self.pack.analyser!r})")

    def tags(self, tokens: Sequence[Token]) -> set[str]:
        """The phenomena of one analysed text."""
        if self._cancels:
            return {match.pattern.tag for match in self.matches(tokens)}
        tags: set[str] = set()
        known = self._sets.get
        for token in tokens:
            by_pos = known(token.base)
            if by_pos is not None:
                tags.update(by_pos.get(token.pos, ()))
        if self._rules:
            tags.update(match.pattern.tag for match in self._match_rules(tokens))
        return tags

    def matches(self, tokens: Sequence[Token]) -> list[Match]:
        """Every pattern found in one analysed text, with its place, in the order of the text."""
        matches = []
        for place, token in enumerate(tokens):
            for pattern in self._exact.get(token.base, {}).get(token.pos, ()):
                if self._find_cancel(pattern.tag, tokens, place) is None:
                    matches.append(Match(pattern, token.start, token.end))
        matches += self._match_rules(tokens)
        distinct = {(match.start, match.end, id(match.pattern)): match for match in matches}
        return sorted(distinct.values(), key=lambda match: (match.start, match.end))

    def cancelled(self, tokens: Sequence[Token]) -> list[Match]:
        """Every pattern that takes a tag away in one analysed text, with its place."""
        return [
            Match(rule.pattern, token.start, token.end)
            for place, token in enumerate(tokens)
            for rules in self._cancels.values()
            for rule in rules
            if rule.fits(tokens, place)
        ]

    def _match_rules(self, tokens: Sequence[Token]) -> Iterator[Match]:
        rules = self._rules
        open_ended = rules.get("", ())
        for place, token in enumerate(tokens):
            for rule in (*rules.get(token.base[:1], ()), *open_ended):
                if not rule.fits(tokens, place):
                    continue
                if self._find_cancel(rule.pattern.tag, tokens, place) is None:
                    yield Match(rule.pattern, token.start, token.end)

    def _find_cancel(self, tag: str, tokens: Sequence[Token], place: int) -> _Rule | None:
        """The rule that takes the tag away from this morpheme."""
        rules = self._cancels.get(tag, ())
        return next((rule for rule in rules if rule.fits(tokens, place)), None)


def tagger(pack: Pack) -> PackTagger:
    """The tagger of a pack."""
    return PackTagger(pack)


def texts_of(example: Example, inputs: Sequence[str] = ()) -> list[str]:
    """The texts of an example: strings, strings in lists (choices), and the text of turns.

    `inputs` narrows them.
    """
    texts: list[str] = []
    for name in inputs or example.inputs:
        texts.extend(_texts_in(example.inputs.get(name)))
    return texts


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item.get("text") if isinstance(item, dict) else item)


def tag_all(
    examples: Iterable[Example],
    pack: Pack,
    *,
    inputs: Sequence[str] = (),
    by: Analyser | None = None,
    where: ExecuteOptions | int = 1,
) -> Iterator[TaggedExample]:
    """Stream examples with the tags that the pack finds in their texts.

    An example that cannot be analysed comes with the reason.

    `inputs` narrows the texts to these inputs. `by` is the analyser to use, which must be the
    pack's own (else BadInput); None makes one. Texts are analysed 256 examples at a time; the
    result does not depend on `where`, which is as for `map_in_order`.
    """
    batches: deque[list[Example]] = deque()

    def read_batches() -> Iterator[list[list[str]]]:
        stream = iter(examples)
        while batch := list(islice(stream, BATCH_SIZE)):
            batches.append(batch)
            yield [texts_of(example, inputs) for example in batch]

    for tags_of_batch in map_in_order(BatchTagger(pack, by), read_batches(), where):
        for example, (tags, why) in zip(batches.popleft(), tags_of_batch, strict=True):
            yield TaggedExample(example, tags, why)


class BatchTagger:
    """Tags a batch of examples, each a list of texts; can be sent to another process."""

    def __init__(self, pack: Pack, by: Analyser | None = None) -> None:
        self.pack, self.reader = pack, by or analyser(pack.analyser)
        self.pack_tagger = PackTagger(pack)
        self.pack_tagger.check(self.reader)

    def __reduce__(self) -> tuple[type[BatchTagger], tuple[Pack, Analyser]]:
        return (BatchTagger, (self.pack, self.reader))

    def __call__(self, batch: list[list[str]]) -> list[tuple[frozenset[str], str]]:
        """The tags of each example, and the reason for an example that cannot be analysed."""
        find_tags = self.pack_tagger.tags
        try:
            analyses = self.reader.analyse_many([text for texts in batch for text in texts])
            tags = [[find_tags(next(analyses)) for _ in texts] for texts in batch]
        except BadInput:  # one text stops the batch: tag each example by itself
            return [self._tag_one(texts) for texts in batch]
        return [(frozenset().union(*tags_of_texts), "") for tags_of_texts in tags]

    def _tag_one(self, texts: list[str]) -> tuple[frozenset[str], str]:
        try:
            tags = [self.pack_tagger.tags(self.reader.analyse(text)) for text in texts]
        except BadInput as problem:
            return frozenset(), str(problem)
        return frozenset().union(*tags), ""


class PackFault(Record, frozen=True, kw_only=True):
    """A pattern that fails on its own sentences."""

    tag: str
    base: str
    pos: str
    what: str
    analysis: str = ""
    """The morphemes of the sentence, as the analyser sees them."""


def check_pack(pack: Pack, by: Analyser | None = None) -> list[PackFault]:
    """Every fault of a pack.

    Each pattern must match its `hit`, and its `miss` must not get the tag. A pattern that cancels
    must match its `hit`, and its `miss` must get the tag. A pattern without sentences is a fault too.
    """
    pack_tagger, reader = PackTagger(pack), by or analyser(pack.analyser)
    pack_tagger.check(reader)
    faults = []
    for pattern in pack.patterns:
        if not pattern.hit or not pattern.miss:
            faults.append(_fault(pattern, "has no hit or no miss"))
            continue
        tokens = reader.analyse(pattern.hit)
        find = pack_tagger.cancelled if pattern.cancel else pack_tagger.matches
        if all(match.pattern is not pattern for match in find(tokens)):
            faults.append(_fault(pattern, f"does not match its hit {pattern.hit}", tokens))
        tokens = reader.analyse(pattern.miss)
        patterns = [match.pattern for match in pack_tagger.matches(tokens)]
        other = next((other for other in patterns if other.tag == pattern.tag), None)
        if other is not None and not pattern.cancel:
            what = f"its miss {pattern.miss} gets the tag by {other.base}"
            faults.append(_fault(pattern, what, tokens))
        if other is None and pattern.cancel:
            faults.append(_fault(pattern, f"its miss {pattern.miss} does not get the tag", tokens))
    return faults


def _fault(pattern: Pattern, what: str, tokens: tuple[Token, ...] = ()) -> PackFault:
    analysis = " ".join(f"{token.base}/{token.tag}" for token in tokens)
    return PackFault(
        tag=pattern.tag, base=pattern.base, pos=pattern.pos, what=what, analysis=analysis
    )
