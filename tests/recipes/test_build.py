"""The engine of builds: pausing, checking answers, resuming after a kill, running only what depends on a change."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as dataclass_replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build as app
from nikawa.datasets import benchmarks, load
from nikawa.datasets.lineage import find_lineage, read_lineage
from nikawa.errors import BadInput, UnknownName
from nikawa.io.lines import read_lines
from nikawa.recipes import release as _build_release
from nikawa.recipes.answer_readers import ANSWER_READERS, Question
from nikawa.recipes.build import (
    BuildOptions,
    BuildReport,
    build,
    read_config,
    settings_of,
    show_config,
)
from nikawa.recipes.decide import assign_splits, decide, draw_examples
from nikawa.recipes.recipe import (
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    Outcome,
    Recipe,
    Stage,
    found_in,
    recipes,
)
from nikawa.records import Example

RAN: Counter[str] = Counter()
"""How often each stage's function ran."""
RELEASE = (
    "README.md",
    "build.json",
    "card.json",
    "lineage.jsonl",
    "lineage.index",
    "train.jsonl",
    "test.jsonl",
)


class Settings(Config, kw_only=True):
    lines: Annotated[str, Meta(description="A text file.")] = ""
    longest: Annotated[int, Meta(description="Characters, at most.")] = 6
    count: Annotated[int, Meta(description="Lines drawn.")] = 8
    workers: Annotated[int, Meta(description="Workers a line.")] = 3


def read(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    RAN["short"] += 1
    path = inputs.file("lines")
    for number, text in read_lines(path):
        line = Example(
            id=f"l{number}", inputs={"text": text}, meta=found_in(path, number, licence="CC0")
        )
        yield Kept(line) if len(text) <= config.longest else Dropped(line, "too long")


def pick(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    RAN["picked"] += 1
    yield from draw_examples(inputs.examples("short"), config.count, config.seed, "lines")


def label(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    RAN["labelled"] += 1
    yield from decide(inputs, "picked", "mood", "votes:2/3")


def split(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    RAN["parted"] += 1
    sets = {"train": "train", "test": "test"}
    yield from assign_splits(
        list(inputs.examples("labelled")), "0.5,0.5", config.seed, lambda e: e.id, sets
    )


def guess(example: Example, config: Any, chance: Any) -> str:
    return "glad" if chance.random() < 0.8 else "sad"


RECIPE = Recipe(
    name="moods",
    title="lines and moods",
    language="ja",
    config=Settings,
    sources=("lines",),
    stages=(
        Stage("short", "short lines", read, ("lines",), ("longest",)),
        Stage("picked", "drawn lines", pick, ("short",), ("count", "seed")),
        Ask(
            "mood",
            "the mood",
            ("picked",),
            "choice",
            "label",
            "workers",
            labels=("glad", "sad"),
            simulate=guess,
        ),
        Stage("labelled", "two of three agree", label, ("picked", "mood")),
        Stage("parted", "half and half", split, ("labelled",), ("seed",), ("train", "test")),
    ),
    splits={"train": "train", "test": "test"},
    card=lambda config: replace(benchmarks()["mini-ja"].card, name=config.name or "moods"),
    question="label",
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    RAN.clear()
    (tmp_path / "lines.txt").write_text(
        "".join(f"{n}日目\n" for n in range(10)) + "とても長い一行です\n", "utf-8"
    )
    path = tmp_path / "moods.toml"
    path.write_text('lines = "lines.txt"\n', "utf-8")
    return path


@pytest.fixture
def run(config: Path, tmp_path: Path) -> Callable[..., BuildReport]:
    def again(out: str = "out", **how: Any) -> BuildReport:
        return build(RECIPE, tmp_path / out, BuildOptions(config=config, **how))

    return again


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """The folder where the answers go."""
    return tmp_path / "out" / "people" / "mood"


def answers(
    sheet: Path, name: str = "answers.csv", workers: Sequence[str] = "xyz", **odd: str
) -> None:
    ids = [
        line.split(",")[0] for line in (sheet / "tasks.csv").read_text("utf-8-sig").splitlines()[1:]
    ]
    rows = [f"{i},{w},{odd.get(i, 'glad')}" for i in ids for w in workers]
    (sheet / name).write_text("\n".join(["example,worker,answer", *rows]) + "\n", "utf-8")


def states(report: BuildReport) -> dict[str, str]:
    return {stage.name: stage.state for stage in report.stages}


def test_it_pauses_and_goes_on(run: Any, sheet: Path, tmp_path: Path) -> None:
    first = run()
    assert states(first) == {
        "short": "made",
        "picked": "made",
        "mood": "waiting",
        "labelled": "blocked",
        "parted": "blocked",
    }
    assert str(first.waiting[0]).startswith(
        f"waiting for judgements in {sheet / 'answers.csv'} (0 of 24"
    )
    asked = msgspec.json.decode((sheet / "sheet.json").read_bytes())
    assert (asked["form"], asked["workers"], asked["items"]) == ("choice", 3, 8)
    assert asked["labels"] == ["glad", "sad"]
    answers(sheet)
    done = run()
    assert states(done) == {
        "short": "kept",
        "picked": "kept",
        "mood": "made",
        "labelled": "made",
        "parted": "made",
    }
    assert done.released is not None
    assert (done.released.splits, done.released.workers_are) == ({"train": 4, "test": 4}, "persons")
    assert len(load(str(tmp_path / "out"))) == 8
    third = run()
    assert set(states(third).values()) == {"kept"}
    assert third.released is not None
    assert not third.released.fresh
    assert RAN == {"short": 1, "picked": 1, "labelled": 1, "parted": 1}


def test_what_is_lacking_is_told(run: Any, sheet: Path) -> None:
    run()
    answers(sheet, workers="xy")
    text = (sheet / "answers.csv").read_text("utf-8")
    (sheet / "answers.csv").write_text(text + "nowhere,x,glad\n", "utf-8")
    (waiting,) = run().waiting
    assert (waiting.answers, waiting.wanted, waiting.lacking, waiting.unknown) == (
        16,
        24,
        8,
        ("nowhere",),
    )
    assert len((sheet / "missing.csv").read_text("utf-8").splitlines()) == 9
    answers(sheet, "answers-2.csv", workers="xz")  # x overlaps, and says the same
    done = run()
    assert not done.waiting
    assert not (sheet / "missing.csv").exists()
    assert done.stages[2].notes == (
        "1 answers were about other items and were not counted: nowhere",
    )


def test_answers_beyond_the_number_are_not_counted(run: Any, sheet: Path) -> None:
    run()
    answers(sheet, workers="wxyz")
    report = run()
    assert report.stages[2].wrote == {"mood": 24}
    assert report.stages[2].notes == ("8 answers beyond 3 per item were not counted",)


def test_models_are_compared_with_the_workers_and_not_counted(
    run: Any, sheet: Path, tmp_path: Path
) -> None:
    run()
    answers(sheet)
    answers(sheet, "answers-2.csv", workers=["model:<b>m</b>#1", "simulated:s"])
    report = run()
    assert report.stages[2].wrote == {"mood": 24}
    assert report.stages[2].notes == ("16 answers of models or simulations were not counted",)
    labels = msgspec.json.decode((tmp_path / "out" / "card.json").read_bytes())["labels"]
    assert "Models that answered mood too are not counted. On 8 items" in labels
    assert "gave the same answer in 100.0% of the pairs" in labels
    assert "simulated:s" not in labels
    page = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "Models that answered mood too" in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            "l2,q,merry",
            r"answers\.csv, line 26: the answer about 'l2' does not fit: 'merry' is not one of glad, sad; the form choice",
        ),
        (
            "l2,x,sad",
            r"answers\.csv, line 26: worker x answers 'l2' twice, with different answers",
        ),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    run: Any, sheet: Path, line: str, what: str, config: Path
) -> None:
    config.write_text('lines = "lines.txt"\ncount = 10\nlongest = 4\n', "utf-8")
    run()
    answers(sheet)
    text = (sheet / "answers.csv").read_text("utf-8").splitlines()
    (sheet / "answers.csv").write_text("\n".join([*text[:25], line]) + "\n", "utf-8")
    with pytest.raises(BadInput, match=what):
        run()


def test_answers_of_another_build_are_refused(run: Any, sheet: Path) -> None:
    run()
    (sheet / "answers.csv").write_text("example,worker,answer\nother1,x,glad\n", "utf-8")
    with pytest.raises(
        BadInput, match=r"answers\.csv: contains no item of this question, for example 'other1'"
    ):
        run()


def test_references_and_japanese_headings_are_understood(run: Any, sheet: Path) -> None:
    run()
    answers(sheet)
    text = (
        (sheet / "answers.csv")
        .read_text("utf-8")
        .replace("example,worker,answer", "設問ID,ワーカーID,回答")
    )
    (sheet / "answers.csv").write_text(text.replace("\nl", "\nmoods:all/l"), "utf-8")
    assert not run().waiting


def test_workers_who_are_columns_are_told(run: Any, sheet: Path, tmp_path: Path) -> None:
    run()
    answers(sheet)
    ids = {
        line.split(",")[0]: None
        for line in (sheet / "answers.csv").read_text("utf-8").splitlines()[1:]
    }
    rows = [f"{name},glad,sad,glad" for name in ids]
    text = "\n".join(["example,answer1,answer2,answer3", *rows]) + "\n"
    (sheet / "answers.csv").write_text(text, "utf-8")
    assert run().released.workers_are == "columns"
    entry = next(read_lineage(tmp_path / "out"))
    assert [j.worker for j in entry.judgements] == ["answer1", "answer2", "answer3"]


def test_no_cell_is_a_formula(run: Any, sheet: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("=1+1\n-x\n1=1\n", "utf-8")
    run()
    cells = [
        line.partition(",")[2] for line in (sheet / "tasks.csv").read_text("utf-8-sig").splitlines()
    ]
    assert cells == ["text", "'=1+1", "'-x", "1=1"]
    assert '"text":"=1+1"' in (sheet / "tasks.jsonl").read_text("utf-8")


def test_a_stage_whose_files_are_gone_runs_again(run: Any, tmp_path: Path) -> None:
    run(simulate=1)
    (tmp_path / "out" / "build" / "picked" / "picked.jsonl").unlink()
    report = run(simulate=1)
    assert states(report)["picked"] == "made"
    assert not report.released.fresh


def test_recipes_load_nothing_heavy() -> None:
    code = "import sys, nikawa.recipes.build, nikawa.recipes.recipe as r; r.recipes(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "torch", "fugashi", "rich.console"} & set(done.stdout.split())


def test_answers_to_further_questions_are_passed_over(run: Any, sheet: Path) -> None:
    run()
    answers(sheet)
    rows = [line.split(",") for line in (sheet / "answers.csv").read_text("utf-8").splitlines()[1:]]
    lines = [(i, w, q, a) for i, w, a in rows for q, a in (("label", a), ("remark", "why?"))]
    text = "\n".join(
        ",".join(line) for line in [("example", "worker", "question", "answer"), *lines]
    )
    (sheet / "answers.csv").write_text(text + "\n", "utf-8")
    assert run().stages[2].wrote == {"mood": 24}


def test_a_change_runs_what_depends_on_it_alone(run: Any, sheet: Path, config: Path) -> None:
    run()
    answers(sheet)
    run()
    RAN.clear()
    config.write_text('lines = "lines.txt"\nlicence = "CC0"\n', "utf-8")
    with pytest.raises(
        BadInput, match=r"contains the release 1\.0 of other items or settings; pass --overwrite"
    ):
        run()
    assert run(overwrite=True).released.fresh
    assert not RAN
    config.write_text('lines = "lines.txt"\nlonger = 4\n', "utf-8")
    with pytest.raises(
        BadInput, match=r"moods\.toml: moods has no setting 'longer'; did you mean 'longest'"
    ):
        run()
    config.write_text('lines = "lines.txt"\nlongest = 5\n', "utf-8")  # lets the same lines through
    run(overwrite=True)
    assert RAN == {"short": 1}
    config.write_text('lines = "lines.txt"\nlongest = 5\ncount = 6\n', "utf-8")
    report = run(overwrite=True)
    assert RAN == {"short": 1, "picked": 1, "labelled": 1, "parted": 1}
    assert sum(report.released.splits.values()) == 6
    assert "6 answers were about other items" in report.stages[2].notes[0]


def test_a_changed_source_is_noticed(run: Any, tmp_path: Path) -> None:
    run()
    (tmp_path / "lines.txt").write_text("一行\n", "utf-8")
    assert run().waiting[0].items == 1


def test_simulated_workers_are_told_everywhere(run: Any, tmp_path: Path) -> None:
    report, out = run(simulate=1), tmp_path / "out"
    assert report.released.workers_are == "simulated"
    dataset = load(str(out))
    assert dataset.card.workers_are == "simulated"
    assert "simulated" in dataset.card.problems[0]
    assert "**The workers are simulated**" in (out / "README.md").read_text("utf-8")
    workers = {judgement.worker for entry in read_lineage(out) for judgement in entry.judgements}
    assert workers
    assert all(worker.startswith("simulated-") for worker in workers)
    assert run().waiting  # without --simulate people are asked


def test_the_same_seed_gives_the_same_bytes(run: Any, tmp_path: Path) -> None:
    run("one", simulate=1)
    run("two", simulate=1)
    run("three", simulate=2)
    one, two, three = (
        [(tmp_path / out / name).read_bytes() for name in RELEASE]
        for out in ("one", "two", "three")
    )
    assert one == two != three


@pytest.mark.parametrize("place", range(6))
def test_killed_anywhere_it_resumes(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Interrupted inside each stage in turn, and while the release is written, it ends as if nothing had been."""
    run("whole", simulate=1)
    steps = ["short", "picked", "labelled", "parted"]

    def dying(function: Callable[..., Iterator[Outcome]]) -> Callable[..., Iterator[Outcome]]:
        def run_some(inputs: Inputs, config: Any) -> Iterator[Outcome]:
            yield next(iter(function(inputs, config)))
            raise KeyboardInterrupt

        return run_some

    recipe = RECIPE
    if place < len(steps):
        stages = [with_function(s, dying) if s.name == steps[place] else s for s in RECIPE.stages]
        recipe = Recipe(**{**vars(RECIPE), "stages": tuple(stages)})
    else:
        name = ("write_card", "write_lineage")[place - len(steps)]
        monkeypatch.setattr(_build_release, name, interrupt)
    options = BuildOptions(config=tmp_path / "moods.toml", simulate=1)
    with pytest.raises(KeyboardInterrupt):
        build(recipe, tmp_path / "out", options)
    assert not (tmp_path / "out" / "card.json").exists()
    monkeypatch.undo()
    RAN.clear()
    build(RECIPE, tmp_path / "out", options)
    assert set(RAN) == set(steps[place:])
    for name in RELEASE:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def interrupt(*given: Any) -> None:
    raise KeyboardInterrupt


def with_function(stage: Stage | Ask, change: Any) -> Stage:
    assert isinstance(stage, Stage)
    return Stage(stage.name, stage.title, change(stage.run), stage.reads, stage.uses, stage.writes)


def test_two_builds_of_one_folder_are_refused(run: Any, config: Path, tmp_path: Path) -> None:
    def meanwhile(inputs: Inputs, config_: Any) -> Iterator[Outcome]:
        with pytest.raises(BadInput, match="is being built by another process"):
            run()
        yield from read(inputs, config_)

    first = Stage("short", "short lines", meanwhile, ("lines",), ("longest",))
    recipe = Recipe(**{**vars(RECIPE), "stages": (first, *RECIPE.stages[1:])})
    assert build(recipe, tmp_path / "out", BuildOptions(config=config)).waiting


def test_missing_sources_are_named(config: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match='does not set lines; add lines = "FILE"'):
        build(RECIPE, tmp_path / "out")
    (tmp_path / "empty.toml").touch()
    with pytest.raises(BadInput, match=r"empty\.toml: the config of .* does not set lines; add"):
        build(RECIPE, tmp_path / "out", BuildOptions(config=tmp_path / "empty.toml"))
    (tmp_path / "lines.txt").unlink()
    with pytest.raises(BadInput, match=r"lines\.txt: no such file; correct lines in .*moods\.toml"):
        build(RECIPE, tmp_path / "out", BuildOptions(config=config))
    assert not (tmp_path / "out").exists()


def test_other_datasets_are_left_alone(run: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "card.json").write_text("{}", "utf-8")
    with pytest.raises(BadInput, match="contains a dataset that no build made"):
        run(simulate=1)
    assert (tmp_path / "out" / "card.json").read_text("utf-8") == "{}"


def test_nothing_left_is_an_error(run: Any, config: Path, tmp_path: Path) -> None:
    config.write_text('lines = "lines.txt"\nlongest = 0\n', "utf-8")
    with pytest.raises(BadInput, match="nothing is left to release of moods"):
        run(simulate=1)


def test_a_stage_cannot_see_what_it_does_not_name(config: Path, tmp_path: Path) -> None:
    stage = Stage("short", "short lines", read, ("lines",))
    recipe = Recipe(**{**vars(RECIPE), "stages": (stage, *RECIPE.stages[1:])})
    with pytest.raises(AttributeError, match="longest"):
        build(recipe, tmp_path / "out", BuildOptions(config=config))


def test_a_recipe_that_does_not_hang_together_is_refused() -> None:
    with pytest.raises(ValueError, match="picked reads"):
        Recipe(**{**vars(RECIPE), "stages": RECIPE.stages[1:]})


@pytest.mark.parametrize("name", list(recipes()))
def test_every_recipe_explains_its_settings(name: str, tmp_path: Path) -> None:
    recipe = recipes()[name]
    path = tmp_path / "config.toml"
    path.write_text(show_config(recipe), "utf-8")
    assert read_config(recipe, path) == recipe.config()
    assert "\n# \n" not in "\n" + path.read_text("utf-8")
    fields = {found.name for found in msgspec.structs.fields(recipe.config)}
    for stage in recipe.stages:
        assert set(stage.uses) <= fields, stage.name
        if isinstance(stage, Ask):
            assert stage.form in ANSWER_READERS
            assert stage.workers in fields
            assert stage.simulate is not None


@pytest.mark.parametrize(
    ("form", "given", "read_as"),
    [
        ("ranked", "a > b", ["a", "b"]),
        ("ranked", ["b"], ["b"]),
        ("scale", 3, 3),
        ("write-hypotheses", "x\ny\n", ["x", "y"]),
        ("further-answers", 7, "7"),
        (
            "write-question",
            "q?\na\nr?\nb",
            [{"question": "q?", "answer": "a"}, {"question": "r?", "answer": "b"}],
        ),
        ("multiple-choice", "t", 1),
        ("multiple-choice", 0, 0),
        (
            "span-tagging",
            [{"start": 0, "end": 1, "label": "a"}],
            [{"start": 0, "end": 1, "label": "a"}],
        ),
        ("multiple-selection", "b | a", ["a", "b"]),
        ("multiple-selection", '["b"]', ["b"]),
        ("tree", "2:a 0:b", {"heads": [2, 0], "labels": ["a", "b"]}),
        (
            "tree",
            '{"heads": [2, 0], "labels": ["a", "b"]}',
            {"heads": [2, 0], "labels": ["a", "b"]},
        ),
    ],
)
def test_answers_take_one_shape(form: str, given: Any, read_as: Any) -> None:
    item = Example(
        id="1",
        inputs={"text": "海", "choices": ["s", "t"], "words": [{"form": "s"}, {"form": "t"}]},
    )
    asked = Question(Ask("n", "t", (), form, "q", "w", labels=("a", "b"), scale=(0, 5)), 1, 2)
    assert ANSWER_READERS[form].read(given, asked, item) == read_as


@pytest.mark.parametrize(
    ("form", "given"),
    [
        ("choice", "c"),
        ("ranked", "a>a"),
        ("scale", 6),
        ("scale", "x"),
        ("write-hypotheses", "x"),
        ("further-answers", " "),
        ("write-question", "q?"),
        ("multiple-choice", 2),
        ("multiple-choice", "u"),
        ("span-tagging", [{"start": 0, "end": 9, "label": "a"}]),
        ("span-tagging", "x"),
        ("span-tagging", [{"start": "0", "end": 1, "label": "a"}]),
        ("span-tagging", [{"start": True, "end": 1, "label": "a"}]),
        (
            "span-tagging",
            [{"start": 0, "end": 1, "label": "a"}, {"start": 0, "end": 1, "label": "b"}],
        ),
        ("span-tagging", [{"start": 0, "end": 1, "label": ["a"]}]),
        ("multiple-selection", "a | a"),
        ("multiple-selection", "c"),
        ("multiple-selection", []),
        ("reading-answers", "陸"),
        ("reading-answers", ""),
        ("reading", "何？"),
        ("tree", "2:a 1:b"),
        ("tree", "2:a 0:c"),
        ("tree", "2:a"),
        ("tree", "2:a b"),
        ("tree", "{"),
        ("tree", {"heads": "20", "labels": ["a", "b"]}),
        ("tree", {"heads": [2, 0], "labels": ["a"]}),
        ("tree", [2, 0]),
    ],
)
def test_answers_of_another_shape_are_refused(form: str, given: Any) -> None:
    item = Example(
        id="1",
        inputs={"text": "海", "choices": ["s", "t"], "words": [{"form": "s"}, {"form": "t"}]},
    )
    asked = Question(Ask("n", "t", (), form, "q", "w", labels=("a", "b"), scale=(0, 5)), 1, 2)
    with pytest.raises(ValueError, match=r"."):
        ANSWER_READERS[form].read(given, asked, item)


@pytest.mark.slow
def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = CliRunner().invoke(app(), ["build", "list", "--json"])
    assert {row["recipe"] for row in msgspec.json.decode(listed.stdout_bytes)} == set(recipes())
    assert isinstance(
        CliRunner().invoke(app(), ["build", "jmli", "--out", "x"]).exception, UnknownName
    )
    assert "--out" in str(CliRunner().invoke(app(), ["build", "jnli"]).exception)
    shown = CliRunner().invoke(app(), ["build", "jnli", "--show-config"])
    assert "edit_distance = 0.75" in shown.stdout


def test_lineage_on_the_command_line(run: Any, tmp_path: Path) -> None:
    run(simulate=1)
    entry = next(read_lineage(tmp_path / "out"))
    where = ["--in", str(tmp_path / "out")]
    shown = CliRunner().invoke(app(), ["lineage", entry.example, *where])
    assert "lines.txt" in shown.stdout
    assert "simulated-" in shown.stdout
    told = CliRunner().invoke(app(), ["lineage", entry.item, *where, "--json"])
    assert (
        msgspec.json.decode(told.stdout_bytes)["example"]
        == entry.example
        == find_lineage(entry.item, tmp_path / "out").example
    )


class Noted(Settings, kw_only=True):
    """Settings whose notes stand below the fields."""

    longest: int = 9
    """Characters, at most, as the note of an annotation says it, too."""
    seed: int = 3
    """Another note than that of every
    recipe."""
    bare: int = 1


def test_the_note_of_a_setting_may_stand_below_it() -> None:
    rows = {row["name"]: row for row in settings_of(dataclass_replace(RECIPE, config=Noted))}
    assert rows["seed"]["about"] == "Another note than that of every recipe."
    assert rows["longest"]["about"].startswith("Characters, at most, as the note")
    assert (rows["workers"]["about"], rows["bare"]["about"]) == ("Workers a line.", "")
    assert rows["version"] == {
        "name": "version",
        "default": "1.0",
        "about": "Version of the release.",
    }
