from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput, UnknownName
from nikawa.generation import lexicon_build as job
from nikawa.generation.lexicon import load_lexicon
from nikawa.generation.lexicon_build import LexiconOptions, build_lexicon

TEXT = "".join(
    f"{who}は{place}に{thing}を置いた。{who}は部屋の{thing}を見た。死体を見た。\n"
    for who in ("祖父", "店主")
    for place in ("机", "棚", "庭")
    for thing in ("花瓶", "時計", "人形")
)
LOW = LexiconOptions(triple=2, verb=2, nouns=2)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, "utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_build(text: Path, tmp_path: Path) -> None:
    heard: list[int] = []
    report = build_lexicon([text], tmp_path / "lex", LOW, on_progress=heard.append)
    assert (report.lines, report.sentences, report.verbs) == (18, 54, 2)
    assert report.triples == 18 * 5
    assert report.dropped["excluded words"] == 1
    assert heard[-1] == 18
    lexicon = load_lexicon(tmp_path / "lex")
    assert lexicon.verbs == ("置く", "見る")
    (frame,) = [f for f in lexicon.find_frames(["ヲ"]) if f.verb == "置く"]
    assert set(frame.nouns["ヲ"]) == {"花瓶", "時計", "人形"}
    assert frame.transitive
    assert "死体" not in lexicon.nouns
    assert lexicon.counts.counts["見る", "ノ~ヲ", "部屋"] == 18
    assert json.loads((tmp_path / "lex" / "report.json").read_bytes())["sentences"] == 54


def test_same_text_same_bytes_whatever_the_packing(text: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with gzip.open(tmp_path / "a" / "t", "wb") as packed:
        packed.write(TEXT.encode())
    (tmp_path / "a" / "t").rename(tmp_path / "a" / "t.gz")
    (tmp_path / "b" / "t.xz").write_bytes(lzma.compress(TEXT.encode()))
    done = []
    for number, path in enumerate((text, text, tmp_path / "a" / "t.gz", tmp_path / "b" / "t.xz")):
        build_lexicon([path], tmp_path / str(number) / "lex", LOW)
        done.append(contents(tmp_path / str(number) / "lex"))
    assert done[0] == done[1]
    for other in done[2:]:
        assert {k: v for k, v in other.items() if k != "lexicon.toml"} == {
            k: v for k, v in done[0].items() if k != "lexicon.toml"
        }


def test_cut_offs(text: Path, tmp_path: Path) -> None:
    report = build_lexicon([text], tmp_path / "lex", LexiconOptions(triple=2, verb=1000))
    assert report.kept_types == 0
    assert report.dropped["verb seen fewer than 1000 times"] > 0


def test_a_lexicon_without_frames_says_why(text: Path, tmp_path: Path) -> None:
    words = ["lexicon", "build", str(text), "--out", str(tmp_path / "lex"), "--min-nouns", "9"]
    told = CliRunner().invoke(build(), words).output
    assert "dropped: no frame: no case of the verb has 9 nouns" in told
    assert (
        "it has no frame, so nothing can be generated from it. Pass more text, or lower --min-nouns"
        in told
    )


def test_text_of_another_language_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("선장은 등대에 배를 세웠다. 안개가 짙었다.\n" * 20, "utf-8")
    with pytest.raises(
        BadInput, match=r"text\.txt: no noun occurs with a verb in the text; give Japanese text"
    ):
        build_lexicon([path], tmp_path / "lex", LOW)
    assert not (tmp_path / "lex").exists()


def test_pruning_keeps_what_is_seen_again(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "MAX_TYPES", 2)
    monkeypatch.setattr(job, "PROGRESS_LINES", 6)
    report = build_lexicon([text], tmp_path / "lex", LOW)
    assert report.triples == 18 * 5
    assert load_lexicon(tmp_path / "lex").counts.counts["見る", "ノ~ヲ", "部屋"] == 18


def test_own_lists(text: Path, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("太郎\n花子\n", "utf-8")
    (tmp_path / "bad").write_text("花瓶\n", "utf-8")
    choices = LexiconOptions(
        triple=2,
        verb=2,
        nouns=2,
        agents=tmp_path / "names",
        exclude=tmp_path / "bad",
        licence="CC0",
    )
    build_lexicon([text], tmp_path / "lex", choices)
    lexicon = load_lexicon(tmp_path / "lex")
    assert lexicon.agents == ("太郎", "花子")
    assert lexicon.about.licence == "CC0"
    assert "花瓶" not in lexicon.nouns
    assert "死体" in {noun for _, _, noun in lexicon.counts.counts}


def test_refusals_leave_nothing_behind(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "lex"
    with pytest.raises(UnknownName, match="adjacency"):
        build_lexicon([text], out, LexiconOptions(method="adjacent"))
    with pytest.raises(BadInput, match="no such file"):
        build_lexicon([text, tmp_path / "missing.txt"], out, LOW)
    with pytest.raises(BadInput, match="no such file"):
        build_lexicon([tmp_path / "missing.xz"], out, LOW)
    (tmp_path / "cut.xz").write_bytes(lzma.compress(TEXT.encode())[:-20])
    with pytest.raises(BadInput, match="decompressed"):
        build_lexicon([tmp_path / "cut.xz"], out, LOW)
    (tmp_path / "sjis.txt").write_bytes("漢字\n".encode("cp932"))
    with pytest.raises(BadInput, match=r"sjis\.txt, line 1"):
        build_lexicon([tmp_path / "sjis.txt"], out, LOW)
    for name, blank in (("empty.txt", ""), ("blank.txt", "\n\n")):
        (tmp_path / name).write_text(blank)
        with pytest.raises(BadInput, match=rf"{name}: holds no sentence; give text"):
            build_lexicon([tmp_path / name], out, LOW)
    assert not out.exists()
    build_lexicon([text], out, LOW)
    with pytest.raises(BadInput, match="exists"):
        build_lexicon([text], out, LOW)


def test_command_line(text: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    out = str(tmp_path / "lex")
    words = [
        "lexicon",
        "build",
        str(text),
        "--out",
        out,
        "--min-verb",
        "2",
        "--min-nouns",
        "2",
        "--json",
    ]
    done = run(build(), words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["lines"] == 18
    shown = json.loads(run(build(), ["lexicon", "show", out, "--json"]).stdout)
    assert shown["verbs"] == 2
    frames = json.loads(run(build(), ["lexicon", "show", "ko", "--verb", "읽다", "--json"]).stdout)
    assert frames[0]["cases"] == ["이/가", "을/를"]
    assert "agents" in run(build(), ["lexicon", "show"]).stdout
    assert "transitive" in run(build(), ["lexicon", "show", "ja", "--verb", "読む"]).stdout
    assert isinstance(
        run(build(), ["lexicon", "show", "ja", "--verb", "詠む"]).exception, UnknownName
    )
    assert "sentences" in run(build(), [*words[:-1], "--overwrite"]).stdout
    assert run(build(), [*words[:-1], "--overwrite", "--quiet"]).stdout == ""


@pytest.mark.slow
def test_the_parser_as_a_method(text: Path, tmp_path: Path) -> None:
    report = build_lexicon(
        [text], tmp_path / "lex", LexiconOptions(method="ginza", triple=2, verb=2, nouns=2)
    )
    assert load_lexicon(tmp_path / "lex").counts.counts["置く", "ヲ", "花瓶"] == 6
    assert report.lines == 18
