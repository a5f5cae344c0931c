"""Found by the fuzzer: an error about what a file holds names the file, wherever it is noticed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nikawa.errors import BadInput, name_faulty_file
from nikawa.generation.pack import load_pack
from nikawa.generation.review import ProblemScorer
from nikawa.records import Example
from nikawa.runs.request import read_preset

PACK = Path(__file__).parents[1] / "compat" / "material" / "my-pack"
Nikawa = Callable[..., CompletedProcess[str]]
SPAN = [{"start": 0, "end": "x", "label": "PS"}]
SIMS = [{"id": str(n), "inputs": {"text": "猫"}, "gold": {"score": 1.0}} for n in range(9)]
HUMAN = ("--question", "label", "--human", "--task", "mini-ja-nli")


def _write(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _judge(*answers: Any) -> list[dict[str, Any]]:
    return [
        {"example": "p1", "worker": f"w{n}", "question": "label", "answer": answer}
        for n, answer in enumerate(answers)
    ]


def test_a_file_is_named_once() -> None:
    with pytest.raises(BadInput, match=r"^a\.jsonl: is odd$"), name_faulty_file("a.jsonl"):
        raise BadInput("is odd")
    with pytest.raises(BadInput, match=r"^b\.jsonl: is odd$"), name_faulty_file("a.jsonl"):
        raise BadInput("is odd", file="b.jsonl")
    with pytest.raises(BadInput, match=r"^is odd$"), name_faulty_file(None):
        raise BadInput("is odd")


@pytest.mark.parametrize(
    ("rows", "before", "after", "said"),
    [
        (
            [{"id": "1", "inputs": {"text": "猫が眠る。"}}],
            ("pair", "same-image"),
            (),
            "sentence '1' has no image or image_id",
        ),
        (
            SIMS,
            ("split",),
            ("--by", "flat", "--question", "score", "--sizes", "rest,2,2"),
            "is not a pair of texts",
        ),
        (_judge(SPAN, SPAN), ("agree",), (), "worker w0 marks characters 0 to 'x'"),
        (_judge("a", "b"), ("agree",), ("--question", "score"), "there is no answer to 'score'"),
        (
            _judge([], "neutral", "neutral"),
            ("aggregate",),
            HUMAN,
            "the answers about 'p1' are of another kind than the task's",
        ),
        (_judge("a", "b")[:1], ("aggregate",), HUMAN, "no item has two answers"),
    ],
)
def test_the_file_is_named(
    tmp_path: Path, nikawa: Nikawa, rows: Any, before: Any, after: Any, said: str
) -> None:
    path = tmp_path / "odd.jsonl"
    _write(path, rows)
    done = nikawa(*before, str(path), *after)
    assert done.returncode == 2
    assert done.stderr.startswith(f"nikawa: {path}: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_decision_for_an_answer_that_nobody_gave(tmp_path: Path, nikawa: Nikawa) -> None:
    _write(tmp_path / "ties.jsonl", _judge("a", "b"))
    sheet = tmp_path / "decided.tsv"
    sheet.write_text("example\tquestion\tanswer\np1\tlabel\tc\n")
    words = ("aggregate", str(tmp_path / "ties.jsonl"), "--rule", "majority")
    done = nikawa(*words, "--adjudicated", str(sheet))
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"nikawa: {sheet}: the adjudicated answer 'c' is not an answer that"
    )


def test_an_answer_given_twice_in_a_folder_of_files(tmp_path: Path, nikawa: Nikawa) -> None:
    rows = [{"example": "p1", "label": ["yes"]}, {"example": "p2", "label": ["no"]}]
    _write(tmp_path / "export" / "ann.jsonl", rows)
    _write(tmp_path / "export" / "bob.jsonl", [*rows, rows[0]])
    done = nikawa("agree", str(tmp_path / "export"))
    said = "bob.jsonl, line 3: worker bob answers 'label' twice about p1 (first on line 1)"
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "text", ["seeds = 0", f"seeds = {10**30}", "seeds = 1001", "shares = [nan]", "shots = -1"]
)
def test_a_preset_out_of_range(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"own\.toml: is not a preset"):
        read_preset(str(path))


def test_a_setting_of_a_preset_that_no_model_has(tmp_path: Path, nikawa: Nikawa) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[settings]\nodd = 1\n")
    words = ("run", "--model", "majority", "--tasks", "mini-ja-nli", "--preset", str(path))
    done = nikawa(*words, "--out", str(tmp_path / "runs"))
    assert done.returncode == 2
    assert "own.toml: none of the models has the setting 'odd'" in done.stderr


def test_examples_that_are_not_there_are_the_first_thing_to_say(
    tmp_path: Path, nikawa: Nikawa
) -> None:
    (tmp_path / "tasks.jsonl").symlink_to("nowhere")
    done = nikawa(
        "collect", "new", str(tmp_path / "p"), "--examples", str(tmp_path / "tasks.jsonl")
    )
    assert done.returncode == 2
    assert "tasks.jsonl" in done.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("table", ["items", "meta"])
def test_a_damaged_database_of_a_project(tmp_path: Path, nikawa: Nikawa, table: str) -> None:
    pytest.importorskip("argon2")
    _write(tmp_path / "pairs.jsonl", [{"id": "1", "inputs": {"premise": "a", "hypothesis": "b"}}])
    project = str(tmp_path / "p")
    words = ("--examples", str(tmp_path / "pairs.jsonl"), "--form", "inference", "--quiet")
    key = {"NIKAWA_OWNER_KEY": str(tmp_path / "owner.key")}
    made = nikawa("collect", "new", project, *words, **key)
    assert made.returncode == 0, made.stderr
    with closing(sqlite3.connect(tmp_path / "p" / "collect.db")) as base:
        base.execute(f"DROP TABLE {table}")
        base.commit()
    done = nikawa("collect", "export", project, "--out", str(tmp_path / "out.jsonl"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"nikawa: {tmp_path / 'p' / 'collect.db'}: cannot be used: ")
    assert "restore a backup" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_lexicon_that_is_not_there(tmp_path: Path, nikawa: Nikawa) -> None:
    (tmp_path / "templates.txt").write_bytes((PACK / "templates.txt").read_bytes())
    head = (PACK / "pack.toml").read_text("utf-8").replace('lexicon = "ja"', 'lexicon = "zz"')
    (tmp_path / "pack.toml").write_text(head, "utf-8")
    done = nikawa("generate", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"nikawa: {tmp_path / 'pack.toml'}: there is no lexicon 'zz'")


def test_a_problem_without_a_hypothesis_has_no_plausibility() -> None:
    pack = load_pack("temporal-ja")
    inputs = {"premise": "猫が眠る。"}
    example = Example(id="1", inputs=inputs, meta={"template": pack.templates[0].id})
    assert ProblemScorer(pack)(example) is None


def test_a_known_answer_that_is_a_list(tmp_path: Path, nikawa: Nikawa) -> None:
    sheet, known = tmp_path / "judged.jsonl", tmp_path / "known.jsonl"
    _write(sheet, _judge("yes", "yes", "no"))
    _write(known, [{"id": "p1", "inputs": {"text": "猫"}, "gold": {"label": ["yes"]}}])
    result = nikawa("aggregate", str(sheet), "--workers", "--known", str(known))
    assert result.returncode == 2
    assert f"{known}: the known answer to 'p1' is a list" in result.stderr


def test_answers_of_which_only_some_are_spans(tmp_path: Path, nikawa: Nikawa) -> None:
    sheet = tmp_path / "judged.jsonl"
    _write(sheet, _judge([{"start": 0, "end": 1, "label": "PS"}], "none"))
    result = nikawa("agree", str(sheet))
    assert result.returncode == 2
    assert f"{sheet}: some answers to 'label' are spans" in result.stderr


def test_a_corpus_that_is_a_link_to_itself(tmp_path: Path, nikawa: Nikawa) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.symlink_to(corpus)
    out = str(tmp_path / "out")
    result = nikawa("pretrain", str(corpus), "--language", "ja", "--steps", "1", "--out", out)
    assert result.returncode == 2
    assert "corpus.txt" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_run_that_names_a_file_elsewhere(tmp_path: Path, nikawa: Nikawa) -> None:
    runs = tmp_path / "runs"
    words = ("run", "--model", "majority", "--tasks", "mini-ja-nli", "--out", str(runs))
    assert nikawa(*words).returncode == 0
    [done] = runs.glob("*/done.json")
    done.write_text(done.read_text("utf-8").replace('"scores.json"', '"/x"'), "utf-8")
    result = nikawa("analyse", str(done.parent), "--out", str(tmp_path / "analyses"))
    assert result.returncode == 2
    assert "done.json: names '/x', which is not a file of the run" in result.stderr
