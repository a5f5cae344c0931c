"""What every engine shares: checks, splitting of long texts, a bounded cache, one dictionary per
process, and locks that survive a fork.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice, pairwise
from typing import Any
from weakref import WeakSet

from msgspec.structs import replace

from nikawa.errors import BadInput, missing_extra
from nikawa.text.protocol import Engine, Token

MAX_PIECE = 8_000
"""Longest text that an engine gets. MeCab crashes or drops tokens if a length exceeds 16 bits, and
Sudachi refuses the text."""
TEXTS_AT_ONCE = 128
"""Texts that an engine gets in one call."""
CACHE_CHARACTERS = 1_000_000
"""Characters of text whose analyses are kept: about 150 MB when full."""

# MeCab's dictionaries list U+00D0 as white space where they mean U+000D, and forget form feed.
_MISTAKEN = re.compile("[\r\x0b\x0cÐ]")
_PUT_RIGHT = {0x0D: " ", 0x0B: " ", 0x0C: " ", 0xD0: "ð"}

_LOCKS: WeakSet[Any] = WeakSet()
"""Every lock that `new_lock` made and that is still in use."""
_HELD: list[Any] = []
"""Those that this thread holds while the process forks."""


def new_lock() -> Any:
    """A lock that a forked child finds free."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def _before_fork() -> None:
    # No two of these locks are ever held together elsewhere, so any order is safe.
    for lock in list(_LOCKS):
        lock.acquire()
        _HELD.append(lock)


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


def require(module: str, extra: str) -> Any:
    """Import an optional module.

    Raises `MissingExtra`, which names the extra to install, if it is missing.
    """
    try:
        return import_module(module)
    except ImportError:
        raise missing_extra(f"the package {module!r}", extra) from None


def space_for_mecab(text: str) -> str:
    """The text as MeCab must see it, of the same length, so that white space and nothing else is
    dropped.
    """
    return text.translate(_PUT_RIGHT) if _MISTAKEN.search(text) else text


class SharedEngine:
    """An engine that loads once per process, at first use, and serves one thread at a time."""

    def __init__(self, load: Callable[[], Engine]) -> None:
        self._load, self._engine, self._lock = load, None, new_lock()

    _engine: Engine | None

    def run(self, texts: Sequence[str]) -> list[list[Token]]:
        """The tokens of each text."""
        with self._lock:
            if self._engine is None:
                self._engine = self._load()
            return list(self._engine(texts))


class Cache:
    """Analyses by text, the least recently used dropped first, bounded by characters."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.size, self._lock = capacity, 0, new_lock()
        self._kept: OrderedDict[str, tuple[Token, ...]] = OrderedDict()

    def get(self, text: str) -> tuple[Token, ...] | None:
        """The kept analysis, or None."""
        with self._lock:
            tokens = self._kept.get(text)
            if tokens is not None:
                self._kept.move_to_end(text)
            return tokens

    def put(self, text: str, tokens: tuple[Token, ...]) -> None:
        """Keep an analysis, unless it would fill more than a tenth of the cache."""
        if len(text) * 10 > self.capacity:
            return
        with self._lock:
            if text not in self._kept:
                self.size += len(text) + 1
            self._kept[text] = tokens
            while self.size > self.capacity:
                dropped, _ = self._kept.popitem(last=False)
                self.size -= len(dropped) + 1


def need_text(value: object) -> None:
    """Raise TypeError for a value that is not a text: the calling code is wrong, not the data."""
    if not isinstance(value, str):
        raise TypeError(f"the text must be a str, not {type(value).__name__}")


def check_text(text: str) -> None:
    """Refuse text that no engine can read: NUL ends a C string, a lone surrogate has no UTF-8."""
    if "\0" in text:
        raise BadInput(f"character {text.index(chr(0)) + 1} of the text is NUL", cure="remove it")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise BadInput(
            f"character {problem.start + 1} of the text is a lone surrogate",
            cure="decode the text as UTF-8",
        ) from None


def find_cuts(text: str, limit: int = MAX_PIECE) -> list[int]:
    """Where to cut a long text: after the last line, sentence or word that fits; 0 and its length
    included.
    """
    places, start = [0], 0
    while len(text) - start > limit:
        end = start + limit
        for mark in ("\n", "。", ". ", " ", "、"):
            place = text.rfind(mark, start + 1, end)
            if place > start:
                end = place + len(mark)
                break
        else:
            while end > start + 1 and unicodedata.combining(text[end]):
                end -= 1
        places.append(end)
        start = end
    return [*places, len(text)]


def join_tokens(parts: Iterable[list[Token]], offsets: Sequence[int]) -> tuple[Token, ...]:
    """Join the analyses of the parts of one text.

    `offsets` are the positions in the text where the parts begin. Heads are renumbered.
    """
    whole: list[Token] = []
    for tokens, offset in zip(parts, offsets, strict=False):
        first = len(whole)
        for token in tokens:
            head = None if token.head is None else token.head + first
            start, end = token.start + offset, token.end + offset
            whole.append(replace(token, start=start, end=end, head=head))
    return tuple(whole)


class LoadedAnalyser:
    """The analyser that users get: an engine, its name, and a cache.

    You can pickle it: the other process loads the engine of the same name. Threads can share it.
    """

    def __init__(self, name: str, language: str, shared: SharedEngine, cache: int) -> None:
        self.name, self.language = name, language
        self._shared, self.cache = shared, Cache(cache) if cache else None
        self._capacity = cache

    def __repr__(self) -> str:
        return f"<analyser {self.name}>"

    def __reduce__(self) -> tuple[Any, tuple[str, int]]:
        """Pickle the name: the dictionary cannot be sent to another process."""
        return (import_module("nikawa.text.analysers").load_again, (self.name, self._capacity))

    def analyse(self, text: str) -> tuple[Token, ...]:
        """The morphemes of `text`, in order."""
        need_text(text)
        kept = self.cache.get(text) if self.cache else None
        return self._analyse_new([text])[0] if kept is None else kept

    def analyse_many(self, texts: Iterable[str]) -> Iterator[tuple[Token, ...]]:
        """The same for many texts, in order, as a stream."""
        stream = iter(texts)
        while batch := list(islice(stream, TEXTS_AT_ONCE)):
            for text in batch:
                need_text(text)
            analyses: dict[str, tuple[Token, ...]] = {}
            for text in batch:
                tokens = self.cache.get(text) if self.cache else None
                if tokens is not None:
                    analyses[text] = tokens
            new = [text for text in dict.fromkeys(batch) if text not in analyses]
            analyses.update(zip(new, self._analyse_new(new), strict=True))
            for text in batch:
                yield analyses[text]

    def _analyse_new(self, texts: list[str]) -> list[tuple[Token, ...]]:
        """Analyse texts that are not in the cache, and add them to it."""
        for text in texts:
            check_text(text)
        if all(len(text) <= MAX_PIECE for text in texts):
            done = [tuple(tokens) for tokens in self._shared.run(texts)]
        else:
            done = []
            for text in texts:
                places = find_cuts(text)
                pieces = [text[a:b] for a, b in pairwise(places)]
                done.append(join_tokens(self._shared.run(pieces), places))
        if self.cache:
            for text, tokens in zip(texts, done, strict=True):
                self.cache.put(text, tokens)
        return done
