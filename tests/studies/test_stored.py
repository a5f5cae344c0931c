"""Which of the stored runs a study tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from nikawa.runs.job import RunOptions, RunRequest, run

pytestmark = pytest.mark.slow

TASK = "mini-ja-nli"


MODELS = ("majority", "pair-linear")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, str]:
    """A choice between two models, with the results of the better; then the results of the worse, run by themselves."""
    how = RunOptions(tmp_path / "runs", executor="here")
    found = run(RunRequest((TASK,), ("baseline",), (0, 1), grid={"model": MODELS}), how)
    best = found.chosen[0].settings["model"]
    (other,) = set(MODELS) - {best}
    run(RunRequest((TASK,), ("baseline",), (0, 1), {"model": other}), how)
    return how.out, best


def test_only_the_settings_that_were_chosen_are_told(made: tuple[Path, str]) -> None:
    from studies._stored import stored_cells, told_runs

    runs, best = made
    assert {stored.spec.settings["model"] for stored in told_runs(runs)} == {best}
    cells = [cell for cell in stored_cells(runs) if not cell.where and cell.metric == "accuracy"]
    assert [cell.seeds for cell in cells] == [(0, 1)]


def test_a_choice_without_results_yet_is_not_told_by_older_ones(made: tuple[Path, str]) -> None:
    from studies._stored import told_runs

    from nikawa.runs.store import stored_runs

    runs, best = made
    for stored in stored_runs(runs):
        if stored.spec.stage == "result" and stored.spec.settings["model"] == best:
            (stored.path / "done.json").unlink()
    assert told_runs(runs) == []


def test_results_without_a_choice_are_all_told(tmp_path: Path) -> None:
    from studies._stored import told_runs

    run(
        RunRequest((TASK,), ("baseline",), (0,), {"model": "majority"}),
        RunOptions(tmp_path, executor="here"),
    )
    assert len(told_runs(tmp_path)) == 1


def test_runs_of_an_encoder_that_was_replaced_count_nowhere(
    tmp_path: Path, encoder: Callable[[str], Path]
) -> None:
    from studies._stored import counted_runs, shown_runs

    from nikawa.runs.store import digest_of, stored_runs

    model, how = tmp_path / "mine", RunOptions(tmp_path / "runs", executor="here")
    for name, seeds in (("one", (0, 1)), ("another", (0,))):
        rmtree(model, ignore_errors=True)
        copytree(encoder(name), model)
        run(RunRequest((TASK,), (f"encoder:{model}",), seeds, {"epochs": 1, "device": "cpu"}), how)
        if name == "one":
            assert shown_runs(how.out) == [str(how.out)]
    assert len(stored_runs(how.out)) == 3
    (left,) = counted_runs(how.out)
    assert (left.spec.seed, shown_runs(how.out)) == (0, [str(left.path)])
    assert {part.digest for part in left.spec.data if part.version == "file"} == {digest_of(model)}


def test_settings_that_were_chosen_on_a_part_are_told_without_it_nowhere(
    tmp_path: Path, invented_data: Path
) -> None:
    from studies._stored import told_runs

    from nikawa.runs.store import stored_runs

    how = RunOptions(tmp_path / "runs", invented_data, executor="here")
    asked = RunRequest(("jamp",), ("baseline",), (0,), train=("jamp",))
    best = run(replace(asked, grid={"model": MODELS}), how).chosen[0].settings
    run(replace(asked, settings=best), how)
    results = [stored.spec for stored in stored_runs(how.out) if stored.spec.stage == "result"]
    assert {spec.protocol.select for spec in results} == {"", "jamp:train"}
    assert [stored.spec.protocol.select for stored in told_runs(how.out)] == ["jamp:train"]
