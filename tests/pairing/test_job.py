"""`nikawa pair`: files in, files out, counts that add up."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unicodedata import normalize

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.io.records import read_examples, write_records
from nikawa.pairing import METHODS
from nikawa.pairing.job import PairOptions, pair
from nikawa.records import Example

LINES = [
    "赤い 船 が 港 に 着く",
    "赤い 船 が 港 を 出る",
    "庭 で 猫 が 眠る",
    "",
    "庭 で 犬 が 眠る",
    "明日 は 晴れ",
]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", "utf-8")
    return path


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.jsonl"
    write_records(
        path,
        [
            Example(
                id=f"c{i}",
                inputs={"text": f"絵{i}の説明"},
                meta={
                    "image": f"m{i // 2}",
                    "intent": f"n{i // 3}",
                    "topic": "weather",
                    "licence": "CC0",
                },
            )
            for i in range(6)
        ],
    )
    return path


@pytest.mark.parametrize("method", ["greedy", "greedy-global"])
@pytest.mark.parametrize("units", ["words", "characters", "ja"])
def test_greedy(method: str, units: str, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    report = pair(method, text, options=PairOptions(units=units, rouge="1", out=out))
    found = list(read_examples(out))
    assert (report.sentences, report.pairs, report.left) == (5, 2, 1) == (5, len(found), 1)
    assert report.mean == pytest.approx(sum(e.meta["rouge"] for e in found) / 2)
    assert found[0].origin is not None
    assert all(parent.startswith("lines.txt/") for parent in found[0].origin.parents)
    assert found[0].gold == {}


def test_the_lines_are_named_by_number(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    pair("greedy-global", text, options=PairOptions(out=out))
    parents = [e.origin.parents for e in read_examples(out) if e.origin]
    assert parents == [("lines.txt/3", "lines.txt/5"), ("lines.txt/1", "lines.txt/2")]


def test_same_and_different_image(captions: Path, tmp_path: Path) -> None:
    assert pair("same-image", captions).pairs == 3
    assert pair("different-image", captions).pairs == 3
    assert pair("same-intent", captions, options=PairOptions(most=2)).pairs == 4
    out = tmp_path / "out.jsonl"
    assert (
        pair("different-intent", captions, options=PairOptions(within="topic", out=out)).pairs == 3
    )
    kept = next(read_examples(out)).meta
    assert (kept["licence"], kept["topic"], "intent" in kept) == ("CC0", "weather", False)


def test_round_trip_drops_what_comes_back_unchanged(text: Path, tmp_path: Path) -> None:
    script = tmp_path / "t.py"
    script.write_text(
        "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read().replace('猫'.encode(), '子猫'.encode()))"
    )
    out = tmp_path / "out.jsonl"
    report = pair(
        "round-trip",
        text,
        options=PairOptions(translators=(f"{sys.executable} {script}",), out=out),
    )
    assert (report.pairs, report.left, report.mean) == (1, 4, None)
    assert next(read_examples(out)).inputs == {
        "sentence1": "庭 で 猫 が 眠る",
        "sentence2": "庭 で 子猫 が 眠る",
    }


def test_bad_input(text: Path, captions: Path, tmp_path: Path) -> None:
    for method, path, options, said in (
        ("gredy", text, PairOptions(), "did you mean 'greedy'"),
        ("greedy", text, PairOptions(rouge="3"), "no ROUGE '3'"),
        ("greedy", text, PairOptions(units="jaa"), "no analyser"),
        ("same-image", text, PairOptions(), "has no image"),
        ("same-image", captions, PairOptions(field="picture"), "has no picture"),
        ("round-trip", text, PairOptions(), "no translator"),
        ("greedy", tmp_path / "none.txt", PairOptions(), "no such file"),
        ("greedy", text, PairOptions(out=text), "already exists"),
    ):
        with pytest.raises(BadInput, match=said):
            pair(method, path, options=options)


def test_a_record_without_text(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write_records(path, [Example(id="1", inputs={"question": "何か"})])
    with pytest.raises(BadInput, match="contains no text"):
        pair("greedy", path)


def test_the_command(text: Path, tmp_path: Path) -> None:
    runner, app = CliRunner(), build()
    assert set(json.loads(runner.invoke(app, ["pair", "--json"]).stdout)) == set(METHODS)
    shown = runner.invoke(app, ["pair", "greedy", str(text), "--out", str(tmp_path / "p.jsonl")])
    assert "2 pairs written" in shown.stdout
    told = json.loads(runner.invoke(app, ["pair", "greedy", str(text), "--json"]).stdout)
    assert told["pairs"] == 2
    assert runner.invoke(app, ["pair", "greedy"]).exit_code != 0


@pytest.mark.parametrize("method", ["greedy", "greedy-global"])
def test_a_sentence_is_not_paired_with_itself(method: str, tmp_path: Path) -> None:
    path, out = tmp_path / "lines.txt", tmp_path / "pairs.jsonl"
    apart = normalize("NFD", "감 나무 가 있다")
    path.write_text(
        f"감 나무 가 있다\n{apart}\n감  나무 가 있다\n감 나무 가 없다\n배 나무 가 없다\n", "utf-8"
    )
    report = pair(method, path, options=PairOptions(out=out))
    found = [example.inputs for example in read_examples(out)]
    assert (report.sentences, report.pairs, report.paired, report.left, report.repeated) == (
        5,
        1,
        2,
        1,
        2,
    )
    assert all(inputs["sentence1"] != inputs["sentence2"] for inputs in found)
    assert report.notes == ("2 sentences were skipped because they repeat another one",)


def test_two_equal_captions_are_no_pair(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    texts = ("海だ", "海だ", "山だ", "川だ")
    write_records(
        path,
        [
            Example(id=str(i), inputs={"text": t}, meta={"image": str(i // 2)})
            for i, t in enumerate(texts)
        ],
    )
    report = pair("same-image", path)
    assert (report.pairs, report.repeated) == (1, 1)
    assert report.notes == ("1 pairs were skipped because both sentences are the same",)


def test_what_was_taken_and_what_shares_nothing_is_told(tmp_path: Path) -> None:
    path, out = tmp_path / "nli.jsonl", tmp_path / "pairs.jsonl"
    write_records(
        path,
        [
            Example(
                id=str(i),
                inputs={"premise": f"{i}番の船が着いた。", "hypothesis": "船だ。"},
                meta={"start": 0, "end": 9, "source": "port"},
            )
            for i in range(6)
        ],
    )
    report = pair("greedy", path, options=PairOptions(out=out))
    assert report.mean == 0
    taken, nothing = report.notes
    assert taken == "in 6 records premise was used as the sentence, not hypothesis"
    assert nothing.startswith("3 of 3 pairs share no unit")
    assert "--units characters" in nothing
    assert all(set(e.meta) == {"source", "pairing", "rouge"} for e in read_examples(out))
    assert pair("greedy", path, options=PairOptions(units="characters")).notes == (taken,)
    said = CliRunner().invoke(build(), ["pair", "greedy", str(path)])
    assert nothing in said.output.replace("\n", " ")
