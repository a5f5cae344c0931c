"""What a split knows of examples whose gold `nikawa aggregate` made: its card is filled, and the lineage is kept."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from nikawa.aggregation.report import AggregateReport
from nikawa.datasets.lineage import INDEX, LINEAGE, Lineage, Step, write_lineage
from nikawa.errors import BadInput, suggest
from nikawa.io.cards import SHOWN, wrong
from nikawa.io.folders import JUDGEMENTS
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.records import read_records
from nikawa.io.staged import staged_files
from nikawa.records import Card, Dataset, Judgement, Record, reference
from nikawa.version import __version__

EXAMPLES, ITEMS, SUMMARY = "examples.jsonl", "items.jsonl", "summary.json"
SAYABLE = (
    "name",
    "title",
    "version",
    "licence",
    "citation",
    "homepage",
    "description",
    "labels",
    "workers",
    "workers_are",
    "source",
)
"""What may be said of a dataset that has no card of its own."""
_REFERENCE = re.compile(r"[^/:]+:[^/:]+/(.+)")


class Made(Record, frozen=True, kw_only=True):
    """A folder of `nikawa aggregate`."""

    folder: Path
    report: AggregateReport


def made_of(spec: str) -> Made | None:
    """What made the examples of a file, where that lies beside them."""
    path = Path(spec)
    if path.name != EXAMPLES or not all(
        (path.parent / name).is_file() for name in (ITEMS, SUMMARY)
    ):
        return None
    return Made(folder=path.parent, report=read_json(path.parent / SUMMARY, AggregateReport))


def described(dataset: Dataset, made: Made | None, said: Mapping[str, str]) -> Dataset:
    """The dataset with what is known of its judgements, and what was said of it, on its card."""
    told = {} if made is None else _told(made.report)
    for name in said:
        if name not in SAYABLE:
            raise BadInput(f"a card has no {name!r} to be said", cure=suggest(name, SAYABLE))
    values = {**msgspec.to_builtins(dataset.card), **told, **said}
    check_name(values["name"])
    if "name" in said and dataset.card.title == dataset.card.name:
        values = {**values, "title": said.get("title", said["name"])}
    if faults := "; ".join(wrong(values)):
        raise BadInput(f"the card cannot be so: {faults}", cure=SHOWN)
    card = msgspec.convert(values, Card)
    return replace(dataset, name=card.name, version=card.version, card=card)


def check_name(name: str, file: Path | None = None) -> None:
    """Refuse a name that no dataset can have."""
    if not name.strip() or set(":/") & set(name):
        raise BadInput(
            f"{name!r} is no name of a dataset", file=file, cure="write it without : and /"
        )


def _told(report: AggregateReport) -> dict[str, str]:
    rules = "; ".join(
        f"{rule.question} by {rule.rule} (ties: {rule.ties}), {rule.accepted:,} of {rule.items:,} items"
        for rule in report.rules
    )
    kinds: dict[str, Literal["persons", "columns", "simulated"]] = {
        "columns": "columns",
        "simulated": "simulated",
    }
    return {
        "labels": f"Made of workers' answers by nikawa aggregate: {rules}.",
        "workers": f"{report.workers:,} workers, {report.answers:,} answers about {report.items:,} items",
        "workers_are": kinds.get(report.workers_are, "persons"),
    }


def keep_lineage(dataset: Dataset, made: Made, how: str, folder: Path) -> None:
    """Write the lineage of a split beside it: every judgement, what made the gold, and the way of splitting."""
    old = [name for name in (LINEAGE, INDEX) if (folder / name).exists()]
    with staged_files(folder, old, INDEX) as staging:
        write_lineage(staging, _lineages(dataset, made, how))


def _lineages(dataset: Dataset, made: Made, how: str) -> Iterator[Lineage]:
    ids = {example.id for examples in dataset.splits.values() for example in examples}
    steps, judged = _steps(made, ids), _judged(made, ids)
    for split, examples in dataset.splits.items():
        for example in examples:
            yield Lineage(
                example=reference(dataset.name, split, example.id),
                item=example.id,
                split=split,
                recipe="aggregate",
                version=dataset.version,
                nikawa=__version__,
                inputs=example.inputs,
                gold=example.gold,
                tags=tuple(sorted(example.tags)),
                judgements=tuple(judged.get(example.id, ())),
                steps=(*steps.get(example.id, ()), Step(stage="split", item=example.id, rule=how)),
            )


def _steps(made: Made, ids: Container[str]) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for _, line in read_json_lines(made.folder / ITEMS, dict[str, Any]):
        rule = f"{line['question']}: {line['by']} ({line['why']})"
        by, why = line.get("decided_by"), line.get("reason")
        if by or why:
            rule += f"; decided{f' by {by}' if by else ''}{f': {why}' if why else ''}"
        item = _id(line["example"], ids)
        found.setdefault(item, []).append(Step(stage="aggregate", item=item, rule=rule))
    return found


def _judged(made: Made, ids: Container[str]) -> dict[str, list[Judgement]]:
    found: dict[str, list[Judgement]] = {}
    path = made.folder / JUDGEMENTS
    for judgement in read_records(path, Judgement) if path.is_file() else ():
        found.setdefault(_id(judgement.example, ids), []).append(judgement)
    return found


def _id(name: str, ids: Container[str]) -> str:
    """The id of an example that may be called by its full reference."""
    match = _REFERENCE.fullmatch(name)
    return match[1] if name not in ids and match and match[1] in ids else name
