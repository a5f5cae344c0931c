"""A small program that speaks the format of Juman++ 2, with its limits and its ways to fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from nikawa.text import analysers
from nikawa.text import jumanpp as _child
from nikawa.text.engine import LoadedAnalyser, SharedEngine
from nikawa.text.jumanpp import load_jumanpp

FAKE = r"""
import os, re, signal, sys, time
from pathlib import Path

folder = Path(__file__).parent
log = open(folder / "log", "a", buffering=1)
log.write(f"start {os.getpid()}\n")
blank = (folder / "blank").read_text("utf-8") if (folder / "blank").exists() else "\\ "
words = {
    "走った": ['走った はしった 走る 動詞 2 * 0 子音動詞ラ行 10 タ形 10 "代表表記:走る/はしる"'],
    "もも": [
        'もも もも もも 名詞 6 普通名詞 1 * 0 * 0 "代表表記:股/もも カテゴリ:動物-部位"',
        '@ もも もも もも 名詞 6 普通名詞 1 * 0 * 0 "代表表記:桃/もも カテゴリ:植物;人工物-食べ物"',
    ],
    "猫": ['猫 ねこ 猫 名詞 6 普通名詞 1 * 0 * 0 "代表表記:猫/ねこ 漢字読み:訓 カテゴリ:動物"'],
    "が": ["が が が 助詞 9 格助詞 1 * 0 * 0 NIL"],
    "。": ["。 。 。 特殊 1 句点 1 * 0 * 0 NIL"],
    "（＾\u3000＾）": ['（＾\u3000＾） (^ ^) (^ ^) 特殊 1 記号 5 * 0 * 0 "代表表記:顔文字/顔文字 顔文字"'],
    "＠": ['＠ ＠ ＠ 特殊 1 記号 5 * 0 * 0 "代表表記:＠/あっと"'],
    "空": ['空  空 名詞 6 普通名詞 1 * 0 * 0 "代表表記:空/そら"'],
    "誤": ["# ERROR"],
    "注": ["# MA-SCORE 1", "注 ちゅう 注 名詞 6 普通名詞 1 * 0 * 0 NIL"],
    "欠": [],
    "変": ["別 べつ 別 名詞 6 普通名詞 1 * 0 * 0 NIL"],
    "乱": ["Segmentation fault"],
    "\u3000": [f"{blank} {blank} {blank} 特殊 1 空白 6 * 0 * 0 NIL"],
}
known = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
piece = re.compile(rf"{known}|[ァ-ヶー]+|[０-９]+|[Ａ-Ｚａ-ｚ]+|.")


def entry(word):
    if re.fullmatch("[０-９]+", word):
        return [f'{word} {word} {word} 名詞 6 数詞 7 * 0 * 0 "カテゴリ:数量 未知語:数字"']
    if re.fullmatch("[ァ-ヶーＡ-Ｚａ-ｚ]+", word):
        return [f'{word} {word} {word} 未定義語 15 カタカナ 2 * 0 * 0 "品詞推定:名詞"']
    return words.get(word) or [f"{word} {word} {word} 名詞 6 普通名詞 1 * 0 * 0 NIL"]


def trouble(line):
    if "死" in line:
        sys.exit("failed to load model from disk\n\n")
    if "殺" in line:
        os.kill(os.getpid(), signal.SIGKILL)
    if "眠" in line:
        time.sleep(60)


for raw in sys.stdin.buffer:
    raw = raw.rstrip(b"\n")
    log.write(f"line {len(raw)}\n")
    if len(raw) > 2 and raw.startswith(b"# ") or len(raw) > 65535:
        continue
    line = raw.decode()
    trouble(line)
    answer = ["# ERROR"] if len(raw) > 4096 else [x for w in piece.findall(line) for x in (entry(w) if w != "欠" else [])]
    sys.stdout.buffer.write("\n".join([*answer, "EOS", ""]).encode())
    sys.stdout.buffer.flush()
"""


@dataclass
class Fake:
    """The program, and what it wrote down of itself."""

    program: Path

    def log(self, what: str) -> list[int]:
        """The numbers of its starts (process ids) or its lines (bytes)."""
        path = self.program.parent / "log"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(what)]

    def blank(self, told_as: str) -> None:
        """How it prints a blank."""
        (self.program.parent / "blank").write_text(told_as, "utf-8")


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Write a program called jumanpp into a folder of its own."""

    def write(code: str) -> Path:
        path = tmp_path / "bin" / "jumanpp"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable} -SE\n{dedent(code)}", "utf-8")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def fake(program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """The small program on the PATH; what it is asked in a test ends with the test."""
    path = program(FAKE)
    monkeypatch.delenv("JUMANPP", raising=False)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("_named_analyser", "_shared_engine"):
        monkeypatch.setattr(analysers, name, cache(getattr(analysers, name).__wrapped__))
    yield Fake(path)
    for child in list(_child._ALL):
        child.close()


@pytest.fixture
def jumanpp(fake: Fake) -> LoadedAnalyser:
    """The analyser over the small program."""
    return LoadedAnalyser("jumanpp", "ja", SharedEngine(load_jumanpp), 0)
