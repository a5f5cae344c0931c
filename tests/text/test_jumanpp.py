"""Juman++ as a program beside this one: its format, its limits, its failures."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nikawa.errors import BadInput, MissingExtra
from nikawa.text import ANALYSERS, analyser
from nikawa.text import jumanpp as _child
from nikawa.text.engine import MAX_PIECE, LoadedAnalyser
from nikawa.text.jumanpp import MAX_LINE_BYTES, LineProgram, load_jumanpp
from nikawa.text.morpheme_starts import find_starts

PIECES = (
    "猫が走った",
    "もも",
    "。",
    "ｶﾞﾗｽ",
    "ｶ",
    "ﾞ",
    "ＡＢＣ",
    "abc",
    "か\u3099",
    "㍿",
    "𠮟る",
    "葛\U000e0100城",
    "고양이",
    "😀",
    "👩‍👩‍👧",
    "1,234.5",
    'a"b',
    "don't",
    "\\ ",
    "\\t",
    "# ",
    "@ ",
    "EOS",
    "NIL",
    "*",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\u3000",
    "\x0b",
    "\x85",
    "\u2028",
    "\u00a0",
    "\ufeff",
    "(^ ^)",
)


def holds(text: str, tokens: Any) -> None:
    """Surfaces are slices, in order, apart, and all that is not white space is on one."""
    end, between = 0, ""
    for token in tokens:
        assert text[token.start : token.end] == token.surface
        assert token.start >= end
        assert token.surface.strip() or token.surface.strip(" \t\n") == "\u3000" * len(
            token.surface
        )
        assert token.base
        between += text[end : token.start]
        end = token.end
    assert not (between + text[end:]).strip()


def words(tokens: Any) -> list[str]:
    return [token.surface for token in tokens]


def test_a_morpheme_holds_what_its_line_says(jumanpp: LoadedAnalyser) -> None:
    cat, ga, run, end = jumanpp.analyse("猫が走った。")
    assert (cat.surface, cat.base, cat.reading, cat.tag) == ("猫", "猫", "ネコ", "名詞,普通名詞")
    assert (cat.norm, cat.notes) == ("猫/ねこ", "代表表記:猫/ねこ 漢字読み:訓 カテゴリ:動物")
    assert (ga.tag, ga.norm, ga.notes, ga.ctype, ga.cform) == ("助詞,格助詞", "が", "", "", "")
    assert (run.base, run.reading, run.ctype, run.cform) == (
        "走る",
        "ハシッタ",
        "子音動詞ラ行",
        "タ形",
    )
    assert (run.pos, run.form, run.start, run.end) == (("動詞", "*"), "走った", 2, 5)
    assert (end.surface, end.head, end.deprel) == ("。", None, None)


def test_it_is_what_mecab_with_its_dictionary_tells(jumanpp: LoadedAnalyser) -> None:
    """The fields are laid out alike, so that what reads `juman` reads this."""
    for mine, theirs in zip(
        jumanpp.analyse("猫が走った"), analyser("juman").analyse("猫が走った"), strict=True
    ):
        for name in (
            "surface",
            "base",
            "pos",
            "reading",
            "ctype",
            "cform",
            "norm",
            "start",
            "end",
            "form",
        ):
            assert getattr(mine, name) == getattr(theirs, name)


def test_of_several_entries_the_first_is_told(jumanpp: LoadedAnalyser) -> None:
    (found,) = jumanpp.analyse("もも")
    assert (found.surface, found.norm) == ("もも", "股/もも")


def test_the_sign_that_begins_further_entries_may_be_a_word(jumanpp: LoadedAnalyser) -> None:
    (found,) = jumanpp.analyse("@")
    assert (found.surface, found.base, found.norm) == ("@", "＠", "＠/あっと")


def test_an_unknown_word_is_its_own_base(jumanpp: LoadedAnalyser) -> None:
    latin, number = jumanpp.analyse("nikawa23")
    assert (latin.surface, latin.base, latin.norm, latin.reading) == (
        "nikawa",
        "nikawa",
        "nikawa",
        "",
    )
    assert (number.surface, number.base, number.tag) == ("23", "23", "名詞,数詞")


@pytest.mark.parametrize("told_as", ["\\ ", "\\␣", "\\t", "\u3000"])
def test_blanks_are_no_tokens_however_they_are_told(
    told_as: str, fake: Any, jumanpp: LoadedAnalyser
) -> None:
    fake.blank(told_as)
    text = " 猫  が\t走った\r\n もも "
    tokens = jumanpp.analyse(text)
    assert words(tokens) == ["猫", "が", "走った", "もも"]
    holds(text, tokens)


def test_the_wide_space_of_the_text_is_a_word(jumanpp: LoadedAnalyser) -> None:
    found = jumanpp.analyse("猫\u3000 が")
    assert [(t.surface, t.tag, t.start) for t in found] == [
        ("猫", "名詞,普通名詞", 0),
        ("\u3000", "特殊,空白", 1),
        ("が", "助詞,格助詞", 3),
    ]


def test_a_word_may_hold_a_blank(jumanpp: LoadedAnalyser) -> None:
    face, cat = jumanpp.analyse("(^ ^)猫")
    assert (face.surface, face.base, face.reading, face.norm) == (
        "(^ ^)",
        "(^ ^)",
        "(^ ^)",
        "顔文字/顔文字",
    )
    assert (cat.surface, cat.start) == ("猫", 5)


def test_a_reading_may_be_empty(jumanpp: LoadedAnalyser) -> None:
    (found,) = jumanpp.analyse("空")
    assert (found.reading, found.base, found.norm) == ("", "空", "空/そら")


def test_two_characters_that_become_one_are_both_stood_on(jumanpp: LoadedAnalyser) -> None:
    found = jumanpp.analyse("猫ｶﾞﾗｽ猫")
    assert [(t.surface, t.start, t.end) for t in found] == [
        ("猫", 0, 1),
        ("ｶﾞﾗｽ", 1, 5),
        ("猫", 5, 6),
    ]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\n", "\r\n", "# 猫が走った", "EOS", "@ 猫", "NIL", '"猫"', "\\ 猫", "a\"b 'c'"],
)
def test_awkward_texts(text: str, jumanpp: LoadedAnalyser) -> None:
    holds(text, jumanpp.analyse(text))


@pytest.mark.slow
def test_any_text(jumanpp: LoadedAnalyser) -> None:
    letters = st.text(
        st.characters(codec="utf-8", exclude_characters="\0死殺眠誤注欠変乱"), max_size=4
    )

    @settings(
        max_examples=150, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
    )
    @given(st.lists(st.sampled_from(PIECES) | letters, max_size=8).map("".join))
    def check(text: str) -> None:
        holds(text, jumanpp.analyse(text))

    check()


def test_lines_are_asked_apart(fake: Any, jumanpp: LoadedAnalyser) -> None:
    text = "猫が\n\n走った。\nもも\n"
    tokens = jumanpp.analyse(text)
    assert words(tokens) == ["猫", "が", "走った", "。", "もも"]
    holds(text, tokens)
    assert fake.log("line")[1:] == [6, 12, 6]


def test_a_line_too_long_is_cut_where_sentences_end(fake: Any, jumanpp: LoadedAnalyser) -> None:
    sentence = "猫が「もも。」と走った。"
    text = sentence * (MAX_PIECE // len(sentence))
    tokens = jumanpp.analyse(text)
    holds(text, tokens)
    assert words(tokens) == words(jumanpp.analyse(sentence)) * (MAX_PIECE // len(sentence))
    sizes, whole = fake.log("line")[1:-1], len(sentence.encode())
    assert len(sizes) == -(-len(text.encode()) // (MAX_LINE_BYTES // whole * whole))
    assert all(size <= MAX_LINE_BYTES and size % whole == 0 for size in sizes)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5000,
        "猫" * 3 * MAX_PIECE,
        "😀" * 3000,
        "か\u3099" * 2000,
        "猫、" * 2000,
        " " * 9000 + "猫",
    ],
)
def test_a_line_without_a_sentence_is_cut_anywhere(
    text: str, fake: Any, jumanpp: LoadedAnalyser
) -> None:
    holds(text, jumanpp.analyse(text))
    assert max(fake.log("line")) <= MAX_LINE_BYTES


def test_a_line_as_long_as_it_may_be_is_not_cut(fake: Any, jumanpp: LoadedAnalyser) -> None:
    jumanpp.analyse("猫" * 1365)
    jumanpp.analyse("猫" * 1366)
    assert fake.log("line")[1:] == [4095, 4095, 3]


def test_many_texts_are_asked_at_once_of_one_program(fake: Any, jumanpp: LoadedAnalyser) -> None:
    """More than two pipes hold, both ways: neither side may wait for the other."""
    texts = [f"{'猫が走った。' * 150}{i}" for i in range(300)]
    found = list(jumanpp.analyse_many(texts))
    assert [tokens[-1].surface for tokens in found] == [str(i) for i in range(300)]
    assert len(fake.log("start")) == 1


def test_places_where_words_begin(fake: Any) -> None:
    assert find_starts(["猫が 走った", ""], "jumanpp") == [[0, 1, 3], []]


def test_the_analyser_by_its_name(fake: Any) -> None:
    found = analyser("jumanpp")
    assert (found.name, found.language, words(found.analyse("猫が走った"))) == (
        "jumanpp",
        "ja",
        ["猫", "が", "走った"],
    )
    assert found.analyse("猫") is found.analyse("猫")


def test_encoders_read_its_words(fake: Any) -> None:
    from nikawa.models.encoder.settings import make_word_finder

    find_words = make_word_finder("jumanpp")
    assert find_words is not None
    assert find_words("猫が 走った。") == [(0, 1), (1, 2), (3, 6), (6, 7)]


def test_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JUMANPP", raising=False)
    with pytest.raises(MissingExtra) as said:
        load_jumanpp()
    assert str(said.value) == (
        "the program 'jumanpp' is not installed; build Juman++ 2 from https://github.com/ku-nlp/jumanpp/releases;"
        " put it on the PATH, or set JUMANPP to its path"
    )


def test_the_list_of_analysers_needs_no_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ANALYSERS["jumanpp"].language == "ja"
    assert words(analyser("characters").analyse("猫")) == ["猫"]


def test_a_program_named_by_the_environment(
    fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("JUMANPP", str(fake.program))
    assert [words(tokens) for tokens in load_jumanpp()(["猫が"])] == [["猫", "が"]]
    monkeypatch.setenv("JUMANPP", str(tmp_path / "none"))
    with pytest.raises(
        MissingExtra, match="none: JUMANPP names a file that is not a program; set it to"
    ):
        load_jumanpp()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "猫が死",
            r"jumanpp ended with status 1 at '猫が死': failed to load model from disk; run it on that text",
        ),
        (
            "殺",
            r"jumanpp was ended by SIGKILL at '殺'; run it on that text to see why: /.*jumanpp",
        ),
        ("猫誤", r"jumanpp cannot analyse '猫誤'; leave that text out"),
        (
            "猫欠",
            r"jumanpp answers '猫欠' with 'EOS', which is not in the expected format; use Juman\+\+ 2",
        ),
        ("変", r"jumanpp answers '変' with '別 べつ 別 .*', which is not in the expected format"),
        (
            "乱",
            r"jumanpp answers '乱' with 'Segmentation fault', which is not in the expected format",
        ),
    ],
)
def test_trouble_is_one_line_and_the_next_text_is_answered(
    text: str, told: str, jumanpp: LoadedAnalyser
) -> None:
    with pytest.raises(BadInput, match=told) as said:
        list(jumanpp.analyse_many(["もも", text, "もも"]))
    assert "\n" not in str(said.value)
    assert words(jumanpp.analyse("猫が")) == ["猫", "が"]


def test_remarks_are_passed_over(jumanpp: LoadedAnalyser) -> None:
    assert words(jumanpp.analyse("猫注")) == ["猫", "注"]


def test_a_program_that_hangs_is_ended(
    fake: Any, jumanpp: LoadedAnalyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumanpp.analyse("猫")
    monkeypatch.setattr(_child, "MAX_SILENCE_SECONDS", 0.3)
    with pytest.raises(
        BadInput,
        match=r"jumanpp did not answer '眠' within 0\.3 s; the program was stopped; run it",
    ):
        jumanpp.analyse("眠")
    monkeypatch.undo()
    with pytest.raises(ProcessLookupError):
        os.kill(fake.log("start")[-1], 0)


def test_a_program_that_ended_between_two_texts_is_started_again(
    fake: Any, jumanpp: LoadedAnalyser
) -> None:
    jumanpp.analyse("猫")
    (pid,) = fake.log("start")
    os.kill(pid, signal.SIGKILL)
    os.waitid(
        os.P_PID, pid, os.WEXITED | os.WNOWAIT
    )  # it has ended; who started it has yet to hear of it
    assert words(jumanpp.analyse("猫が")) == ["猫", "が"]
    assert len(fake.log("start")) == 2


def test_an_interruption_leaves_no_answer_behind(
    jumanpp: LoadedAnalyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumanpp.analyse("猫")

    def stop(*_: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", stop)
        with pytest.raises(KeyboardInterrupt):
            jumanpp.analyse("もも")
    assert words(jumanpp.analyse("猫が")) == ["猫", "が"]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "import sys; sys.exit('Model file was not specified')",
            "jumanpp ended with status 1 at '。': Model file was not specified",
        ),
        ("", "jumanpp ended with status 0 at '。'"),
    ],
)
def test_a_program_that_does_not_work_is_told_when_it_is_loaded(
    code: str, told: str, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUMANPP", str(program(code)))
    with pytest.raises(BadInput, match=told):
        load_jumanpp()


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "jumanpp"
    path.write_bytes(b"\x7fELF no more")
    path.chmod(0o755)
    with pytest.raises(
        BadInput, match=r"jumanpp: jumanpp cannot be started: Exec format error; run it yourself"
    ):
        LineProgram("jumanpp", str(path)).ask(["猫"])


def test_threads_get_their_own_answers(fake: Any, jumanpp: LoadedAnalyser) -> None:
    texts = [f"{i}猫が{i}" for i in range(60)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(jumanpp.analyse, texts))
    assert ["".join(words(tokens)) for tokens in found] == texts
    assert len(fake.log("start")) == 1


def test_a_forked_child_starts_its_own(fake: Any, jumanpp: LoadedAnalyser) -> None:
    """While another thread of the parent is at work, and without a word to the parent's program."""
    text = "猫が走った。"
    expected = jumanpp.analyse(text)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(lambda: [jumanpp.analyse(text) for _ in range(30)])
        child = os.fork()
        if child == 0:
            os._exit(0 if jumanpp.analyse(text) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert busy.result()[-1] == expected
    assert len(set(fake.log("start"))) == 2


def test_a_forked_child_does_not_keep_the_program_alive(jumanpp: LoadedAnalyser) -> None:
    """It would hold the other end of a pipe whose closing tells the program to end."""
    jumanpp.analyse("猫")
    (pipe,) = [
        child._running.stdin for child in _child._ALL if child._running and child._running.stdin
    ]
    place, child = pipe.fileno(), os.fork()
    if child == 0:
        try:
            os.fstat(place)
        except OSError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert jumanpp.analyse("が")[0].surface == "が"


def _gone(pid: int) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_it_ends_with_the_process_that_asked(fake: Any) -> None:
    code = """
        from nikawa.text.jumanpp import load_jumanpp
        engine = load_jumanpp()
        print([t.surface for tokens in engine(["猫が"]) for t in tokens])
    """
    words = [sys.executable, "-W", "error", "-X", "utf8", "-c", dedent(code)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['猫', 'が']\n", "")
    (pid,) = fake.log("start")
    assert _gone(pid)


def test_it_ends_when_nobody_holds_it(fake: Any) -> None:
    engine = load_jumanpp()
    (pid,) = fake.log("start")
    del engine
    gc.collect()
    assert _gone(pid)


def test_a_program_that_outlives_its_input_is_killed(
    program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program("import time; input(); print('EOS', flush=True); time.sleep(60)")
    child = LineProgram("jumanpp", str(path))
    assert child.ask(["猫"]) == [[]]
    monkeypatch.setattr(_child, "MAX_EXIT_SECONDS", 0.1)
    began = time.monotonic()
    child.close()
    assert time.monotonic() - began < 40  # it sleeps for 60


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> LoadedAnalyser:
    """Juman++ itself; tests that ask for it are skipped where it is not installed."""
    from nikawa.text.engine import SharedEngine

    try:
        load_jumanpp()
    except MissingExtra as absent:
        pytest.skip(str(absent))
    return LoadedAnalyser("jumanpp", "ja", SharedEngine(load_jumanpp), 0)


def test_the_program_itself(real: LoadedAnalyser) -> None:
    for text in (*PIECES, '猫が 走った。\nEOS # @ "a b"', "猫が走った。" * 2000, "a" * 5000):
        holds(text, real.analyse(text))
    assert [t.base for t in real.analyse("猫が走った")] == ["猫", "が", "走る"]
