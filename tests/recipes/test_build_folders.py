"""What a folder of a build may hold, and files of answers as people leave them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace as dataclass_replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta
from msgspec.structs import replace

from nikawa.datasets import benchmarks, load
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.io.lines import read_lines
from nikawa.recipes.amend import AmendOptions, amend
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.recipes.decide import assign_splits, decide
from nikawa.recipes.recipe import Ask, Config, Inputs, Kept, Outcome, Recipe, Stage, found_in
from nikawa.records import Example, Origin

MADE = (
    "README.md",
    "build.json",
    "card.json",
    "lineage.index",
    "lineage.jsonl",
    "test.jsonl",
    "train.jsonl",
)


class Settings(Config, kw_only=True):
    lines: Annotated[str, Meta(description="A text file.")] = ""
    workers: Annotated[int, Meta(description="Workers a line.")] = 2


def read(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    path = inputs.file("lines")
    for number, text in read_lines(path):
        yield Kept(Example(id=text, inputs={"text": text}, meta=found_in(path, number)))


def repeat(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    for line in inputs.examples("read"):
        made = Origin(recipe="moods", parents=(line.id,))
        yield Kept(
            replace(line, id=f"{line.id}!", inputs={"text": line.inputs["text"] * 2}, origin=made)
        )


def label(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    yield from decide(inputs, "read", "mood", "majority")


def split(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    sets = {"train": "train", "test": "test"}
    lines = [*inputs.examples("labelled"), *inputs.examples("twice")]
    yield from assign_splits(lines, "0.5,0.5", config.seed, lambda e: e.id, sets)


RECIPE = Recipe(
    name="moods",
    title="lines and moods",
    language="ja",
    config=Settings,
    sources=("lines",),
    stages=(
        Stage("read", "lines", read, ("lines",)),
        Stage("twice", "each line twice, which nobody judges", repeat, ("read",)),
        Ask(
            "mood",
            "the mood",
            ("read",),
            "choice",
            "label",
            "workers",
            labels=("glad", "sad"),
            simulate=lambda e, c, r: "sad" if e.id == "0日目" else "glad",
        ),
        Stage("labelled", "all agree", label, ("read", "mood")),
        Stage(
            "parted", "half and half", split, ("labelled", "twice"), ("seed",), ("train", "test")
        ),
    ),
    splits={"train": "train", "test": "test"},
    card=lambda config: replace(benchmarks()["mini-ja"].card, name=config.name or "moods"),
    question="label",
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_text("".join(f"{n}日目\n" for n in range(6)), "utf-8")
    path = tmp_path / "moods.toml"
    path.write_text('lines = "lines.txt"\n', "utf-8")
    return path


@pytest.fixture
def run(config: Path, tmp_path: Path) -> Callable[..., BuildReport]:
    return lambda **how: build(RECIPE, tmp_path / "out", BuildOptions(config=config, **how))


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """The folder where the answers go."""
    return tmp_path / "out" / "people" / "mood"


def answers(sheet: Path) -> None:
    ids = [
        line.split(",")[0] for line in (sheet / "tasks.csv").read_text("utf-8-sig").splitlines()[1:]
    ]
    rows = [f"{i},{w},glad" for i in ids for w in "xy"]
    (sheet / "answers.csv").write_text("\n".join(["example,worker,answer", *rows]) + "\n", "utf-8")


def states(report: BuildReport) -> dict[str, str]:
    return {stage.name: stage.state for stage in report.stages}


def test_the_lineage_leaves_out_what_was_asked_about_a_parent_for_another_end(
    run: Any, tmp_path: Path
) -> None:
    run(simulate=1)
    judged, made = find_lineage("0日目", tmp_path / "out"), find_lineage("0日目!", tmp_path / "out")
    assert [step.stage for step in judged.steps] == ["read", "labelled", "parted"]
    assert len(judged.judgements) == 2
    assert [step.stage for step in made.steps] == ["read", "twice", "parted"]
    assert not made.judgements
    assert made.sources[0]["item"] == "0日目"


def test_another_recipe_does_not_build_in_the_same_folder(
    run: Any, config: Path, tmp_path: Path
) -> None:
    run()
    other = dataclass_replace(RECIPE, name="weathers")
    with pytest.raises(
        BadInput, match=r"out: is where moods is built; choose another folder for weathers"
    ):
        build(other, tmp_path / "out", BuildOptions(config=config))
    assert states(run())["mood"] == "waiting"


def test_a_folder_where_nothing_was_built_is_free(run: Any, config: Path, tmp_path: Path) -> None:
    other = dataclass_replace(
        RECIPE, name="weathers", stages=(replace_run(RECIPE.stages[0]),), splits={}
    )
    with pytest.raises(BadInput, match="no such line"):
        build(other, tmp_path / "out", BuildOptions(config=config))
    assert states(run())["mood"] == "waiting"


def replace_run(stage: Stage | Ask) -> Stage:
    def fail(inputs: Inputs, config: Any) -> Iterator[Outcome]:
        raise BadInput("no such line")

    assert isinstance(stage, Stage)
    return dataclass_replace(stage, run=fail)


def test_another_name_is_another_release(run: Any, config: Path, tmp_path: Path) -> None:
    run(simulate=1)
    config.write_text('lines = "lines.txt"\nname = "mine"\n', "utf-8")
    with pytest.raises(BadInput, match=r"contains the release 1\.0 of other items or settings"):
        run(simulate=1)
    run(simulate=1, overwrite=True)
    assert load(str(tmp_path / "out")).name == "mine"
    assert find_lineage("0日目", tmp_path / "out").example.startswith("mine:")


def test_a_source_that_moved_is_the_same_source(run: Any, config: Path, tmp_path: Path) -> None:
    run(simulate=1)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "lines.txt").rename(tmp_path / "elsewhere" / "lines.txt")
    config.write_text('lines = "elsewhere/lines.txt"\n', "utf-8")
    again = run(simulate=1)
    assert states(again)["read"] == "kept"
    assert again.released is not None
    assert not again.released.fresh


def test_a_build_that_replaces_a_corrected_version_takes_its_changelog_away(
    run: Any, tmp_path: Path
) -> None:
    run(simulate=1)
    (tmp_path / "fix.csv").write_text("id,label\n0日目,glad\n", "utf-8")
    amend(
        str(tmp_path / "out"),
        tmp_path / "fix.csv",
        tmp_path / "out",
        options=AmendOptions(overwrite=True),
    )
    assert (tmp_path / "out" / "CHANGELOG.md").exists()
    run(simulate=1, overwrite=True)
    left = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert left == set(MADE)


def test_ids_that_are_formulas_come_back(
    run: Any, sheet: Path, config: Path, tmp_path: Path
) -> None:
    (tmp_path / "lines.txt").write_text("=1+2\n-3\n犬/4\n", "utf-8")
    run()
    assert "\n'=1+2," in (sheet / "tasks.csv").read_text("utf-8-sig")
    answers(sheet)
    assert states(run())["mood"] == "made"
    asked = {found.example for found in find_lineage("=1+2", tmp_path / "out").judgements}
    assert asked == {"=1+2"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("answers.xlsx", "PK", "is a workbook, which cannot be read; save its sheet as CSV UTF-8"),
        (
            "answers.csv",
            "example,answer\n0日目,glad\n",
            "name the columns example, worker and answer",
        ),
    ],
)
def test_files_that_cannot_be_read_say_what_helps_here(
    run: Any, sheet: Path, name: str, content: str, said: str
) -> None:
    run()
    (sheet / name).write_text(content, "utf-8")
    with pytest.raises(BadInput, match=said):
        run()


def test_bytes_of_no_known_writing_are_refused(run: Any, sheet: Path) -> None:
    run()
    (sheet / "answers.csv").write_bytes(b"example,worker,answer\n0,\xff\xfe,glad\n")
    with pytest.raises(BadInput, match=r"answers\.csv: is neither .+; save it as UTF-8$"):
        run()


def test_a_folder_with_another_dataset_is_refused_before_anybody_is_asked(
    run: Any, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "card.json").write_text("{}", "utf-8")
    with pytest.raises(BadInput, match="contains a dataset that no build made"):
        run()
    assert not (tmp_path / "out" / "people").exists()


def test_an_answer_about_another_item_is_not_taken_for_one_that_ends_alike(
    run: Any, sheet: Path, tmp_path: Path
) -> None:
    (tmp_path / "lines.txt").write_text("7\n犬/4\n", "utf-8")
    run()
    rows = "".join(f"{name},{worker},glad\n" for name in ("a/7", "q:all/犬/4") for worker in "xy")
    (sheet / "answers.csv").write_text(f"example,worker,answer\n{rows}", "utf-8")
    (waiting,) = run().waiting
    assert (waiting.answers, waiting.lacking, waiting.unknown) == (2, 1, ("a/7",))
