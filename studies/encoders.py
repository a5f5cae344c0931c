"""The effect of pre-training: an encoder against the same architecture from random weights, and the embedded models.

`python -m studies.encoders --ja DIR --ko DIR --out DIR [--workers N]`. DIR are folders of encoders, as `nikawa pretrain` leaves them.
Settings are chosen on dev by one seed (or on a part of the available data, see docs/run.md), figures are over five seeds, and every difference
has a paired test over items and seeds, corrected for all of them together (Holm). `--only train` needs a GPU,
`--only baselines,report` does not: copy the folder of the runs from one machine to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nikawa.datasets import tasks
from nikawa.errors import BadInput, NikawaError, list_names
from nikawa.models import parse_model_name
from nikawa.models.baseline import choose_baseline
from nikawa.runs.job import RunCell, RunReport, RunRequest
from studies._folder import without_weights
from studies._pairs import Contest, contests
from studies._place import Place, at_hand, place_of, said, start, tell, words
from studies._plot import PICTURE, in_order, write_differences
from studies._stored import stored_cells
from studies._tables import fewer_seeds, figures, grid_table, section, splits_table, write_page

EPOCHS: dict[str, dict[str, float]] = {
    "ja": {"jsick-nli": 6, "jsick-sts": 6, "jsts": 5, "jcola": 5, "jcommonsenseqa": 4, "jamp": 8},
    "ko": {"klue-nli": 6, "klue-sts": 10, "klue-ner": 6, "klue-dp": 10},
}
TINY: dict[str, dict[str, float]] = {"ja": {"mini-ja-nli": 1}, "ko": {"mini-ko-ner": 1}}
LONGER = 2
"""Random weights train this many times as long, except where all models train long."""
AS_LONG = ("jamp",)
RATES = {False: (1e-4, 3e-4, 6e-4), True: (1e-4, 3e-4, 1e-3)}
"""Learning rates by whether the weights are random: each kind has its own range."""
SETTINGS: dict[str, dict[str, Any]] = {
    "jamp": {"batch": 64},
    "klue-nli": {"batch": 64},
    "klue-ner": {"batch": 64, "max_length": 256},
    "klue-dp": {"batch": 64, "max_length": 256},
}
PREFIX = "random-"
SAID = """Mean ± standard deviation over seeds. One seed chose the settings on the set in the table of the grid. Random weights trained
{longer} times as long ({but}: as long), with their own learning rates. Each difference has a 95% interval and a p-value (Welch's t over items and seeds, Holm over
all {tests} tests of this page); **bold** means p is below 5%. Intervals
are not corrected: one that ends just next to zero may still be due to chance."""


@dataclass(frozen=True)
class Sides:
    """The systems of a language, by the names that tables and runs have for them."""

    trained: str
    random: str
    tasks: tuple[str, ...]
    baseline: str = "baseline"


def bare_name(models: Mapping[str, Path], language: str) -> str:
    """The name of the encoder without weights: encoders of two languages may have the same name."""
    name = models[language].name
    alone = sum(model.name == name for model in models.values()) == 1
    return f"{PREFIX}{name}" if alone else f"{PREFIX}{language}-{name}"


def requests(models: Mapping[str, Path], language: str, place: Place) -> list[RunRequest]:
    """The trained encoder and the random one on every available task."""
    model, found = models[language], (TINY if place.tiny else EPOCHS)[language]
    bare = without_weights(model, place.out / bare_name(models, language))
    asked = []
    for task in at_hand(tuple(found), place):
        for folder, random in ((model, False), (bare, True)):
            epochs = found[task] * (LONGER if random and task not in AS_LONG else 1)
            settings = {
                "epochs": epochs,
                "scratch": random,
                "dropout": 0.1,
                **SETTINGS.get(task, {}),
            }
            rates = RATES[random][:2] if place.tiny else RATES[random]
            seeds = tuple(range(place.seeds))
            asked.append(
                RunRequest(
                    (task,),
                    (f"encoder:{folder}",),
                    seeds,
                    settings,
                    {"learning_rate": rates},
                    choose_seeds=1,
                )
            )
    return asked


def baselines(language: str, place: Place) -> list[RunRequest]:
    """The embedded model of every task, by two seeds, so that a test can measure its variation (most do not vary).

    If a part is held out to choose settings, the embedded model gets a choice too, so that it learns from and answers the same examples.
    """
    names = at_hand(tuple((TINY if place.tiny else EPOCHS)[language]), place)
    return [
        RunRequest((name,), ("baseline",), (0, 1), grid=_choice(name), choose_seeds=1)
        for name in names
    ]


def _choice(name: str) -> Mapping[str, tuple[str, ...]]:
    return (
        {"model": (choose_baseline(tasks()[name]), "majority")}
        if name.startswith(("klue-", "jamp"))
        else {}
    )


def train(models: Mapping[str, Path], place: Place) -> int:
    """The runs that are not done yet; how many failed."""
    asked = (
        [r for language in models for r in requests(models, language, place)]
        if "train" in place.parts
        else []
    )
    plain = (
        [r for language in models for r in baselines(language, place)]
        if "baselines" in place.parts
        else []
    )
    done: list[RunReport] = [start(part, place) for part in (asked, plain) if part]
    return sum(len(report.problems) for report in done)


def tell_all(models: Mapping[str, Path], place: Place) -> None:
    """The tables in Markdown."""
    tried = TINY if place.tiny else EPOCHS
    sides = [
        Sides(
            parse_model_name(f"encoder:{m}").short,
            f"encoder:{bare_name(models, which)}",
            tuple(tried[which]),
        )
        for which, m in models.items()
    ]
    cells = stored_cells(place.runs, place.data)
    found = contests(
        place.runs,
        list(
            dict.fromkeys(
                [(s.random, s.trained) for s in sides] + [(s.baseline, s.trained) for s in sides]
            )
        ),
        place,
    )
    names = {
        name: word
        for s in sides
        for name, word in ((s.trained, s.trained.partition(":")[2]), (s.random, "random weights"))
    }
    rows = [row for side in sides for row in _rows(cells, found, side)]
    if not rows:
        cure = f"pass the folders that the encoders were run from (--ja, --ko); the runs have {list_names(sorted({c.model for c in cells})) or 'no models'}"
        raise BadInput(
            f"contains no results of {list_names([s.trained for s in sides])}",
            file=place.runs,
            cure=cure,
        )
    marks = {
        pair: name
        for s in sides
        for pair, name in (
            ((s.random, s.trained), "over random weights"),
            ((s.baseline, s.trained), "over the embedded model"),
        )
    }
    write_differences(
        place.out / PICTURE, in_order(found, EPOCHS), marks, "The effect of pre-training"
    )
    parts = [
        "# Encoders against random weights and embedded models",
        "This is a trial of the study with very small models. Its figures have no meaning."
        if place.tiny
        else "",
        SAID.format(longer=LONGER, but=", ".join(AS_LONG), tests=len(found)),
        section("Results", figures(COLUMNS, rows, 4)),
        fewer_seeds(cells, names),
        f"![Differences in points, with 95% intervals]({PICTURE})" if found else "",
        section("JAMP's training splits", splits_table(cells, names)),
        section("The grid", grid_table(place.runs, names)),
    ]
    write_page(place.out / "results.md", parts)
    tell(str(place.out / "results.md"))


COLUMNS = (
    "task",
    "trained on",
    "metric",
    "set",
    "n",
    "encoder",
    "random weights",
    "baseline",
    "over random",
    "over baseline",
)
Key = tuple[str, str, str, str]


def _rows(cells: Sequence[RunCell], found: Sequence[Contest], side: Sides) -> Iterator[list[Any]]:
    by_model: dict[str, dict[Key, RunCell]] = {}
    for cell in cells:
        if not cell.where and cell.task in side.tasks:
            by_model.setdefault(cell.model, {})[
                cell.task, cell.variation, cell.set, cell.metric
            ] = cell
    for key, cell in sorted(by_model.get(side.trained, {}).items(), key=_place_of_row):
        others = [by_model.get(name, {}).get(key) for name in (side.random, side.baseline)]
        tests = [_test(found, key, name, side.trained) for name in (side.random, side.baseline)]
        learned = key[1].removeprefix("trained on ") or "its own"
        where = f"{cell.set}{f' ({cell.protocol})' if cell.protocol else ''}"
        yield [cell.task, learned, cell.metric, where, cell.n, cell, *others, *tests]


def _place_of_row(row: tuple[Key, RunCell]) -> tuple[int, str, str]:
    """Tasks in the order of the study, what was trained as published before other training sets."""
    task, variation, name, _ = row[0]
    order = [task for found in EPOCHS.values() for task in found]
    return order.index(task) if task in order else len(order), variation, name


def _test(found: Sequence[Contest], key: Key, first: str, second: str) -> Contest | None:
    task, variation, name, metric = key
    return next(
        (
            c
            for c in found
            if (c.task, c.variation, c.set, c.metric, c.first, c.second)
            == (task, variation, name, metric, first, second)
        ),
        None,
    )


def main(given: Sequence[str] | None = None) -> int:
    """Run the study; returns 0 when all of it is done, 1 when some runs are not, 2 for bad input."""
    options = words(__doc__ or "", 5)
    options.add_argument("--ja", type=Path, help="folder of a Japanese encoder")
    options.add_argument("--ko", type=Path, help="folder of a Korean encoder")
    asked = options.parse_args(given)
    place, models = place_of(asked), {k: v for k, v in (("ja", asked.ja), ("ko", asked.ko)) if v}
    if not models:
        return said(
            BadInput(
                "no encoder is named",
                cure="pass --ja DIR or --ko DIR, encoders made by nikawa pretrain",
            )
        )
    try:
        failed = train(models, place)
        if "report" in place.parts:
            tell_all(models, place)
    except NikawaError as problem:
        return said(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
