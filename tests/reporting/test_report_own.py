"""What a dataset of one's own brings to a report: agreement, the figures of its build, what made it, scrambled pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from nikawa.aggregation.agree_job import agree
from nikawa.analysis.job import AnalysisOptions, compute_analyses
from nikawa.datasets import load
from nikawa.io.folders import write_card, write_folder
from nikawa.io.json import encode_json
from nikawa.records import Card, Dataset, Example, Origin
from nikawa.reporting.browser_items import collect_items
from nikawa.reporting.card import AskFigures, Built, Figures
from nikawa.reporting.dataset_notes import DatasetNote, DatasetNoteReader, data_commands
from nikawa.reporting.job import ReportOptions, report
from nikawa.reporting.systems import TaskRuns, load_task_runs
from nikawa.runs.job import RunOptions, RunRequest, run
from nikawa.runs.load import find_runs

LABELS = ("entailment", "contradiction", "neutral")
CARD = Card(
    name="garden",
    title="Garden",
    version="1",
    languages=("ja",),
    licence="CC0",
    citation="none",
    homepage="made here: nikawa generate g -n 2",
    description="",
    labels="",
    workers="three neighbours",
    workers_are="persons",
    source="",
)


def item(n: int) -> Example:
    inputs = {"premise": f"庭に木が{n}本ある。", "hypothesis": f"木が{n % 3}本ある。"}
    return Example(id=f"g{n}", inputs=inputs, gold={"label": LABELS[n % 3]})


def scrambled(n: int) -> Example:
    origin = Origin(
        recipe="perturb", parents=(f"garden:test/g{n}",), step="scramble-o", gold="inherited"
    )
    return replace(
        item(n),
        inputs={"premise": f"木が庭に{n}本ある。", "hypothesis": f"木が{n % 3}本ある。"},
        origin=origin,
    )


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TaskRuns:
    monkeypatch.chdir(tmp_path)
    splits = {
        "train": tuple(map(item, range(12))),
        "test": tuple(map(item, range(12, 18))),
        "scramble-o": tuple(map(scrambled, range(12, 15))),
    }
    write_folder(
        Dataset(name="garden", language="ja", version="1", card=CARD, splits=splits), Path("plot")
    )
    run(RunRequest(tasks=("plot",), models=("majority",)), RunOptions(out=Path("runs"), workers=1))
    (found,) = load_task_runs(find_runs(["runs"]).results)
    return found


def findings(part: TaskRuns) -> list[DatasetNote]:
    return list(DatasetNoteReader().read(part))


def judge(name: str = "garden:test/g12") -> None:
    lines = [
        {"example": name, "worker": w, "question": "label", "answer": a}
        for w, a in zip("abc", LABELS, strict=True)
    ]
    lines += [
        {"example": "garden:test/g13", "worker": w, "question": "label", "answer": "neutral"}
        for w in "abc"
    ]
    Path("plot/judgements.jsonl").write_bytes(b"".join(encode_json(line) + b"\n" for line in lines))


def test_without_judgements_there_is_no_agreement(part: TaskRuns) -> None:
    assert [found.note.title for found in findings(part)] == [
        "Artifacts",
        "The card of garden",
    ]


def test_judgements_beside_the_splits_are_measured(part: TaskRuns) -> None:
    judge()
    agreed = findings(part)[0]
    assert agreed.note.title == "Agreement"
    assert agreed.note.text == "2 items, 3 workers (persons), 6 answers."
    assert (
        "nikawa agree plot/judgements.jsonl --question label --examples plot" in agreed.note.command
    )
    assert agreed.whole is not None
    assert json.loads(encode_json(agreed.whole))["measures"][0]["name"] == "alpha"
    write_card(replace(CARD, workers_are="simulated"), Path("plot"), overwrite=True)
    (again,) = load_task_runs(find_runs(["runs"]).results)
    assert findings(again)[0].note.title == "Agreement of simulated workers"


def test_judgements_about_other_items_are_told(part: TaskRuns) -> None:
    judge("garden:test/g99")
    note = findings(part)[0].note
    assert note.text.startswith("Not measured: ")
    assert "g99" in note.text


def test_the_figures_of_a_build_are_shown(part: TaskRuns) -> None:
    ask = AskFigures(
        name="judge",
        title="Labels",
        form="inference",
        items=6,
        answers=18,
        workers=3,
        each=3,
        simulated=0,
        agreement={"alpha": 0.71},
    )
    figures = Figures(
        stages=(),
        asks=(ask,),
        licences={},
        labels={},
        characters={},
        workers_are="persons",
        answers=18,
        simulated=0,
    )
    built = Built(recipe="garden", version="1", key="k", nikawa="0", config={}, figures=figures)
    Path("plot/build.json").write_bytes(encode_json(built))
    found = findings(part)[0]
    assert found.note.rows == (("Labels", "6", "3", "alpha", "0.710"),)
    assert found.note.sources[0].endswith("#/asks/0/agreement/alpha")
    assert found.whole == figures
    assert data_commands([part]) == [
        '# garden.toml: the settings under "config" in plot/build.json\n'
        "nikawa generate g -n 2 --config garden.toml --out plot"
    ]


def test_the_command_that_made_it_is_told(part: TaskRuns) -> None:
    assert data_commands([part]) == ["nikawa generate g -n 2 --out plot"]
    card = findings(part)[-1].note
    assert ("made by", "nikawa generate g -n 2") in card.rows


def test_scrambled_items_stand_beside_their_originals(part: TaskRuns) -> None:
    """References name the dataset by its card; its folder may be called otherwise and lie anywhere."""
    shown = collect_items(part, "ja")
    assert [p for p in shown.parents if p >= 0] == [0, 1, 2]
    (stress,) = compute_analyses(
        [Path("runs")], options=AnalysisOptions(resamples=50, tokeniser="none")
    ).analyses.across.stress
    assert {(cell.operation, cell.n) for cell in stress.cells if not cell.gold} == {("scramble", 3)}
    assert load("plot").name == "garden"


def test_the_folder_stands_for_its_judgements(part: TaskRuns) -> None:
    judge()
    one, other = (agree(spec).report for spec in ("plot", "plot/judgements.jsonl"))
    assert (one.answers, one.measures) == (6, other.measures)


def test_two_tasks_of_one_slug_share_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`my_garden` and `my-garden` have sections, examples, figures and notes of their own."""
    monkeypatch.chdir(tmp_path)
    for place, first in {"my_garden": 0, "my-garden": 100}.items():
        splits = {
            "train": tuple(map(item, range(first, first + 9))),
            "test": tuple(map(item, range(first + 9, first + 40))),
        }
        write_folder(
            Dataset(name="garden", language="ja", version="1", card=CARD, splits=splits),
            Path(place),
        )
    request = RunRequest(tasks=("my_garden", "my-garden"), models=("majority",))
    run(request, RunOptions(out=Path("runs"), workers=1))
    written = report(["runs"], Path("page"), ReportOptions(rounds=100))
    assert written.tasks == ("my-garden", "my_garden (2)")
    notes = [name for name in written.files if name.endswith("-artifacts.json")]
    assert notes == ["dataset/my-garden-2-artifacts.json", "dataset/my-garden-artifacts.json"]
    page = Path("page/index.html").read_text("utf-8")
    assert page.count('id="items-my-garden"') == page.count('id="items-my-garden-2"') == 1
    for file in re.findall(r'href="(figures/[^"]+)"', page):
        assert Path("page", file).is_file()
