"""A training that diverges in a choice is written down, told, never chosen and not repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, get_args

import msgspec
import pytest
from studies._tables import grid_table

from nikawa.models import Model, models
from nikawa.models.base import Diverged, Setup
from nikawa.records import Example, Kind, Prediction, Task
from nikawa.reporting.job import ReportOptions, report
from nikawa.runs import stored_runs
from nikawa.runs.job import RunOptions, RunReport, RunRequest, run
from nikawa.runs.manage import list_runs
from nikawa.runs.summary import SelectionScores, find_best_settings

Nikawa = Callable[..., CompletedProcess[str]]


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """Above 1 it diverges, above 2 its scores alone are no numbers, at 1 it diverges with seed 1."""

    rate: float = 0.1


class Steep:
    """Answers the first label, or 1 and 2 in turn."""

    name = "steep"
    fits = 0

    def __init__(self, setup: Setup) -> None:
        self.rate, self.seed = msgspec.convert(dict(setup.settings), Rate).rate, setup.seed

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn nothing, or diverge."""
        Steep.fits += 1
        if 1 < self.rate <= 2 or (self.rate == 1 and self.seed == 1):
            raise Diverged("the weights are no numbers", cure="set a smaller rate")

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """An answer each, unless it diverged."""
        if self.rate > 2:
            return [Prediction(example=e.id, why="diverged: no number") for e in examples]
        answers: list[Any] = [task.labels[0]] * 2 if task.labels else [1.0, 2.0]
        return [Prediction(example=e.id, answer=answers[i % 2]) for i, e in enumerate(examples)]

    def about(self) -> dict[str, Any]:
        """How it went."""
        return {"history": [{"step": 1, "loss": self.rate}]}


@pytest.fixture(autouse=True)
def _steep() -> Iterator[None]:
    models().add("steep", Model("steep", "a steep one", get_args(Kind), Steep, Rate))
    Steep.fits = 0
    yield
    del models()._things["steep"]


def swept(
    out: Path, *rates: float, task: str = "mini-ja-nli", seeds: tuple[int, ...] = (0, 1)
) -> RunReport:
    request = RunRequest((task,), ("steep",), seeds, grid={"rate": rates})
    return run(request, RunOptions(out=out, workers=1))


@pytest.mark.parametrize("rate", [1.5, 3.0])
@pytest.mark.parametrize("task", ["mini-ja-nli", "mini-ja-sts"])
def test_it_is_done_without_a_score_and_not_repeated(
    tmp_path: Path, rate: float, task: str
) -> None:
    told = swept(tmp_path, rate, 0.5, task=task)
    (chosen,) = told.chosen
    assert (chosen.settings, chosen.diverged, told.problems) == (
        {"rate": 0.5},
        ({"rate": rate},),
        (),
    )
    assert (told.done, Steep.fits) == (6, 6)
    again = swept(tmp_path, rate, 0.5, task=task)
    assert (again.done, again.skipped, again.chosen, Steep.fits) == (0, 6, told.chosen, 6)
    states = {(r.stage, r.state): r.value for r in list_runs(tmp_path) if r.seed == 0}
    assert set(states) == {("selection", "diverged"), ("selection", "done"), ("result", "done")}
    assert states["selection", "diverged"] is None


def test_what_is_stored_reads_as_any_run(tmp_path: Path) -> None:
    swept(tmp_path, 1.5, 0.5, seeds=(0,))
    (stored,) = [found for found in stored_runs(tmp_path) if found.diverged]
    stored.check()
    (part,) = stored.scores()
    assert (part.set, part.answered, part.unanswered) == ("select", 0, {"diverged": part.n})
    raw = json.loads((stored.path / "scores.json").read_bytes())
    assert [score["value"] for score in raw[0]["scores"]] == [None]
    lines = (stored.path / "predictions" / "select.jsonl").read_text().splitlines()
    assert {json.loads(line)["why"] for line in lines} == {"diverged: the weights are no numbers"}
    assert stored.about().model == {"history": [{"step": 1, "loss": 1.5}]}


def test_settings_that_one_seed_diverged_with_are_not_chosen(tmp_path: Path) -> None:
    (chosen,) = swept(tmp_path, 1.0, 0.5).chosen
    assert (chosen.settings, chosen.diverged) == ({"rate": 0.5}, ({"rate": 1.0},))


def test_the_best_settings_are_the_best_mean_of_those_that_did_not_diverge() -> None:
    tried = [
        SelectionScores([70.0, 72.0], diverged=False),
        SelectionScores([99.0], diverged=True),
        SelectionScores([71.0], diverged=False),
        SelectionScores([float("nan")], diverged=False),
        SelectionScores([], diverged=False),
    ]
    assert find_best_settings(tried, "accuracy") == (71.0, [0, 2])
    assert find_best_settings(tried[1:2], "accuracy") is None


def test_where_all_diverge_one_line_says_so(tmp_path: Path, nikawa: Nikawa) -> None:
    words = (
        "run",
        "--model",
        "steep",
        "--tasks",
        "mini-ja-nli",
        "--grid",
        "rate=1.5,3",
        "--seeds",
        "2",
    )
    for _ in range(2):
        ended = nikawa(*words, "--out", str(tmp_path), "--workers", "1")
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert line.startswith(
            "nikawa: mini-ja-nli steep: all 2 settings diverged, so none can be chosen; try"
        )
    assert Steep.fits == 4


def test_the_command_tells_of_it_and_ends_well(tmp_path: Path, nikawa: Nikawa) -> None:
    words = (
        "run",
        "--model",
        "steep",
        "--tasks",
        "mini-ja-nli",
        "--grid",
        "rate=0.5,1.5",
        "--out",
        str(tmp_path),
    )
    ended = nikawa(*words, "--workers", "1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "rate=0.5, chosen from 2 on mini-ja:dev; diverged: rate=1.5" in ended.stdout


@pytest.mark.parametrize("rate", [1.5, 3.0])
def test_a_diverged_result_is_a_failure_with_its_cure(
    tmp_path: Path, nikawa: Nikawa, rate: float
) -> None:
    words = (
        "run",
        "--model",
        "steep",
        "--tasks",
        "mini-ja-nli",
        "--set",
        f"rate={rate}",
        "--out",
        str(tmp_path),
    )
    ended = nikawa(*words, "--workers", "1")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "no numbers; set a smaller rate" in line or "diverged: the scores of all answers" in line


def test_tables_of_settings_name_it(tmp_path: Path) -> None:
    swept(tmp_path / "runs", 1.5, 0.5, seeds=(0,))
    report(
        [str(tmp_path / "runs")],
        tmp_path / "report",
        ReportOptions(rounds=100, analyses=False, dataset=False),
    )
    numbers = json.loads((tmp_path / "report" / "numbers.json").read_bytes())
    found = numbers["sections"][0]["choices"]["tried"]
    told = [
        (t["settings"]["rate"], t["diverged"], t["chosen"], t["scores"]["steep"]["value"])
        for t in found
    ]
    assert told[1] == (1.5, ["steep"], [], None)
    assert told[0][:3] == (0.5, [], ["steep"])
    assert '<span class="soft">diverged</span>' in (tmp_path / "report" / "index.html").read_text(
        "utf-8"
    )
    rows = [
        line.strip("| ").split(" | ") for line in grid_table(tmp_path / "runs", {}).splitlines()[2:]
    ]
    assert [row[4] for row in rows].count("diverged") == 1
