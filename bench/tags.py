"""Tagged sentences per second: Nikawa against janome with the same patterns, and what limits Korean.

Uses JSICK's sentences if the data is present (the 5,991 different ones, nothing from a cache), and
invented ones otherwise. Single-core figures are per second of CPU time; figures with several threads
or processes are per second of wall time, and need an idle machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from importlib import import_module
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
    general, _ = rate(ours("ja"), given, 2)
    print(f"{'ja, ipadic':<24}{general:>12,.0f}/s")
    measure_korean(sorted(set(invented("ko"))))


def measure_korean(texts: list[str]) -> None:
    """The Korean packs, and how fast the analysers are alone."""
    print(
        f"{len(texts):,} invented sentences, {sum(map(len, texts)) / len(texts):.0f} characters each"
    )
    for name in ("jsick-ko", "ko"):
        speed, _ = rate(ours(name), texts, 2)
        print(f"{name + ', kiwi':<24}{speed:>12,.0f}/s")
    for name in ("kiwi", "mecab-ko"):
        reader = analyser(name, cache=0)
        began = time.process_time()
        for _ in reader.analyse_many(texts):
            pass
        print(f"{name + ' alone':<24}{len(texts) / (time.process_time() - began):>12,.0f}/s")
    cores = len(os.sched_getaffinity(0))
    kiwi = import_module("kiwipiepy").Kiwi(num_workers=cores)
    kiwi.tokenize(texts[0])
    wall, cpu = time.perf_counter(), time.process_time()
    list(kiwi.tokenize(texts))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{f'kiwi, {cores} threads':<24}{len(texts) / cpu:>12,.0f}/s"
        f", {len(texts) / wall:,.0f}/s of wall time"
    )
    examples = [Example(id=str(i), inputs={"text": text}) for i, text in enumerate(texts)] * 4
    began = time.perf_counter()
    reader = analyser("kiwi", cache=0)
    for _ in tag_all(examples, find_pack("ko"), by=reader, where=cores):
        pass
    speed = len(examples) / (time.perf_counter() - began)
    print(f"{f'ko, {cores} processes':<24}{'':>14}, {speed:,.0f}/s of wall time, start included")


if __name__ == "__main__":
    main()
