"""Sentences a second of every analyser, against janome, and of the sentence splitters; invented text, one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import product

from nikawa.errors import MissingExtra
from nikawa.text import ANALYSERS, analyser, sentences

_JA = (
    ("三匹の", "大きな", "隣の家の"),
    ("猫が", "郵便配達員が", "子どもたちが"),
    ("庭で", "古い橋の上を", "昨日の朝、"),
)
_JA_ENDS = ("静かに歩いている。", "歌を歌いながら走っていた。", "まだ帰りたくないと言った。")
_KO = (
    ("작은", "이웃집의", "세 마리의"),
    ("고양이가", "우체부가", "아이들이"),
    ("마당에서", "낡은 다리 위를", "어제 아침에"),
)
_KO_ENDS = ("조용히 걷고 있다.", "노래를 부르며 뛰어다녔다.", "아직 돌아가고 싶지 않다고 말했다.")
SLOW = {"ginza": 80}
"""Sentences for those that would take minutes over all of them."""


def texts(language: str) -> list[str]:
    """Two thousand different sentences."""
    if language == "ko":
        return [f"{i}번, {' '.join(p)}" for i in range(25) for p in product(*_KO, _KO_ENDS)]
    return [f"{i}番、{''.join(p)}" for i in range(25) for p in product(*_JA, _JA_ENDS)]


def rate(run: Callable[[list[str]], Iterable[object]], given: list[str]) -> float:
    """Sentences a second, the best of three, after one that loads everything."""
    for _ in run(given[:2]):
        pass
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        for _ in run(given):
            pass
        best = min(best, time.perf_counter() - began)
    return len(given) / best


def _janome() -> float | None:
    try:
        from janome.tokenizer import Tokenizer  # type: ignore[import-untyped]
    except ImportError:
        return None
    tokenizer = Tokenizer()
    return rate(lambda given: (list(tokenizer.tokenize(t)) for t in given), texts("ja"))


def _row(name: str, speed: float, peer: float | None) -> None:
    print(f"{name:<24}{speed:>12,.0f}/s{f'{speed / peer:>10.1f}x' if peer else ''}")


def main() -> None:
    peer = _janome()
    if peer:
        _row("janome (peer)", peer, peer)
    for info in ANALYSERS.values():
        try:
            found = analyser(info.name, cache=0)
        except MissingExtra as absent:
            print(f"{info.name:<24}{absent.what}")
            continue
        _row(info.name, rate(found.analyse_many, texts(info.language)[: SLOW.get(info.name)]), peer)
    _row("ipadic, from its cache", rate(analyser("ipadic").analyse_many, texts("ja")), peer)
    for language in ("ja", "ko"):
        pages = ["".join(texts(language)[i : i + 20]) for i in range(0, 2000, 20)]
        speed = rate(lambda given, code=language: (sentences(t, code) for t in given), pages)  # type: ignore[misc]
        _row(f"sentences, {language}", speed * 20, None)


if __name__ == "__main__":
    main()
