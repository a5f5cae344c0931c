"""A tiny model on this machine judges under the schema of a form."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.models.lm.checkpoints import CHAT_TEMPLATE, save_checkpoint

from nikawa.judging.job import JudgeOptions, JudgeReport, judge
from nikawa.records import Judgement


def run(project: Path, model: Path, out: Path, **settings: object) -> JudgeReport:
    given = {"max_length": 2048, "max_tokens": 24, **settings}
    return judge(str(project), f"lm:{model}", out, JudgeOptions(copies=2, tries=1, settings=given))


def test_a_local_model_answers_within_the_schema(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("llguidance")
    model = save_checkpoint(tmp_path / "tiny", "qwen", CHAT_TEMPLATE)
    report = run(project, model, tmp_path / "out")
    body = (tmp_path / "out/judgements.jsonl").read_bytes()
    rows = [msgspec.json.decode(line, type=Judgement) for line in body.splitlines()]
    assert {row.worker for row in rows} == {"model:tiny#1", "model:tiny#2"}
    assert {row.answer for row in rows} <= {"entailment", "contradiction", "neutral"}
    assert report.judgements == len(rows) == 24
    assert report.without_answer == {}
    kept = (tmp_path / "out/cache/items.jsonl").read_bytes()
    (tmp_path / "out/judgements.jsonl").unlink()
    run(project, model, tmp_path / "out")
    assert (tmp_path / "out/judgements.jsonl").read_bytes() == body
    assert (tmp_path / "out/cache/items.jsonl").read_bytes() == kept
    run(project, model, tmp_path / "again")
    assert (tmp_path / "again/judgements.jsonl").read_bytes() == body
    short = run(project, model, tmp_path / "short", max_length=100)
    assert list(short.without_answer) == ["too long"]
