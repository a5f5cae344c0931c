"""Scores of small encoders from random weights: grid, seeds, learning curves, JAMP's splits, the stress test.

`python -m studies.scratch --out DIR [--data DIR] [--workers N] [--tiny]`. There are no pre-trained weights: characters are the
tokens, and models learn only from the training set of the task. Every step is a run of `nikawa run`; the page is that of
`nikawa report`, the tables are in `results.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nikawa.datasets import tasks
from nikawa.datasets.jamp.splits import split_names
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import NikawaError
from nikawa.records import texts_inside
from nikawa.reporting.job import ReportOptions, report
from nikawa.runs.job import RunCell, RunReport, RunRequest
from studies._folder import SMALL, TINY, characters
from studies._place import Place, at_hand, place_of, said, start, tell, words
from studies._stored import stored_cells
from studies._tables import (
    curve_table,
    grid_table,
    main_table,
    section,
    splits_table,
    stress_table,
    write_page,
)

NAME = "scratch-ja"
TASKS = ("jsts", "jsick-nli", "jsick-sts", "jcola", "jcommonsenseqa", "jamp")
STRESS = {"jsick-stress-nli": "jsick-nli", "jsick-stress-sts": "jsick-sts"}
"""For each stress task, the task whose settings it uses."""
EMBEDDED = ("mini-ja-nli", "mini-ja-choice")
EPOCHS = {"jamp": 8, "jcola": 10}
COMMON: dict[str, Any] = {
    "scratch": True,
    "dropout": 0.1,
    "batch": 64,
    "epochs": 15,
    "max_length": 128,
}
RATES = (1e-4, 3e-4, 1e-3)
SHARES = (0.25, 0.5, 0.75, 1.0)
SAID = """Encoders of 4 layers of 256 **from random weights**: no pre-training, characters as tokens, trained only on the training
set of the task. These figures show that training works and what the data alone gives. They do not measure what encoders can do."""


@dataclass(frozen=True)
class Recipe:
    """The settings of the study; a trial uses less of everything."""

    tasks: tuple[str, ...]
    stress: tuple[str, ...]
    common: Mapping[str, Any]
    rates: tuple[float, ...] = RATES
    shares: tuple[float, ...] = SHARES

    def settings(self, task: str) -> dict[str, Any]:
        """The settings of a task that are not chosen."""
        return {**self.common, "epochs": EPOCHS.get(task, self.common["epochs"])}


def recipe(place: Place) -> Recipe:
    """The recipe for the available data."""
    stress = at_hand(tuple(STRESS), place)
    if not place.tiny:
        return Recipe(at_hand(TASKS, place), stress, COMMON)
    common = {**COMMON, "batch": 16, "epochs": 1, "max_length": 64}
    return Recipe(at_hand((*EMBEDDED, *TASKS), place), stress, common, (1e-3, 3e-3), (0.5, 1.0))


def chosen(found: Recipe, model: str, place: Place) -> dict[str, dict[str, Any]]:
    """Choose the best settings of every task, by one seed; no test set is answered."""
    grid = {"learning_rate": found.rates}
    asked = [
        RunRequest((task,), (model,), (0,), found.settings(task), grid, train=_whole(task))
        for task in found.tasks
    ]
    report = start(asked, place, only_choose=True)
    return {choice.task: choice.settings for choice in report.chosen}


def _whole(task: str) -> tuple[str, ...]:
    """Only JAMP has training splits that run by default, so name its whole training set."""
    return ("jamp",) if task == "jamp" else ()


def results(
    found: Recipe, model: str, settings: Mapping[str, dict[str, Any]], place: Place
) -> RunReport:
    """Every seed on every share, on JAMP's splits and on the stress sets, with the settings that were chosen."""
    seeds = tuple(range(place.seeds))
    asked = [
        RunRequest(
            (task,), (model,), seeds, settings[task], shares=found.shares, train=_whole(task)
        )
        for task in found.tasks
        if task in settings
    ]
    if "jamp" in settings:
        asked += [
            RunRequest(("jamp",), (model,), seeds, settings["jamp"], train=(f"jamp:{s}",))
            for s in split_names()
        ]
    asked += [
        RunRequest((task,), (model,), seeds, settings[STRESS[task]])
        for task in found.stress
        if STRESS[task] in settings
    ]
    return start(asked, place)


def tell_all(names: dict[str, str], place: Place) -> None:
    """The page of the runs, and the tables in Markdown."""
    page = place.out / "report"
    how = ReportOptions(
        place.data,
        "Small encoders from random weights",
        rounds=500 if place.tiny else None,
        overwrite=page.is_dir(),
        on_progress=tell,
    )
    report([str(place.runs)], page, how)
    sections = json.loads((page / "numbers.json").read_bytes())["sections"]
    write_page(
        place.out / "results.md",
        _parts(stored_cells(place.runs, place.data), sections, names, place),
    )
    tell(f"{place.out / 'results.md'}\n{page / 'index.html'}")


def _parts(
    cells: Sequence[RunCell], sections: list[dict[str, Any]], names: dict[str, str], place: Place
) -> list[str]:
    size = (
        "This is a trial of the study with very small models. Its figures have no meaning."
        if place.tiny
        else SAID
    )
    seeds = f"Mean ± standard deviation over {place.seeds} seeds; one seed chose the settings."
    return [
        "# Small encoders from random weights",
        size,
        seeds,
        section("Results", main_table(cells)),
        section("The grid", grid_table(place.runs, names)),
        section("Learning curves", curve_table(cells)),
        section("JAMP's training splits (as Table 8 of its paper)", splits_table(cells, names)),
        section("The stress test (as Table 16 of JSICK's paper)", stress_table(sections)),
    ]


def main(given: Sequence[str] | None = None) -> int:
    """Run the study; returns 0 when all of it is done, 1 when some runs are not, 2 for bad input."""
    place = place_of(words(__doc__ or "", 3).parse_args(given))
    failed = 0
    try:
        if "train" in place.parts:
            failed = len(train(place).problems)
        if "report" in place.parts:
            tell_all({f"encoder:{NAME}": "from scratch"}, place)
    except NikawaError as problem:
        return said(problem)
    return 1 if failed else 0


def train(place: Place) -> RunReport:
    """All runs of the study that are not done yet."""
    found, reader = recipe(place), ExampleReader(place.data)
    texts = (text for name in found.tasks for text in _texts(name, reader))
    model = f"encoder:{characters(place.out / NAME, texts, TINY if place.tiny else SMALL)}"
    return results(found, model, chosen(found, model, place), place)


def _texts(name: str, reader: ExampleReader) -> list[str]:
    dataset = tasks()[name].dataset
    return [
        text
        for example in reader.all_examples(f"{dataset}:train")
        for text in texts_inside(example.inputs)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
