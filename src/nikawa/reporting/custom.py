"""What a dataset of one's own brings to a report: the answers of its workers, how its build was judged, what made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote

from nikawa.datasets.custom import card_of, is_own
from nikawa.datasets.reader import ExampleReader
from nikawa.generation.card import made_by
from nikawa.io.folders import JUDGEMENTS
from nikawa.io.json import read_json
from nikawa.recipes.release import BUILT, Built
from nikawa.reporting.card import Figures


def judgements_of(dataset: str) -> str:
    """The judgements that are kept beside the splits of a folder; empty where there are none."""
    path = Path(dataset) / JUDGEMENTS
    return str(path) if is_own(dataset) and path.is_file() else ""


def hides(dataset: str, data: Path | None = None) -> bool:
    """Whether labels of a folder are hidden: how often workers gave each answer would then tell of them."""
    splits = ExampleReader(data).own(dataset).splits
    return any(example.hidden for examples in splits.values() for example in examples)


def figures_of(dataset: str) -> Figures | None:
    """The figures of the build that made a folder; None where none did."""
    path = Path(dataset) / BUILT
    return read_json(path, Built).figures if is_own(dataset) and path.is_file() else None


def asked(figures: Figures) -> Iterator[tuple[tuple[str, int, str], tuple[str, ...]]]:
    """The agreement of a build: where each figure stands in its file, and a row of what was asked, of whom, and the figure."""
    for i, ask in enumerate(figures.asks):
        for name, value in ask.agreement.items():
            words = (
                f"{ask.items:,}",
                f"{ask.workers:,}" + (" (some simulated)" if ask.simulated else ""),
            )
            yield ("asks", i, name), (ask.title, *words, name, f"{value:.3f}")


def data_commands(datasets: Iterable[str]) -> list[str]:
    """What makes the datasets anew, where their cards tell."""
    own = {name: made_by(card_of(name)[0]) for name in datasets if is_own(name)}
    return [f"{line} --out {quote(name)}" for name, line in own.items() if line]
