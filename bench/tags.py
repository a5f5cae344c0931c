"""Sentences a second of the JSICK tags: Nikawa against janome with the same patterns, one core, one run.

On JSICK's own sentences where they are here (the 5,991 different ones, nothing from a cache), else on invented ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from bench.analysers import texts as invented
from bench.start import shared
from nikawa.records import Example
from nikawa.tagging import find_pack, tag_all, texts_of
from nikawa.text import analyser

Tags = list[frozenset[str]]
REPEATS = 5


def sentences() -> tuple[str, list[str]]:
    """Different sentences, and what they are."""
    if not shared().is_dir():
        return "invented sentences", sorted(set(invented("ja")))
    from nikawa import load

    splits = load("jsick", data=shared()).splits.values()
    return "sentences of JSICK", sorted({t for part in splits for e in part for t in texts_of(e)})


def ours(name: str) -> Callable[[list[str]], Tags]:
    """Records in, tags out, as `nikawa tag` does it."""
    pack, reader = find_pack(name), analyser(find_pack(name).analyser, cache=0)

    def run(given: list[str]) -> Tags:
        examples = (Example(id=str(i), inputs={"text": text}) for i, text in enumerate(given))
        return [found.tags for found in tag_all(examples, pack, by=reader)]

    return run


def janome() -> Callable[[list[str]], Tags] | None:
    """The same patterns over janome's tokens, by one look-up a token."""
    try:
        from janome.tokenizer import Tokenizer  # type: ignore[import-untyped]
    except ImportError:
        return None
    tokenize: Callable[[str], Iterable[Any]] = Tokenizer().tokenize
    table = {(p.base, p.pos): p.tag for p in find_pack("jsick").patterns}

    def run(given: list[str]) -> Tags:
        return [
            frozenset(
                tag
                for t in tokenize(text)
                if (tag := table.get((t.base_form, t.part_of_speech))) is not None
            )
            for text in given
        ]

    return run


def rate(run: Callable[[list[str]], Tags], given: list[str], repeats: int) -> tuple[float, Tags]:
    """Sentences a second of CPU time, the best of some, and the tags."""
    found = run(given[:50])
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        found = run(given)
        best = min(best, time.process_time() - began)
    return len(given) / best, found


def main() -> None:
    what, given = sentences()
    print(f"{len(given):,} {what}")
    speed, tags = rate(ours("jsick"), given, REPEATS)
    print(f"{'jsick, ipadic':<24}{speed:>12,.0f}/s")
    peer = janome()
    if peer is not None:
        slow, theirs = rate(peer, given, 2)
        assert theirs == tags, "janome finds other tags"
        print(f"{'the same by janome':<24}{slow:>12,.0f}/s{speed / slow:>10.1f}x, the same tags")
    korean, _ = rate(ours("jsick-ko"), sorted(set(invented("ko"))), 2)
    print(f"{'jsick-ko, kiwi':<24}{korean:>12,.0f}/s")


if __name__ == "__main__":
    main()
