"""Runs, analyses and reports of files from elsewhere write nothing outside their folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.analysis.results import read_analyses
from nikawa.errors import BadInput
from nikawa.reporting.page import write_report
from nikawa.reporting.page_data import Page
from nikawa.runs.records import EvaluationProtocol, RunSpec
from nikawa.runs.store import StoredRun

Nikawa = Callable[..., CompletedProcess[str]]

OWN_DATA = Path(__file__).parents[1] / "compat" / "material" / "own-data"


def spec_of(task: str) -> RunSpec:
    protocol = EvaluationProtocol(kind="standard", evaluate=("x:test",))
    return RunSpec(task=task, predictor="majority", seed=0, protocol=protocol, data=())


@pytest.mark.parametrize("task", ["../../x", "a/b", "/x", "..", "x\0", "長" * 100, "a\u202eb"])
def test_the_folder_of_a_run_is_one_name(task: str) -> None:
    folder = spec_of(task).folder
    assert Path(folder).name == folder
    assert len(folder.encode()) <= 255
    assert folder.isprintable()
    assert folder.endswith(f"--majority--{spec_of(task).hash}")


@pytest.mark.parametrize("task", ["jnli", "own-データ", "長" * 60, "a b", "aux"])
def test_the_folders_of_earlier_runs_keep_their_names(task: str) -> None:
    assert spec_of(task).folder == f"{task}--majority--{spec_of(task).hash}"


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "predictions",
        "predictions/dev.jsonl",
        "state",
        "state/model/replies.jsonl",
        "lock",
    ],
)
def test_links_of_a_run_lead_nowhere(name: str, tmp_path: Path) -> None:
    run, elsewhere = StoredRun(tmp_path / "run"), tmp_path / "elsewhere"
    (run.path / name).parent.mkdir(parents=True)
    (run.path / name).symlink_to(elsewhere)
    with pytest.raises(BadInput, match="leads out of the output folder"), run.locked():
        pass
    assert not elsewhere.exists()


@pytest.mark.parametrize("name", ["../x", "..", "a/b", "x\0"])
def test_a_set_is_one_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"set .* cannot be a file name"):
        StoredRun(tmp_path / "run").write_answers(name, [])
    assert not list(tmp_path.rglob("*"))


def test_a_split_that_cannot_be_answered_is_refused_before_the_work(
    tmp_path: Path, nikawa: Nikawa
) -> None:
    data = tmp_path / "data"
    shutil.copytree(OWN_DATA, data)
    shutil.copy(data / "dev.jsonl", data / "CON.jsonl")
    out = tmp_path / "runs"
    result = nikawa("run", "--model", "majority", "--tasks", str(data), "--out", str(out))
    assert result.returncode == 2
    assert f"{data}: split 'CON' cannot be a file name" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("name", ["../../x.json", "/x.json", "a/../../../x.json", "x\0"])
@pytest.mark.parametrize("field", ["analyses", "across"])
def test_an_index_of_analyses_names_files_of_its_folder(
    field: str, name: str, tmp_path: Path
) -> None:
    index = {"analyses": [], "left_out": {}, "command": "", "across": "across.json"}
    (tmp_path / "index.json").write_text(
        json.dumps({**index, field: [name] if field == "analyses" else name})
    )
    with pytest.raises(BadInput, match=r"cannot be the name of a file; correct the name"):
        read_analyses(tmp_path)


def test_a_report_writes_no_further_file_elsewhere(tmp_path: Path) -> None:
    page = Page(
        title="x", version="1", systems=(), sections=(), runs=(), commands=(), rounds=1, tests=0
    )
    with pytest.raises(BadInput, match="cannot be the name of a file"):
        write_report(tmp_path / "report", page, {}, extra={"../x.json": b"1"})
    assert not list(tmp_path.iterdir())
