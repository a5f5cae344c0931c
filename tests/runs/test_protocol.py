from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import tasks
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput
from nikawa.runs import EvaluationProtocol, Variation
from nikawa.runs.data import load_run_data
from nikawa.runs.plan import Family, plan_runs
from nikawa.runs.protocol import choose_protocol
from nikawa.runs.request import RunRequest


def protocol(
    name: str, data: Path | None, *, learns: bool = True, sweep: bool = False, **vary: Any
) -> EvaluationProtocol:
    return choose_protocol(
        tasks()[name], Variation(**vary), ExampleReader(data), learns=learns, sweep=sweep
    )


def families(data: Path, *names: str, **more: Any) -> list[Family]:
    return list(plan_runs(RunRequest(tasks=names, models=("majority",), **more), data).families)


def test_all_splits_are_used_as_published() -> None:
    found = protocol("mini-ja-nli", None)
    assert (found.train, found.select, found.evaluate) == (
        ("mini-ja:train",),
        "mini-ja:dev",
        ("mini-ja:test",),
    )
    assert (found.kind, found.mark, found.why) == ("standard", "", "")
    assert protocol("mini-ja-nli", None, sweep=True) == found


def test_without_a_test_set_a_tenth_of_train_is_chosen_on_and_dev_told(published: Path) -> None:
    found = protocol("jsts", published)
    assert (found.evaluate, found.select, found.select_share) == (("jsts:dev",), "jsts:train", 0.1)
    assert found.mark == "on dev"
    assert "10% of the training data" in found.why


def test_dev_alone_is_folded(published: Path) -> None:
    found = protocol("jnli", published)
    assert (found.kind, found.folds, found.train, found.evaluate) == (
        "folds",
        5,
        ("jnli:dev",),
        ("jnli:dev",),
    )
    assert (found.mark, found.select) == ("5 folds of dev", "")
    swept = protocol("jnli", published, sweep=True)
    assert (swept.select, swept.select_share, swept.mark) == (
        "jnli:dev",
        0.2,
        "5 folds of 80% of dev",
    )


def test_dev_alone_is_told_whole_where_training_data_come_from_elsewhere(published: Path) -> None:
    found = protocol("jnli", published, train=("mini-ja:train",))
    assert (found.kind, found.folds, found.evaluate) == ("dev", 0, ("jnli:dev",))


def test_a_model_that_does_not_learn_is_asked_at_once(published: Path) -> None:
    found = protocol("jnli", published, learns=False)
    assert (found.kind, found.train, found.evaluate, found.mark) == (
        "answers",
        (),
        ("jnli:dev",),
        "on dev",
    )
    assert protocol("mini-ja-nli", None, learns=False).evaluate == ("mini-ja:test",)
    with pytest.raises(BadInput, match="settings cannot be chosen"):
        protocol("jnli", published, learns=False, sweep=True)


def test_jamp_without_its_test_file_has_a_stand_in_through_the_same_path(
    published: Path, with_jamp_test: Path
) -> None:
    real = protocol("jamp", with_jamp_test)
    assert (real.evaluate, real.mark, real.kind) == (("jamp:test",), "", "standard")
    reader, task = ExampleReader(with_jamp_test), tasks()["jamp"]
    assert (len(reader.examples("jamp:train", task)), len(reader.examples("jamp:test", task))) == (
        40,
        8,
    )
    (with_jamp_test / "jamp" / "dataset" / "test_2.tsv").unlink()
    stand_in = protocol("jamp", published)
    assert (stand_in.evaluate, stand_in.mark) == (("jamp:stand-in",), "stand-in test")
    assert stand_in.train == real.train


def test_the_stand_in_has_two_rows_of_every_cell_and_no_training_split_has_them(
    published: Path,
) -> None:
    reader, task = ExampleReader(published), tasks()["jamp"]
    held = reader.examples("jamp:stand-in", task)
    cells = [(e.meta["template"], e.gold["label"]) for e in held]
    assert all(cells.count(cell) == 2 for cell in set(cells))
    assert len(held) == 8
    for split, size in (("train", 32), ("template-easy", 16), ("timespan-easy", 32)):
        learned = reader.examples(f"jamp:{split}", task)
        assert len(learned) == size
        assert {e.id for e in learned}.isdisjoint(e.id for e in held)


def test_jamp_is_run_on_every_training_split(published: Path) -> None:
    found = families(published, "jamp")
    assert [f.variation.title for f in found][:3] == [
        "",
        "trained on jamp:template-easy",
        "trained on jamp:template-hard",
    ]
    assert len(found) == 6
    assert len(families(published, "jamp", train=("mini-ja",))) == 1


def test_stress_sets_learn_from_jsick_and_show_its_test_set(shared_data: Path) -> None:
    found = protocol("jsick-stress-nli", shared_data)
    assert (found.train, found.select) == (("jsick:train",), "jsick:dev")
    assert found.evaluate[:2] == ("jsick:test", "jsick-stress:scramble-o")
    assert found.mark == ""


def test_a_suite_leaves_out_what_is_not_here_and_a_task_must_be(published: Path) -> None:
    found = plan_runs(RunRequest(tasks=("jglue",), models=("majority",)), published)
    assert [f.task.name for f in found.families] == ["jsts", "jnli"]
    assert any(line.startswith("marc-ja: ") for line in found.left_out)
    with pytest.raises(BadInput, match="jcola is not in"):
        families(published, "jcola")


def test_no_article_of_jsquad_is_in_two_folds(shared_data: Path) -> None:
    (family,) = plan_runs(RunRequest(tasks=("jsquad",), models=("majority",)), shared_data).families
    assert "whole articles" in family.protocol.why
    found = load_run_data(family.runs({})[0], ExampleReader(shared_data))
    for _, learned, asked in found.parts():
        assert asked
        assert {e.meta["article"] for e in learned}.isdisjoint(e.meta["article"] for e in asked)
