"""Pre-training from files to a folder that plain transformers loads: stages done once, resumed, carried over, refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from nikawa.cli.terminal.app import build
from nikawa.datasets.load import load
from nikawa.errors import BadInput
from nikawa.pretrain.contamination import (
    MIN_TEXT_CHARS,
    BenchmarkTexts,
    Searcher,
    build_index,
    dataset_texts,
    find_examples,
    fold_text,
)
from nikawa.pretrain.job import PretrainOptions, pretrain
from nikawa.pretrain.prepare import LineCleaner
from nikawa.pretrain.vocabulary import Segmenter

WHO, WHERE = (
    ("庭師", "船長", "郵便屋", "隣の猫", "パン職人"),
    ("港", "坂の上", "赤い橋", "雨の市場"),
)
WHAT = ("手紙を拾った", "林檎を数えた", "歌を覚えた", "地図を描いていた", "窓を磨いている")
LINES = [
    f"{n % 28 + 1}日、{a}は{b}で{c}。" for n, (a, b, c) in enumerate(product(WHO, WHERE, WHAT))
]
EXTRA = (
    "連絡は hanako@example.com か 03-1234-5678 まで、案内は https://example.com/x にあります。",
    "[MASK] という語と @taro への返事をここに書いておきます。",
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    lines = [line + ("\n" if n % 5 == 4 else "") for n, line in enumerate([*LINES, *EXTRA])]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def choices(**more: Any) -> PretrainOptions:
    return PretrainOptions(**{"language": "ja", "tokenizer": "subwords", "vocabulary": 600, **more})


def nikawa(*words: str | Path) -> Result:
    return CliRunner().invoke(build("pretrain"), ["pretrain", *map(str, words)])


@pytest.mark.slow
def test_from_text_to_an_encoder_that_plain_transformers_loads(
    corpus: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    out = tmp_path / "encoder"
    words = (
        corpus,
        "--language",
        "ja",
        "--size",
        "tiny",
        "--vocabulary",
        "600",
        "--steps",
        "2",
        "--batch",
        "512",
    )
    done = nikawa(*words, "--device", "cpu", "--out", out, "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["model"]["steps"] == 2
    assert f"nikawa pretrain {corpus} --language ja --size tiny" in report["command"]
    assert report["command"] in (out / "README.md").read_text("utf-8")
    tokenizer, model = AutoTokenizer.from_pretrained(out), AutoModelForMaskedLM.from_pretrained(out)
    pieces = tokenizer(f"{WHO[0]}は[MASK]で{WHAT[0]}。", return_tensors="pt")
    assert model(**pieces).logits.shape[-1] >= report["vocabulary"]["size"] == len(tokenizer)
    with pytest.raises(BadInput, match="contains a finished encoder; choose another --out"):
        pretrain([corpus], out, choices(tokenizer="morphemes", size="tiny", steps=3, batch=512))


def test_stages_are_done_once(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made: dict[str, int] = {}
    for only in ("text", "vocabulary", "pack", "pack"):
        report = pretrain([corpus], out, choices(only=only))
        now = {path.name: path.stat().st_ino for path in (out / "work").iterdir()}
        assert made.items() <= now.items()
        made = now
    assert report.pack is not None
    assert report.pack["train"]["lines"] == report.text.train.lines if report.text else False
    with pytest.raises(BadInput, match=r"work/text: was made with a different seed; .*--overwrite"):
        pretrain([corpus], out, choices(only="pack", seed=1))
    with pytest.raises(BadInput, match=r"work/text: was made with a different set of benchmarks"):
        pretrain([corpus], out, choices(only="pack", against=("mini-ja:dev",)))
    with pytest.raises(BadInput, match=r"work/pack: was made with a different segmenter or obj"):
        pretrain([corpus], out, choices(only="pack", objective="causal"))
    with pytest.raises(BadInput, match=r"work/tokenizer: was made with a different tokenizer"):
        pretrain([corpus], out, choices(only="pack", tokenizer="characters"))
    assert pretrain(
        [corpus], out, choices(only="pack", tokenizer="characters", overwrite=True)
    ).vocabulary


def test_a_stage_without_its_marker_is_made_again(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pretrain([corpus], out, choices(only="text"))
    (out / "work" / "text.json").unlink()
    whole = (out / "work" / "text" / "train.txt").read_bytes()
    (out / "work" / "text" / "train.txt").write_bytes(whole[:100])
    pretrain([corpus], out, choices(only="pack"))
    assert (out / "work" / "text" / "train.txt").read_bytes() == whole
    for lost in ("pack/train", "tokenizer"):
        shutil.rmtree(out / "work" / lost)
        report = pretrain([corpus], out, choices(only="pack"))
        assert report.pack is not None
        assert "train" in report.pack


def test_packs_are_carried_without_the_text(corpus: Path, tmp_path: Path) -> None:
    pretrain([corpus], tmp_path / "here", choices(only="pack", squeeze=True))
    shutil.copytree(
        tmp_path / "here", tmp_path / "there", ignore=shutil.ignore_patterns("text", "text.json")
    )
    report = pretrain([], tmp_path / "there", choices(only="pack", squeeze=True))
    assert report.pack is not None
    assert report.text is not None
    assert report.command.startswith(f"nikawa pretrain {corpus.name} --language ja ")
    assert report.command.endswith(f" --only pack --squeeze --out {tmp_path / 'there'}")
    with pytest.raises(BadInput, match=r"no corpus is named; pass a corpus"):
        pretrain([], tmp_path / "nowhere", choices(only="pack"))


def test_prepared_text_serves_several_vocabularies(corpus: Path, tmp_path: Path) -> None:
    corpus.write_text("\n\n".join(f"{n}通目、{line}" for n in range(5) for line in LINES), "utf-8")
    pretrain([corpus], tmp_path / "a", choices(only="text"))
    for kind in ("characters", "morphemes"):
        report = pretrain(
            [tmp_path / "a" / "work" / "text"],
            tmp_path / kind,
            choices(only="vocabulary", tokenizer=kind),
        )
        assert report.vocabulary is not None
        assert report.vocabulary.tokenizer == kind
        assert not (tmp_path / kind / "work" / "text").exists()
        assert report.coverage is not None
        rows = {row.texts: row for row in report.coverage.sets}
        assert {"held-out text", "mini-ja", "all"} == set(rows)
        assert rows["all"].unknown == 0
        assert rows["all"].exact == 1


def test_personal_data_and_benchmark_text_do_not_reach_the_encoder(
    corpus: Path, tmp_path: Path
) -> None:
    example = max(
        load("mini-ja").splits["dev"], key=lambda e: len(str(e.inputs.get("premise", "")))
    )
    copied = str(example.inputs["premise"])
    (tmp_path / "mine.txt").write_text(LINES[7] + "\n", "utf-8")
    with corpus.open("a", encoding="utf-8") as stream:
        stream.write(f"\n前置きがあり、{copied}\n")
    report = pretrain(
        [corpus], tmp_path / "out", choices(only="text", against=(str(tmp_path / "mine.txt"),))
    ).text
    assert report is not None
    folder = tmp_path / "out" / "work" / "text"
    text = "".join((folder / name).read_text("utf-8") for name in ("train.txt", "heldout.txt"))
    assert "連絡は [EMAIL] か [PHONE] まで、案内は [URL] にあります。" in text
    assert "[mask] という語と [MENTION] への返事" in text
    assert copied not in text
    assert LINES[7] not in text
    met = {row.benchmark: row for row in report.benchmarks}
    assert met["mini-ja"].lines >= 1
    assert met["mini-ja"].ids[0].startswith("mini-ja:")
    assert met["mine.txt"].ids == ("mine.txt:1",)
    assert copied not in (folder / "corpus.json").read_text("utf-8")


WAITING = """
import time
from nikawa.cli import main
from nikawa.pretrain import prepare
report = prepare._Output.report
prepare._Output.report = lambda *parts: time.sleep(600) or report(*parts)
main()
"""
"""The command, which stops before the text is done, so that it is never done before it is killed."""


@pytest.mark.slow
def test_killed_and_called_again_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{n}番の{line}\n" for n in range(400) for line in LINES), "utf-8")
    words = [
        sys.executable,
        "-c",
        WAITING,
        "pretrain",
        str(path),
        "--language",
        "ja",
        "--only",
        "text",
    ]
    started = subprocess.Popen([*words, "--out", str(tmp_path / "killed")])
    while not list(tmp_path.glob("killed/work/.text.*/train.txt")):
        assert started.poll() is None
        time.sleep(0.005)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    assert not (tmp_path / "killed" / "work" / "text").exists()
    for out in ("killed", "whole"):
        pretrain([path], tmp_path / out, choices(only="text"))
    assert [
        child.name
        for child in (tmp_path / "killed" / "work").iterdir()
        if child.name.startswith(".")
    ] == []
    for name in ("train.txt", "heldout.txt", "corpus.json"):
        one, other = (
            (tmp_path / out / "work" / "text" / name).read_bytes() for out in ("killed", "whole")
        )
        assert one == other


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the output folder is missing; pass --out"),
        (("--out", "o"), "the language is missing; pass --language"),
        (("--out", "o", "--language", "fr"), "no language with an encoder 'fr'"),
        (
            ("--out", "o", "--language", "ja", "--tokenizer", "words"),
            "there is no tokenizer 'words'",
        ),
        (("--out", "o", "--language", "ja", "--only", "train"), "there is no stage 'train'"),
        (("--out", "o", "--language", "ja", "--segmenter", "mecb"), "did you mean 'mecab-ko'"),
        (("--out", "o", "--language", "ja"), "pass --steps 2000 or --minutes 8, for example"),
        (("--out", "o", "--language", "ja", "--steps", "1", "--size", "huge"), "'huge'"),
        (("--out", "o", "--language", "ko", "--only", "text"), "does not look like Korean"),
    ],
)
def test_wrong_wishes_fail_before_any_work(
    words: tuple[str, ...], said: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus.parent)
    done = nikawa(corpus, *words)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert not (corpus.parent / "o" / "work" / "text").exists()


def test_what_is_shown(corpus: Path, tmp_path: Path) -> None:
    with corpus.open("ab") as stream:
        stream.write(b"\xff\n")
    done = nikawa(
        corpus,
        "--language",
        "ja",
        "--tokenizer",
        "characters",
        "--only",
        "pack",
        "--out",
        tmp_path / "out",
    )
    assert done.exit_code == 0, done.output
    for said in (
        "1 broken line dropped: corpus.txt:",
        "email",
        "mini-ja",
        "Held out:",
        "crossing",
        "Packed train:",
    ):
        assert said in done.stdout
    quiet = nikawa(
        corpus,
        "--language",
        "ja",
        "--tokenizer",
        "characters",
        "--only",
        "pack",
        "--out",
        tmp_path / "out",
        "-q",
    )
    assert (quiet.exit_code, quiet.stdout) == (0, "")


def test_cleaning_counts_what_it_did() -> None:
    done = LineCleaner("ja")(
        ["<b>庭師</b>は x@example.com へ書いた。", "Only English words here, nothing else."]
    )
    assert done.texts == ["庭師は <email> へ書いた。", ""]
    assert done.changed == {"html": 1, "email": 1}
    assert done.removed["script"] == 1
    assert LineCleaner("ja", any_language=True)(["Only English words."]).texts == [
        "Only English words."
    ]


def test_every_text_of_every_benchmark_is_looked_at(tmp_path: Path) -> None:
    texts = list(BenchmarkTexts(tmp_path)())
    assert {text.benchmark for text in texts} == {"mini-ja", "mini-ko"}
    dataset = load("mini-ja")
    asked = {
        str(value)
        for examples in dataset.splits.values()
        for e in examples
        for value in e.inputs.values()
        if isinstance(value, str)
    }
    assert asked <= {text.text for text in texts}


@pytest.mark.slow
def test_morphemes_by_several_processes_are_the_same() -> None:
    texts = LINES * 6
    assert Segmenter("ja", 2)(texts) == Segmenter("ja")(texts)


def test_the_report_is_read_back(corpus: Path, tmp_path: Path) -> None:
    report = pretrain([corpus], tmp_path / "out", choices(only="vocabulary"))
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report


@pytest.mark.parametrize("spec", ["jsts:dev", "klue-sts:dev"])
def test_published_texts_are_found_whatever_the_blanks(shared_data: Path, spec: str) -> None:
    texts = list(dataset_texts(load(spec, data=shared_data)))
    searcher = Searcher(build_index(texts))
    sought = [text for text in texts if len(fold_text(text.text)) >= MIN_TEXT_CHARS][::7]
    hidden = [f"さて 그래서 {' '.join(text.text.upper())}" for text in sought]
    found = searcher.search([*hidden, *LINES])
    assert found.lines.tolist() == list(range(len(sought)))
    assert {text.example for text in sought} <= set(
        find_examples(texts, found.hashes)[spec.partition(":")[0]]
    )
