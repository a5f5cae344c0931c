"""`nikawa templates review`: a sheet goes out with scores, decisions come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.generation.job import GenerateOptions, generate
from nikawa.generation.pack import open_pack
from nikawa.generation.review import ProblemScorer, apply_review, export_review
from nikawa.io.folders import write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("review") / "made"
    generate("temporal-ja", path, options=GenerateOptions(counts={"": 1, "test": 1}))
    return path


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(build(), ["templates", "review", *words])
    return done.exit_code, done.output


@pytest.mark.slow
def test_there_and_back(folder: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    report = export_review(str(folder), sheet, most=30)
    assert report.rows == 30
    assert report.scored > 1400
    head, *rows = sheet.read_text("utf-8").splitlines()
    assert head.split("\t") == ["id", "premise", "hypothesis", "score", "decision", "reason"]
    scores = [float(row.split("\t")[3]) for row in rows]
    assert scores == sorted(scores)
    assert scores[0] > 0
    decided = [[*row.split("\t")[:4], "keep", ""] for row in rows[:20]]
    decided += [[*row.split("\t")[:4], "drop", "semantically unnatural"] for row in rows[20:23]]
    sheet.write_text(
        "\n".join(["\t".join(cells) for cells in [head.split("\t"), *decided]]) + "\n", "utf-8"
    )
    taken = apply_review(str(folder), sheet, out=tmp_path / "out")
    assert (taken.rows, taken.kept, taken.dropped) == (23, 20, 3)
    assert taken.reasons == {"semantically unnatural": 3}
    assert sum(taken.templates.values()) == 3
    before, after = load(str(folder)), load(str(tmp_path / "out"))
    assert len(before) - len(after) == 3
    assert after.card.problems[-1] == "3 problems were dropped in a review."
    status, output = run(str(folder), "--import", str(sheet), "--json")
    assert status == 0
    assert json.loads(output)["dropped"] == 3


@pytest.mark.slow
def test_what_is_odd_comes_first(folder: Path) -> None:
    score = ProblemScorer(open_pack("temporal-ja@1"))
    example = load(str(folder)).splits["train"][0]
    example = replace(example, meta={**example.meta, "template": "done-1"})
    natural = replace(
        example,
        inputs={"premise": "健太は3時間以内に手紙を読んだ。", "hypothesis": "健太は手紙を読んだ。"},
    )
    odd = replace(
        example,
        inputs={
            "premise": "健太は3時間以内に冷蔵庫を読んだ。",
            "hypothesis": "健太は冷蔵庫を読んだ。",
        },
    )
    unread = replace(example, inputs={"premise": "灯台が光る。", "hypothesis": "灯台が光る。"})
    assert (score(natural) or 0) > (score(odd) or 0)
    assert score(unread) is None
    assert score(replace(example, meta={})) is None


@pytest.mark.slow
def test_refusals(folder: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text("id\tdecision\treason\ntrain/none-1\tkeep\t\n", "utf-8")
    with pytest.raises(BadInput, match="temporal-ja has no 'train/none-1'"):
        apply_review(str(folder), sheet)
    assert run(str(folder))[0] != 0
    assert run(str(folder), "--export", str(sheet), "--import", str(sheet))[0] != 0


@pytest.mark.slow
def test_data_of_no_pack_is_exported_without_scores(folder: Path, tmp_path: Path) -> None:
    dataset = load(str(folder))
    bare = tuple(replace(e, origin=None) for e in dataset.splits["test"][:3])
    write_folder(replace(dataset, splits={"test": bare}), tmp_path / "bare")
    report = export_review(str(tmp_path / "bare"), tmp_path / "sheet.tsv")
    assert (report.rows, report.scored) == (3, 0)
    status, output = run(
        str(tmp_path / "bare"), "--export", str(tmp_path / "sheet2.tsv"), "--pack", "temporal-ja"
    )
    assert status == 0
    assert "3 were scored" in output
