"""Hold a pack against its own sentences: each pattern must match its `hit`, and its tag be absent from its `miss`."""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.records import Record
from nikawa.tagging.engine import PackTagger
from nikawa.tagging.pack import Pack, Pattern
from nikawa.text import Analyser, Token, analyser


class Fault(Record, frozen=True, kw_only=True):
    """A pattern that does not do what its sentences say."""

    tag: str
    base: str
    pos: str
    what: str
    analysis: str = ""
    """The morphemes of the sentence, as the analyser sees them."""


def check_pack(pack: Pack, by: Analyser | None = None) -> list[Fault]:
    """Every fault of a pack; a pattern without sentences is one too."""
    found, reader = PackTagger(pack), by or analyser(pack.analyser)
    found.check(reader)
    return [fault for pattern in pack.patterns for fault in _faults(pattern, found, reader)]


def _faults(pattern: Pattern, found: PackTagger, reader: Analyser) -> Iterator[Fault]:
    if not pattern.hit or not pattern.miss:
        yield _fault(pattern, "has no hit or no miss")
        return
    tokens = reader.analyse(pattern.hit)
    if all(match.pattern is not pattern for match in found.matches(tokens)):
        yield _fault(pattern, f"does not match its hit {pattern.hit}", tokens)
    tokens = reader.analyse(pattern.miss)
    matched = [match.pattern for match in found.matches(tokens) if match.pattern.tag == pattern.tag]
    if matched:
        yield _fault(pattern, f"its miss {pattern.miss} bears the tag by {matched[0].base}", tokens)


def _fault(pattern: Pattern, what: str, tokens: tuple[Token, ...] = ()) -> Fault:
    analysis = " ".join(f"{token.base}/{token.tag}" for token in tokens)
    return Fault(tag=pattern.tag, base=pattern.base, pos=pattern.pos, what=what, analysis=analysis)
