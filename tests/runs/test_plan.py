from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example
from nikawa.runs.data import load_run_data
from nikawa.runs.plan import Family, Plan, plan_runs
from nikawa.runs.request import RunRequest


def planned(data: Path | None = None, **asked: Any) -> Plan:
    return plan_runs(RunRequest(**{"tasks": ("mini-ja-nli",), "models": ("spy",), **asked}), data)


def only(data: Path | None = None, **asked: Any) -> Family:
    (family,) = planned(data, **asked).families
    return family


def test_a_run_a_seed_and_the_same_plan_twice(spy: Any) -> None:
    runs = only(seeds=(0, 5)).runs({})
    assert [run.seed for run in runs] == [0, 5]
    assert [run.folder for run in runs] == [run.folder for run in only(seeds=(0, 5)).runs({})]
    assert [part.name for part in runs[0].data] == ["mini-ja:train", "mini-ja:dev", "mini-ja:test"]


def test_settings_that_are_the_defaults_or_tell_how_define_nothing(spy: Any) -> None:
    assert only(settings={"level": 0, "pace": 9}).options == ({},)
    assert only(settings={"level": 1}).options == ({"level": 1},)


def test_an_encoder_counts_by_what_makes_it_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIKAWA_MODELS", "kept")
    folder = Path("kept/own")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    first = only(models=("encoder:own",)).runs({})[0]
    assert first.data[-1].name == "encoder:own"
    assert only(models=("encoder:kept/own",)).runs({})[0].hash == first.hash
    for name in ("README.md", "work/pack/ids", ".cache/x", "pretraining.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("told")
    assert only(models=("encoder:own",)).runs({})[0].hash == first.hash
    (folder / "model.safetensors").write_bytes(b"others")
    changed = only(models=("encoder:own",)).runs({})[0]
    assert changed.hash != first.hash
    folder.rename("own")  # here, by its name alone
    assert only(models=("encoder:own",)).runs({})[0].hash == changed.hash


def test_a_grid_is_every_combination_and_choosing_never_names_the_test_set(spy: Any) -> None:
    family = only(grid={"level": (0, 1), "trouble": ("", "x", "y")}, seeds=(0, 1))
    assert len(family.options) == 6
    assert len(family.selection_runs()) == 12
    assert all(part.name != "mini-ja:test" for run in family.selection_runs() for part in run.data)


def test_some_seeds_may_choose_for_all(spy: Any) -> None:
    family = only(grid={"level": (0, 1)}, seeds=(3, 4, 5), choose_seeds=1)
    assert [run.seed for run in family.selection_runs()] == [3, 3]
    assert [run.seed for run in family.runs({})] == [3, 4, 5]
    with pytest.raises(BadInput, match="the number of seeds that choose settings is -1"):
        only(choose_seeds=-1)


def test_a_grid_tells_repeats_once_and_small_shares_stay_apart(spy: Any) -> None:
    planned = plan_runs(
        RunRequest(
            tasks=("mini-ja-nli",),
            models=("spy",),
            grid={"level": (1, 1, 0)},
            shares=(0.001, 0.002),
        )
    )
    assert [f.options for f in planned.families] == [({"level": 1}, {})] * 2
    assert [f.variation.title for f in planned.families] == ["0.1% of train", "0.2% of train"]


def test_a_setting_goes_to_the_models_that_have_it(spy: Any) -> None:
    found = planned(models=("majority", "spy"), settings={"level": 2})
    assert [family.options for family in found.families] == [({},), ({"level": 2},)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"settings": {"lvl": 1}},
            "none of the models has the setting 'lvl'; use one of: level, pace, trouble",
        ),
        ({"settings": {"level": "high"}}, "a setting is invalid"),
        (
            {"inputs": ("title",)},
            "mini-ja-nli has no input 'title'; use one of: premise, hypothesis",
        ),
        ({"shares": (0.0,)}, "0.0 is not a share"),
        ({"seeds": ()}, "no seed"),
        ({"train": ("ynat",)}, "ynat has no inference task"),
        ({"train": ("nowhere.jsonl",)}, "no such file"),
        ({"labels": {"a": "b"}}, "labels can only be renamed in other training sets"),
        ({"models": ("crf",)}, "crf does not answer inference tasks"),
        ({"models": ("spi",)}, "did you mean 'spy'"),
        ({"tasks": ("mini-ja-nil",)}, "did you mean 'mini-ja-nli'"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(spy: Any, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said) as told:
        [family.runs({}) for family in planned(**asked).families]
    assert "\n" not in str(told.value)


def test_the_model_behind_baseline_is_written_down() -> None:
    (run,) = only(models=("baseline",)).runs(only(models=("baseline",)).options[0])
    assert run.settings["model"]


def other_labels(path: Path) -> str:
    rows = [
        Example(id=str(i), inputs={"premise": f"雨{i}", "hypothesis": "水"}, gold={"label": label})
        for i, label in enumerate(("yes", "no", "entailment"))
    ]
    write_records(path, rows)
    return str(path)


def test_labels_of_other_sets_must_be_told(spy: Any, tmp_path: Path) -> None:
    name = other_labels(tmp_path / "mine.jsonl")
    with pytest.raises(BadInput, match=r"has the label 'yes'.*--label yes=entailment"):
        only(train=(name,))
    told = only(train=(name,), labels={"yes": "entailment", "no": "contradiction"})
    material = load_run_data(told.runs({})[0], ExampleReader())
    assert [e.gold["label"] for e in material.train] == [
        "entailment",
        "contradiction",
        "entailment",
    ]


def test_sets_are_mixed_under_full_names_and_scores_come_to_the_scale(
    spy: Any, published: Path
) -> None:
    family = only(published, tasks=("jsts",), train=("mini-ja", "jsts"))
    material = load_run_data(family.runs({})[0], ExampleReader(published))
    assert {e.id.partition("/")[0] for e in material.train} == {"mini-ja:train", "jsts:train"}
    assert all(0 <= e.gold["score"] <= 5 and "sentence1" in e.inputs for e in material.train)


def test_other_data_under_the_same_name_are_refused(spy: Any, published: Path) -> None:
    run = only(published, tasks=("jnli",)).runs({})[0]
    path = published / "jglue" / "datasets" / "jnli-v1.3" / "valid-v1.3.json"
    path.write_text(path.read_text("utf-8").replace("庭", "道"), "utf-8")
    with pytest.raises(BadInput, match="jnli:dev has changed since the run was planned"):
        load_run_data(run, ExampleReader(published))
