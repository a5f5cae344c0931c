"""What pre-training refuses, when, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from nikawa.cli.pretrain import show_stage
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput, missing_extra
from nikawa.pretrain.job import PretrainOptions, PretrainReport, pretrain
from nikawa.pretrain.stages import lock_work

PARTS = (
    ("灯台", "司書", "子犬", "庭番"),
    ("岬", "書庫", "温室"),
    ("眠った", "本を閉じた", "雨を待った", "笛を吹いた"),
)
LINES = [f"{n}番目の{a}は{b}で{c}。" for n, (a, b, c) in enumerate(product(*PARTS))]
TINY = {"size": "tiny", "batch": 512, "steps": 2, "device": "cpu"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(LINES) + "\n", "utf-8")
    return path


def run(corpus: Path | Sequence[Path], out: Path, **more: Any) -> PretrainReport:
    said = {"language": "ja", "tokenizer": "subwords", "vocabulary": 500, **more}
    return pretrain([corpus] if isinstance(corpus, Path) else corpus, out, PretrainOptions(**said))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            {"vocabulary": 300},
            "a vocabulary of 300 tokens is too small; pass --vocabulary 366 or more",
        ),
        (
            {"minutes": float("inf"), "steps": 0},
            "training cannot take inf minutes; pass --minutes 8",
        ),
        (
            {"seed": 1 << 63, "only": "text"},
            "the seed is 9223372036854775808; choose a whole number of at most 18 digits",
        ),
        (
            {"device": "quantum"},
            "^there is no device 'quantum' to train on; pass --device auto, cpu or cuda$",
        ),
        (
            {"minutes": 1.0},
            "both steps and minutes are set; pass either --steps or --minutes",
        ),
        ({"attribution": Path("nowhere.md")}, r"nowhere\.md: no such file; pass the file that"),
        ({"data": Path("nowhere")}, "nowhere: no such folder; pass the folder with"),
        ({"segmenter": "kiwi"}, "kiwi does not segment the language ja; use one of: ipadic"),
        ({"against": ("blank.txt",)}, r"blank\.txt: contains no text to compare with"),
    ],
)
def test_what_would_fail_later_fails_before_any_work(
    said: dict[str, Any], told: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("blank.txt").write_text("\n\n")
    with pytest.raises(BadInput, match=told):
        run(corpus, tmp_path / "out", **{**TINY, **said})
    assert not (tmp_path / "out").exists()


def test_a_segmenter_that_is_not_installed_is_told_before_any_work(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(texts: Sequence[str], name: str) -> list[list[int]]:
        raise missing_extra(name, "ja")

    for module in ("job", "vocabulary"):
        monkeypatch.setattr(f"nikawa.pretrain.{module}.find_starts", none)
    with pytest.raises(BadInput, match="ipadic is not installed"):
        run(corpus, tmp_path / "out", only="pack")
    assert not (tmp_path / "out").exists()
    covered = run(corpus, tmp_path / "out", only="vocabulary", tokenizer="characters").coverage
    assert covered is not None
    assert covered.sets[-1].crossing is None


def test_one_run_at_a_time(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (
        lock_work(out),
        pytest.raises(
            BadInput, match="out: another process is working in this folder; wait for it"
        ),
    ):
        run(corpus, out, only="text")
    assert not out.exists()
    assert run(corpus, out, only="text").text
    (tmp_path / "file").write_text("")
    with pytest.raises(
        BadInput, match="file: is a file, or a path inside one; choose another --out"
    ):
        run(corpus, tmp_path / "file", only="text")


@pytest.mark.parametrize("inside", ["encoder", "."])
def test_the_folder_of_the_text_may_hold_the_encoder(
    inside: str, corpus: Path, tmp_path: Path
) -> None:
    for only in ("text", "vocabulary"):
        report = run(tmp_path, tmp_path / inside, only=only)
        assert report.text is not None
        assert [file.file for file in report.text.files] == ["corpus.txt"]


def test_what_is_to_be_replaced_stays_until_there_is_something_else(
    corpus: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other.txt"
    run(corpus, out, only="text")
    other.write_text("Not a word of it is in the language.\n" * 9, "utf-8")
    with pytest.raises(BadInput, match="does not look like Japanese"):
        run(other, out, only="text", overwrite=True)
    assert run([], out, only="vocabulary").vocabulary
    other.write_text("別の話をここに書いておく。\n" * 9, "utf-8")
    report = run(other, out, only="text", overwrite=True)
    assert report.text is not None
    assert report.text.lines == 9
    assert sorted(path.name for path in (out / "work").glob("text*")) == ["text", "text.json"]


def test_a_text_that_was_edited_in_its_middle_is_another(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.pretrain.stages._END_BYTES", 100)
    out, said = tmp_path / "out", {"only": "vocabulary", "tokenizer": "characters"}
    run(corpus, out, **said)
    corpus.write_bytes(corpus.read_bytes())  # written anew, the same
    run(corpus, out, **said)
    corpus.write_text(
        corpus.read_text("utf-8").replace(LINES[16], LINES[16].replace("書庫", "洞窟")), "utf-8"
    )
    with pytest.raises(
        BadInput, match=r"work/text: was made with a different corpus; .*--overwrite"
    ):
        run(corpus, out, **said)
    run(corpus, out, **said, overwrite=True)
    assert "洞窟" in "".join(
        path.read_text("utf-8") for path in (out / "work" / "text").glob("*.txt")
    )
    assert run(corpus, out, **said).vocabulary


def test_prepared_text_of_another_language_is_refused(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "ja", only="text")
    prepared = tmp_path / "ja" / "work" / "text"
    with pytest.raises(
        BadInput, match="text: is prepared text in the language ja; pass --language ja"
    ):
        run(prepared, tmp_path / "ko", only="vocabulary", language="ko")
    (prepared / "corpus.json").write_text("{}")
    with pytest.raises(BadInput, match=r"corpus\.json: cannot be read \(.*; remove its folder"):
        run(prepared, tmp_path / "ko", only="vocabulary")
    (prepared / "train.txt").unlink()
    (prepared / "corpus.txt").write_text("\n".join(LINES), "utf-8")
    assert run(prepared, tmp_path / "other", only="text").text, (
        "a folder that has a corpus.json of its own"
    )


@pytest.mark.slow
def test_a_training_is_done_once_and_never_undone(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    corpus.write_text("\n\n".join(f"{n}冊目、{line}" for n in range(3) for line in LINES), "utf-8")
    run(corpus, out, only="pack")
    first = run(corpus, out, **TINY)
    before = {path.name: path.stat().st_ino for path in out.iterdir()}
    again = run(corpus, out, **TINY)
    assert msgspec.structs.replace(again, out="") == msgspec.structs.replace(first, out="")
    assert {path.name: path.stat().st_ino for path in out.iterdir()} == before
    for other in ({"steps": 3}, {"seed": 0, "licence": "mit"}):
        with pytest.raises(
            BadInput, match="out: contains a finished encoder; choose another --out"
        ):
            run(corpus, out, **{**TINY, **other})
    (out / "config.json").unlink()  # as if it had been killed before its end
    with pytest.raises(
        BadInput,
        match=r"work/state: is the state of a training run with other settings.*--overwrite to start over",
    ):
        run(corpus, out, **{**TINY, "steps": 3})
    for name in before.keys() - {"work"}:
        (out / name).unlink(missing_ok=True)
    assert run(corpus, out, **TINY).model == first.model
    shutil.rmtree(out / "work")
    with pytest.raises(BadInput, match="out: contains a finished encoder"):
        run(corpus, out, **TINY)
    assert not (out / "work").exists()


@pytest.mark.parametrize(
    ("between", "documents", "cure"),
    [
        ("\n", "1 document", "separate documents by blank lines"),
        ("\n\n", "24 documents", "pass another --seed"),
    ],
)
def test_that_nothing_was_held_out_is_told(
    corpus: Path, tmp_path: Path, between: str, documents: str, cure: str
) -> None:
    corpus.write_text(between.join(LINES[:24]), "utf-8")
    words = [
        str(corpus),
        "--language",
        "ja",
        "--tokenizer",
        "characters",
        "--only",
        "vocabulary",
        "--out",
        str(tmp_path / "out"),
    ]
    done = CliRunner().invoke(build("pretrain"), ["pretrain", *words])
    assert done.exit_code == 0, done.output
    assert (
        f"No document of {documents} was held out, so there is no loss on unseen text: {cure}"
        in done.stdout
    )
    assert "held-out text" not in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_while_a_vocabulary_is_written_is_told(corpus: Path, tmp_path: Path) -> None:
    import resource

    run(corpus, tmp_path / "out", only="text")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            run(corpus, tmp_path / "out", only="vocabulary")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(path.name for path in (tmp_path / "out" / "work").iterdir()) == [
        "text",
        "text.json",
    ]


def test_what_the_training_notes_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    model = {
        "parameters": 9,
        "steps": 1,
        "seconds": 2.0,
        "pieces_a_second": 3,
        "device": "processor",
    }
    show_stage("model", PretrainReport(out="here", model={**model, "notes": ["one step was made"]}))
    assert "Note: one step was made\n" in capsys.readouterr().out


def test_the_folder_of_an_encoder_is_no_text(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "a", only="text")
    with pytest.raises(
        BadInput,
        match=r"a: is the folder of an encoder, not a text; pass .*a/work/text to use its text",
    ):
        run(tmp_path / "a", tmp_path / "b", only="text")
    shutil.rmtree(tmp_path / "a" / "work")
    (tmp_path / "a" / "pretraining.json").write_text("{}")
    (tmp_path / "a" / "notes.txt").write_text("古い橋を渡った。\n", "utf-8")
    with pytest.raises(
        BadInput, match=r"a: is the folder of an encoder, not a text; pass the text it was made"
    ):
        run(tmp_path / "a", tmp_path / "b", only="text")
    assert not (tmp_path / "b").exists()


def test_a_data_folder_without_a_benchmark_is_told(corpus: Path, tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "data").mkdir()
    choices = PretrainOptions(language="ja", only="text", data=tmp_path / "data")
    pretrain([corpus], tmp_path / "out", choices, on_note=said.append)
    assert said == [
        f"{tmp_path / 'data'} contains no benchmark: the text is compared only with the benchmarks that come with nikawa"
    ]
    pretrain(
        [corpus],
        tmp_path / "other",
        PretrainOptions(language="ja", only="text"),
        on_note=said.append,
    )
    assert len(said) == 1
