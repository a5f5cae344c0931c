"""Reports of sweeps: what was tried is told as the runs wrote it, and as `nikawa run` chose."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

from nikawa.errors import BadInput
from nikawa.reporting.job import ReportOptions, report
from nikawa.reporting.page_data import SettingChoices
from nikawa.reporting.training import MAX_POINTS_OF_TRACE, MAX_RUNS_TRACED
from nikawa.reporting.tried_settings import (
    TriedBySystem,
    find_choices,
    find_equal_best,
    read_choosing_run,
)
from nikawa.runs.job import RunOptions, RunReport, RunRequest, run
from nikawa.runs.load import find_runs
from nikawa.runs.store import stored_runs

Reach = Callable[[Path, str], Any]
MODELS = ("char-linear", "pair-linear", "majority")
LONGEST = (1, 3)
"""3 is the default of both models, so that no run keeps it."""
QUICK = ReportOptions(rounds=100, analyses=False, dataset=False)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunReport]:
    out = tmp_path_factory.mktemp("choices") / "runs"
    request = RunRequest(("mini-ja-nli",), MODELS, (0, 1), grid={"longest": LONGEST})
    return out, run(request, RunOptions(out=out, workers=1))


@pytest.fixture(scope="module")
def runs(swept: tuple[Path, RunReport]) -> Path:
    """The same runs, some of which tell of losses."""
    for i, stored in enumerate(
        r for r in stored_runs(swept[0]) if r.spec.predictor == "char-linear"
    ):
        path = stored.path / "about.json"
        about = json.loads(path.read_bytes())
        losses = [{"step": 10 * k, "loss": 1 / k + i} for k in range(1, 501)]
        about["model"] = {
            "history": [{"step": 5, "dev": 0.5}, *losses, {"step": 6000, "loss": None}]
        }
        path.write_text(json.dumps(about), "utf-8")
    return swept[0]


@pytest.fixture(scope="module")
def made(runs: Path) -> Path:
    report([str(runs)], runs.parent / "report", QUICK)
    return runs.parent / "report"


def numbers(folder: Path) -> Any:
    return json.loads((folder / "numbers.json").read_bytes())


def test_what_was_chosen_is_what_run_chose(swept: tuple[Path, RunReport], made: Path) -> None:
    chosen = {one.model: one for one in swept[1].chosen}
    found = numbers(made)["sections"][0]["choices"]
    assert (
        {one["system"] for one in found["systems"]} == set(chosen) == {"char-linear", "pair-linear"}
    )
    assert found["names"] == ["longest"]
    assert found["metric"] == chosen["char-linear"].metric
    assert [tried["settings"]["longest"] for tried in found["tried"]] == list(LONGEST)
    assert [tried["defaults"] for tried in found["tried"]] == [
        {},
        {"longest": ["char-linear", "pair-linear"]},
    ]
    for model, one in chosen.items():
        (best,) = [tried for tried in found["tried"] if model in tried["chosen"]]
        assert best["settings"]["longest"] == one.settings.get("longest", 3)
        assert best["scores"][model]["value"] == pytest.approx(one.score)
        assert model in best["reported"]


def test_settings_that_diverged_are_not_marked_as_chosen(runs: Path) -> None:
    """`nikawa run` skips them, whatever score is stored with them."""
    good, bad = (read_choosing_run(stored, None) for stored in find_runs([str(runs)]).choosing[:2])
    bad = replace(
        bad,
        set=replace_fields(bad.set, unanswered={"diverged": bad.set.n}),
        score=replace_fields(bad.score, value=good.score.value + 1),
    )
    column = TriedBySystem("one", {b"good": [good], b"bad": [bad]}, {})
    assert find_equal_best(column, [b"bad", b"good"], "accuracy") == [b"good"]


def test_means_are_those_of_the_runs_that_chose(made: Path, reached: Reach) -> None:
    found = numbers(made)["sections"][0]["choices"]
    for tried in found["tried"]:
        for system, score in tried["scores"].items():
            places = score["source"].split(" ")
            assert len(places) == tried["seeds"][system] == 2
            assert score["value"] == pytest.approx(
                fmean(reached(made, place)["value"] for place in places)
            )
            specs = [
                reached(made, place.partition("/scores.json")[0] + "/run.json") for place in places
            ]
            assert {spec["stage"] for spec in specs} == {"selection"}
            assert all(
                spec["settings"].get("longest", 3) == tried["settings"]["longest"] for spec in specs
            )


def test_runs_that_chose_are_listed_and_no_system(made: Path) -> None:
    found = numbers(made)
    assert {row["system"] for row in found["sections"][0]["rows"]} == set(MODELS)
    assert len(found["choosing"]) == 8
    assert len(found["runs"]) == 6
    assert "8 runs that chose settings" in (made / "index.html").read_text("utf-8")
    assert (made / "figures" / "mini-ja-nli-settings.svg").is_file()


def test_every_source_of_the_section_is_a_place_in_a_file(made: Path, reached: Reach) -> None:
    html = (made / "index.html").read_text("utf-8")
    part = html.partition("<h3>Settings</h3>")[2].partition('<div class="block examples">')[0]
    places = {
        place for found in re.findall(r'data-src="([^"]+)"', part) for place in found.split(" ")
    }
    assert len(places) > 15
    for place in places:
        assert reached(made, place) is not None, place


def test_single_runs_that_chose_are_told_as_in_their_folder(runs: Path, tmp_path: Path) -> None:
    report([str(runs / "mini-ja-nli--*")], tmp_path / "r", QUICK)
    (section,) = numbers(tmp_path / "r")["sections"]
    assert len(section["choices"]["tried"]) == 2


def test_results_alone_have_no_such_section(runs: Path, tmp_path: Path) -> None:
    alone = [str(stored.path) for stored in stored_runs(runs) if stored.spec.stage == "result"]
    report(alone, tmp_path / "r", QUICK)
    assert numbers(tmp_path / "r")["sections"][0]["choices"] is None
    assert "<h3>Settings</h3>" not in (tmp_path / "r" / "index.html").read_text("utf-8")


def test_a_task_without_results_is_told_too(runs: Path) -> None:
    found, others = find_choices((), [s for s in stored_runs(runs) if s.spec.stage == "selection"])
    assert found == {}
    (one,) = others
    assert isinstance(one, SettingChoices)
    assert one.task == "mini-ja-nli"
    assert {name for tried in one.tried for name in tried.chosen} == {"char-linear", "pair-linear"}
    assert not any(tried.reported for tried in one.tried)
    for system in ("char-linear", "pair-linear"):
        values = [tried.scores[system].value or 0.0 for tried in one.tried]
        assert [system in tried.chosen for tried in one.tried].index(True) == values.index(
            max(values)
        )


def test_the_seeds_and_examples_that_chose(made: Path) -> None:
    for one in numbers(made)["sections"][0]["choices"]["systems"]:
        assert one["seeds"] == [0, 1]
        assert one["set"] == "mini-ja:dev"
        assert not one["kept_out"]
        assert one["n"] > 0


def test_a_changed_score_is_refused(runs: Path, tmp_path: Path) -> None:
    for stored in stored_runs(runs):
        shutil.copytree(stored.path, tmp_path / "runs" / stored.path.name)
    first = find_runs([str(tmp_path / "runs")]).choosing[0].path / "scores.json"
    first.write_text(first.read_text("utf-8").replace("official", "official "), "utf-8")
    with pytest.raises(BadInput, match="has changed since the run wrote it"):
        report([str(tmp_path / "runs")], tmp_path / "r", QUICK)
    assert not (tmp_path / "r").exists()


def test_losses_are_told_where_models_keep_them(made: Path, reached: Reach) -> None:
    (one,) = numbers(made)["sections"][0]["training"]
    assert one["system"] == "char-linear"
    assert [trace["seed"] for trace in one["traces"]] == [0, 1]
    for trace in one["traces"]:
        assert len(trace["points"]) == MAX_POINTS_OF_TRACE
        assert trace["points"][0][0] == 10
        assert trace["points"][-1][0] == 5000
        history = {entry["step"]: entry.get("loss") for entry in reached(made, trace["source"])}
        assert all(history[step] == loss for step, loss in trace["points"])
        assert reached(made, trace["end"]) == trace["points"][-1][1]
    html = (made / "index.html").read_text("utf-8")
    assert html.count('<polyline class="thin') == 2 <= MAX_RUNS_TRACED
