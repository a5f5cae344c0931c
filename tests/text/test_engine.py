"""Long texts, cache, threads, forks and pools."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from nikawa.text import Token, analyser
from nikawa.text.engine import MAX_PIECE, Cache, LoadedAnalyser, SharedEngine, find_cuts

SENTENCE = "二匹の犬が大きな庭を走っている。"


def counting(loads: list[int], calls: list[str]) -> LoadedAnalyser:
    def load() -> object:
        loads.append(1)

        def run(texts: Sequence[str]) -> Iterator[list[Token]]:
            for text in texts:
                calls.append(text)
                yield [Token(text, text, (), start=0, end=len(text), head=0)]

        return run

    return LoadedAnalyser("counting", "", SharedEngine(load), 100)  # type: ignore[arg-type]


def test_a_text_is_analysed_once() -> None:
    calls: list[str] = []
    found = counting([], calls)
    assert found.analyse("犬") is found.analyse("犬")
    assert [t[0].surface for t in found.analyse_many(["猫", "犬", "猫"])] == ["猫", "犬", "猫"]
    assert calls == ["犬", "猫"]


def test_the_cache_is_bounded_by_characters_and_drops_the_oldest() -> None:
    cache = Cache(30)
    for text in ("a", "bb", "ccc"):
        cache.put(text, ())
    cache.get("a")
    for i in range(8):
        cache.put(f"d{i}", ())
    assert cache.size <= 30
    assert cache.get("a") == ()
    assert cache.get("bb") is None
    cache.put("too long to keep", ())
    assert cache.get("too long to keep") is None


def test_the_cache_can_be_turned_off() -> None:
    found = analyser("characters", cache=0)
    assert found.analyse("犬") == found.analyse("犬")
    assert found.analyse("犬") is not found.analyse("犬")


def test_many_threads_load_one_dictionary() -> None:
    loads: list[int] = []
    found = counting(loads, [])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(found.analyse, [str(i) for i in range(50)]))
    assert loads == [1]


def test_threads_get_their_own_answers() -> None:
    texts = [f"{i}匹の犬が{i}回走った。" for i in range(200)]
    found = analyser("ipadic", cache=0)
    alone = [found.analyse(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(found.analyse, texts)) == alone


def test_many_texts_are_a_stream() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "犬 猫"

    stream = analyser("whitespace").analyse_many(endless())
    assert [len(next(stream)) for _ in range(300)] == [2] * 300


@pytest.mark.parametrize("name", ["ipadic", "juman", "unidic", "sudachi", "kiwi", "mecab-ko"])
def test_many_equals_one_by_one(name: str) -> None:
    texts = [SENTENCE, "", "고양이가 마당에서 잤다.", SENTENCE, "三匹の猫"]
    found = analyser(name, cache=0)
    assert list(found.analyse_many(texts)) == [found.analyse(t) for t in texts]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ipadic", "juman", "unidic", "sudachi", "mecab-ko"])
def test_a_text_of_a_megabyte(name: str) -> None:
    text = SENTENCE * (350_000 // len(SENTENCE))
    assert len(text.encode()) > 1_000_000
    found = analyser(name).analyse(text)
    assert len(found) == len(analyser(name).analyse(SENTENCE)) * (len(text) // len(SENTENCE))
    assert all(text[t.start : t.end] == t.surface for t in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ipadic", "sudachi", "kiwi", "mecab-ko"])
@pytest.mark.parametrize(
    "text", ["a" * 100_000, " " * 200_000 + "犬", "犬" + "\n" * 70_000 + "猫", "か\u3099" * 9_000]
)
def test_texts_that_overflow_an_engine(name: str, text: str) -> None:
    found = analyser(name, cache=0).analyse(text)
    assert "".join(t.surface for t in found) == "".join(text.split())
    assert all(text[t.start : t.end] == t.surface for t in found)


def test_heads_move_with_their_piece() -> None:
    found = counting([], []).analyse("犬。" * MAX_PIECE)
    assert [t.head for t in found] == list(range(len(found)))


def test_cuts_prefer_lines_then_sentences_then_words() -> None:
    assert find_cuts("ab。c\nde fgh", 6) == [0, 5, 11]
    assert find_cuts("ab。cdefghi", 6) == [0, 3, 9, 10]
    assert find_cuts("ab cdefg", 6) == [0, 3, 8]
    assert find_cuts("abcdeか\u3099", 6) == [0, 5, 7]
    assert find_cuts("short", 6) == [0, 5]


def test_an_analyser_travels_by_name() -> None:
    assert pickle.loads(pickle.dumps(analyser("ipadic"))) is analyser("ipadic")


def _surfaces(text: str) -> list[str]:
    return [t.surface for t in analyser("ja").analyse(text)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_pool(method: str) -> None:
    texts = [f"{i}匹の犬" for i in range(6)]
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(_surfaces, texts)) == [_surfaces(t) for t in texts]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ipadic", "juman", "unidic", "sudachi", "ginza", "kiwi", "mecab-ko"]
)
def test_a_forked_child_goes_on(name: str) -> None:
    """The child must answer, and answer the same, while another thread of the parent is at work."""
    found, text = analyser(name, cache=0), "犬が走った。 개가 뛰었다."
    expected = found.analyse(text)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(lambda: [found.analyse(text) for _ in range(30)])
        child = os.fork()
        if child == 0:
            os._exit(0 if found.analyse(text) == expected and [*found.analyse_many([text])] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert busy.result()[-1] == expected
