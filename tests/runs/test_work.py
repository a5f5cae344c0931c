"""One run: what a model is shown, what is written, and that a run killed anywhere ends the same."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.models import model
from nikawa.records import Example, Prediction
from nikawa.runs import Outcome, RunSpec, StoredRun
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest
from nikawa.runs.work import RunPlace, do_run

Files = Callable[[Path], dict[str, bytes]]


def spec_of(task: str, data: Path | None = None, **asked: Any) -> RunSpec:
    family = plan_runs(RunRequest(tasks=(task,), models=("spy",), **asked), data).families[0]
    return family.runs(family.options[0])[0]


def do(spec: RunSpec, out: Path, data: Path | None = None) -> Outcome:
    return do_run(spec, RunPlace(out, data))


def test_answers_come_without_gold_tags_meta_or_group(spy: Any, tmp_path: Path) -> None:
    assert do(spec_of("mini-ja-nli", inputs=("hypothesis",)), tmp_path).status == "done"
    ((task, asked),) = spy.asked
    assert task.inputs == ("hypothesis",)
    for example in asked:
        assert set(example.inputs) == {"hypothesis"}
        assert example == Example(id=example.id, inputs=example.inputs)
    ((_, learned, dev),) = spy.fits
    assert all(
        set(e.gold) == {"label"} and set(e.inputs) == {"hypothesis"} for e in (*learned, *dev)
    )


def test_a_model_gets_its_seed_settings_folder_and_a_way_to_score(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-nli", seeds=(7,), settings={"level": 1})
    place = RunPlace(tmp_path, settings={"pace": 3, "level": 2})
    assert do_run(spec, place).status == "done"
    (setup,) = spy.setups
    assert (setup.seed, dict(setup.settings)) == (7, {"level": 1, "pace": 3})
    assert setup.folder is not None
    (_, _, dev), made = spy.fits[0], spy.asked[0][0]
    right = [Prediction(example=e.id, answer=e.gold["label"]) for e in dev]
    assert setup.score(made, dev, right) == 100.0
    assert StoredRun(tmp_path / spec.folder).about().model == {"level": 1}


def test_what_is_written(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-nli")
    do(spec, tmp_path)
    stored = StoredRun(tmp_path / spec.folder)
    assert stored.done
    assert stored.spec == spec
    assert sorted(path.name for path in stored.path.iterdir()) == [
        "about.json",
        "done.json",
        "lock",
        "predictions",
        "run.json",
        "scores.json",
    ]
    (found,) = stored.scores()
    assert (found.set, found.n, found.answered, found.unanswered) == ("test", 9, 9, {})
    assert found.scores[0].low is None
    assert stored.about().data == spec.data


def test_folds_answer_every_example_from_models_of_the_others(
    spy: Any, published: Path, tmp_path: Path
) -> None:
    spec = spec_of("jnli", published)
    assert do(spec, tmp_path / "runs", published).status == "done"
    assert len(spy.fits) == 5
    for (_, learned, _), (_, asked) in zip(spy.fits, spy.asked, strict=True):
        assert len(learned) + len(asked) == 30
        assert {e.group for e in learned}.isdisjoint(e.inputs["premise"] for e in asked)
    assert [len(asked) for _, asked in spy.asked] == [6] * 5


def test_a_sweep_over_folds_sets_a_fifth_apart_to_choose_on(
    spy: Any, published: Path, tmp_path: Path
) -> None:
    request = RunRequest(tasks=("jnli",), models=("spy",), grid={"level": (0, 1)})
    (family,) = plan_runs(request, published).families
    for spec in (family.selection_runs()[0], *family.runs({"level": 1})):
        assert do(spec, tmp_path / "runs", published).status == "done"
    chosen_on = {example.id for example in spy.asked[0][1]}
    assert len(chosen_on) == 6
    told_on = [example.id for _, asked in spy.asked[1:] for example in asked]
    assert (len(told_on), len(set(told_on) | chosen_on)) == (24, 30)
    assert all(chosen_on.isdisjoint(e.id for e in learned) for _, learned, _ in spy.fits)
    assert {e.id for _, _, dev in spy.fits for e in dev} == chosen_on


def test_a_tenth_of_train_is_chosen_on_where_dev_is_told(
    spy: Any, published: Path, tmp_path: Path
) -> None:
    do(spec_of("jsts", published), tmp_path / "runs", published)
    ((_, learned, dev),) = spy.fits
    assert (len(learned), len(dev), len(spy.asked[0][1])) == (54, 6, 12)
    assert {e.group for e in learned}.isdisjoint(e.group for e in dev)


def test_a_row_of_every_cell_of_jamp_is_chosen_on(
    spy: Any, published: Path, tmp_path: Path
) -> None:
    request = RunRequest(tasks=("jamp",), models=("spy",), grid={"level": (0, 1)}, train=("jamp",))
    (family,) = plan_runs(request, published).families
    do(family.selection_runs()[0], tmp_path / "runs", published)
    ((_, learned, dev),) = spy.fits
    assert (len(learned), len(dev)) == (28, 4)
    assert family.variation.title == ""


def test_seen_and_unseen_problems_are_scored_apart(
    spy: Any, published: Path, tmp_path: Path
) -> None:
    spec = spec_of("jamp", published, train=("jamp:template-easy",))
    do(spec, tmp_path, published)
    (found,) = StoredRun(tmp_path / spec.folder).scores()
    assert {score.where: score.n for score in found.scores} == {"": 8, "seen": 4, "unseen": 4}


@pytest.mark.parametrize("case", [("mini-ja-nli", 6, 1), ("jnli", 15, 5)], ids=["sets", "folds"])
def test_a_run_killed_at_any_write_ends_the_same(
    spy: Any, published: Path, tmp_path: Path, files: Files, case: tuple[str, int, int]
) -> None:
    task, writes, fits = case
    spec = spec_of(task, published)
    do(spec, tmp_path / "whole", published)
    whole = files(tmp_path / "whole")
    for killed in range(writes):
        out, learned = tmp_path / str(killed), len(spy.fits)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", dying(2 * killed))  # a file and its folder
            with pytest.raises(KeyboardInterrupt):
                do(spec, out, published)
        before = {path: path.stat().st_mtime_ns for path in out.rglob("*.jsonl")}
        assert do(spec, out, published).status == "done"
        assert files(out) == whole
        assert all(
            path.stat().st_mtime_ns == time for path, time in before.items() if path.exists()
        )
        assert fits <= len(spy.fits) - learned <= fits + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", dying(2 * writes))
        assert do(spec, tmp_path / "last", published).status == "done"  # there are no more writes


def dying(after: int) -> Callable[[int], None]:
    """What is written in place of fsync: it dies when it was called so often."""
    calls, sync = [0], os.fsync

    def die(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] > after:
            raise KeyboardInterrupt
        sync(descriptor)

    return die


def test_a_finished_run_is_not_done_again(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-nli")
    assert [do(spec, tmp_path).status for _ in range(2)] == ["done", "skipped"]
    assert len(spy.fits) == 1


def test_a_changed_file_of_a_finished_run_is_told_with_the_cure(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-nli")
    do(spec, tmp_path)
    path = tmp_path / spec.folder / "predictions" / "test.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    found = do(spec, tmp_path)
    assert (found.status, found.bad_input) == ("failed", True)
    assert found.problem.startswith(f"{path}: has changed since the run wrote it; ")
    assert "nikawa run remove" in found.problem


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-20], "the JSON is incomplete"),
        (lambda text: text.partition("\n")[2], "has 8 answers, but the set has 9 examples"),
        (lambda text: text.replace('"example":"', '"example":"x'), "has other ids"),
        (lambda text: "", "is empty"),
    ],
)
def test_a_broken_file_of_an_unfinished_run_is_told_with_the_cure(
    spy: Any, tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    spec = spec_of("mini-ja-nli")
    do(spec, tmp_path)
    (tmp_path / spec.folder / "done.json").unlink()
    path = tmp_path / spec.folder / "predictions" / "test.jsonl"
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    found = do(spec, tmp_path)
    assert said in found.problem
    assert "remove the file and run the same command again" in found.problem
    assert "\n" not in found.problem
    path.unlink()
    assert do(spec, tmp_path).status == "done"


def test_trouble_in_a_model_is_one_line_and_kept_whole(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-nli", settings={"trouble": "fit"})
    found = do(spec, tmp_path)
    assert (found.status, found.bad_input) == ("failed", False)
    assert found.problem.startswith("RuntimeError: two lines of trouble; see ")
    assert "Traceback" in (tmp_path / spec.folder / "state" / "error.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("task", "answer"),
    [("mini-ja-sts", "high"), ("mini-ja-nli", 1), ("mini-ja-choice", True), ("mini-ja-ner", "PS")],
)
def test_an_answer_of_another_shape_is_refused_and_not_kept(
    spy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, answer: Any
) -> None:
    monkeypatch.setattr(
        type(model("spy")),
        "predict",
        lambda _, __, asked: [Prediction(example=e.id, answer=answer) for e in asked],
    )
    spec = spec_of(task)
    found = do(spec, tmp_path)
    assert found.bad_input
    assert "which is not an answer to a" in found.problem
    assert not StoredRun(tmp_path / spec.folder).sets


def test_a_model_that_skips_an_example_is_refused(spy: Any, tmp_path: Path) -> None:
    assert (
        "did not answer each of the 9"
        in do(spec_of("mini-ja-nli", settings={"trouble": "gap"}), tmp_path).problem
    )


def test_a_full_disk_is_one_line_and_nothing_is_lost(
    spy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    spec = spec_of("mini-ja-nli")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        found = do(spec, tmp_path)
    assert found.problem == f"{tmp_path / spec.folder / 'run.json'}: No space left on device"
    assert do(spec, tmp_path).status == "done"


def test_two_processes_do_not_work_on_one_run(
    spy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.runs.store.LOCK_SECONDS", 0.1)
    spec = spec_of("mini-ja-nli")
    stored = StoredRun(tmp_path / spec.folder)
    with stored.locked():
        assert stored.busy()
        assert do(spec, tmp_path).status == "busy"
    assert not stored.busy()
    assert do(spec, tmp_path).status == "done"


def test_a_correlation_that_is_not_defined_is_null_on_disk(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-sts")
    do(spec, tmp_path)
    raw = json.loads((tmp_path / spec.folder / "scores.json").read_text("utf-8"))
    assert raw[0]["scores"][0]["value"] is None
    value = StoredRun(tmp_path / spec.folder).scores()[0].scores[0].value
    assert value != value  # noqa: PLR0124  (NaN alone)


def test_reasons_are_counted_by_their_kind(
    spy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = ("refusal: no", "refusal: never", "unparsable: 3", None)

    def silent(_: Any, task: Any, examples: Any) -> list[Prediction]:
        return [Prediction(example=e.id, why=reasons[i % 4]) for i, e in enumerate(examples)]

    monkeypatch.setattr(type(model("spy")), "predict", silent)
    spec = spec_of("mini-ja-nli")
    assert do(spec, tmp_path).status == "done"
    (found,) = StoredRun(tmp_path / spec.folder).scores()
    assert found.unanswered == {"no reason given": 2, "refusal": 5, "unparsable": 2}


def test_shares_and_shots_are_what_is_learned_from(spy: Any, tmp_path: Path) -> None:
    for asked in ({"shares": (0.5,)}, {"shots": 2}, {}):
        do(spec_of("mini-ja-nli", **asked), tmp_path)
    assert [len(learned) for _, learned, _ in spy.fits] == [9, 6, 18]


def test_a_replayed_file_gives_its_answers_back(spy: Any, tmp_path: Path) -> None:
    spec = spec_of("mini-ja-nli", settings={"level": 2})
    do(spec, tmp_path / "one")
    answers = tmp_path / "one" / spec.folder / "predictions" / "test.jsonl"
    family = plan_runs(RunRequest(tasks=("mini-ja-nli",), models=(f"replay:{answers}",))).families[
        0
    ]
    (replayed,) = family.runs({})
    assert do(replayed, tmp_path / "two").status == "done"
    a, b = (StoredRun(tmp_path / d / s.folder) for d, s in (("one", spec), ("two", replayed)))
    assert [s.value for s in a.scores()[0].scores] == [s.value for s in b.scores()[0].scores]
    assert replayed.protocol.kind == "answers"
    answers.write_bytes(answers.read_bytes().replace(b"contradiction", b"neutral"))
    assert (
        plan_runs(RunRequest(tasks=("mini-ja-nli",), models=(f"replay:{answers}",)))
        .families[0]
        .runs({})[0]
        .hash
        != replayed.hash
    )
