"""JAMP: temporal inference in Japanese, generated from templates (train, test, five training splits).

Known problems: the published files still hold template 20, which the paper's numbers leave out; `None` in the time
columns is a word; two categories close with an ASCII bracket; `_wakati` files are the same rows segmented.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source, Splits
from nikawa.datasets.jamp._traps import find_problems
from nikawa.datasets.jamp.splits import PROTOCOL, WAKATI, split_names
from nikawa.errors import BadInput, suggest
from nikawa.io.tsv import read_tsv
from nikawa.records import Card, Example, Origin, Task

LABELS = ("entailment", "contradiction", "neutral")
COLUMNS = (
    "num",
    "premise",
    "hypothesis",
    "gold_label",
    "template_num",
    "time_format",
    "time_span",
    "category",
)


def read(path: Path) -> Iterator[Example]:
    """The problems of one published file."""
    for line, row in read_tsv(path, COLUMNS):
        template = _template(row["template_num"], path, line)
        yield Example(
            id=row["num"],
            inputs={"premise": row["premise"], "hypothesis": row["hypothesis"]},
            gold={"label": _label(row["gold_label"], path, line)},
            tags=_tags(row["category"]),
            meta={
                "template": template,
                "time_format": _none(row["time_format"]),
                "time_span": _none(row["time_span"]),
                "category": row["category"],
            },
            # Rows of a template differ in their fillers only: resampling rows would measure the fillers.
            group=f"template-{template}",
            origin=_origin(template),
        )


def _template(number: str, path: Path, line: int) -> int:
    if not number.isdecimal():
        raise BadInput(
            f"template_num {number!r} is not a number",
            file=path,
            line=line,
            cure="is this a file of JAMP?",
        )
    return int(number)


def _label(label: str, path: Path, line: int) -> str:
    if label not in LABELS:
        raise BadInput(
            f"gold_label {label!r} is not a label",
            file=path,
            line=line,
            cure=suggest(label, LABELS),
        )
    return label


def _none(word: str) -> str | None:
    return None if word == "None" else word


@cache
def _tags(category: str) -> frozenset[str]:
    return frozenset({category})


@cache
def _origin(template: int) -> Origin:
    return Origin(recipe="jamp", step=f"template-{template}", gold="derived")


def version_of(splits: Splits) -> str | None:
    """2.1 is 2.0, the published one, without template 20; told by the sizes the paper prints."""
    sizes = {"train": 9750, "test": 344}
    return "2.1" if any(len(splits.get(name, ())) == size for name, size in sizes.items()) else None


def _sources() -> Iterator[Source]:
    stems = {
        "train": "train_all",
        "test": "test_2",
        **{name: f"train_custom-{name}" for name in split_names()},
    }
    for ending, suffix in (("", ""), (WAKATI, "_wakati")):
        for name, stem in stems.items():
            yield Source(name + ending, (f"dataset/{stem}{suffix}.tsv",))


DATASET = Benchmark(
    name="jamp",
    language="ja",
    repository="jamp",
    card=Card(
        name="jamp",
        title="JAMP: controlled Japanese temporal inference",
        version="2.0",
        languages=("ja",),
        licence="CC BY-SA 4.0",
        citation="Sugimoto, Onoe, Yanaka (2023). Jamp: Controlled Japanese Temporal Inference Dataset for Evaluating Generalization Capacity of Language Models. ACL Student Research Workshop.",
        homepage="https://github.com/tomo-ut/temporalNLI_dataset",
        description="Premise and hypothesis about time points, intervals, order and habit, from 79 templates in 45 categories; training splits hold out categories, time formats or time spans.",
        labels="Computed from the template's condition and the times filled in.",
        workers="none for the labels; three graduate students judged the naturalness of the test sentences, answers not published",
        workers_are="none",
        source="35 templates from JSeM's temporal problems and 44 new ones; verbs and nouns from the Kyoto case frames, 25 first names",
        problems=(
            "The published files still hold template 20 (200 train rows, 4 test rows, all contradiction); the paper's counts leave it out.",
            "4 train rows (3763, 3767, 7807, 7809) carry a wrong entailment: the generator took the end of 12月 for a year later.",
            "6 train rows name the year 2021, outside the stated 2000 to 2020.",
            "In 926 train rows of templates 1, 3, 4 and 5 the present lies before the 以来 it is measured from.",
            "The paper speaks of 46 tense fragments; templates and data have 45 categories.",
            "The number of rows is the same for each template, time format, time span and label, not for each template and label as the paper says.",
            "Both time-format splits leave the same test rows unseen.",
            "27 train rows hold a wrongly conjugated verb, such as 生ずるた.",
        ),
    ),
    tasks=(
        Task(
            name="jamp",
            dataset="jamp",
            kind="inference",
            question="label",
            inputs=("premise", "hypothesis"),
            labels=LABELS,
            metrics=("accuracy",),
        ),
    ),
    sources=tuple(_sources()),
    read=read,
    version_of=version_of,
    find_problems=find_problems,
    aliases={
        "fragment-easy": "template-easy",
        "fragment-hard": "template-hard",
        "format-easy": "timeformat-easy",
        "format-hard": "timeformat-hard",
        "span-easy": "timespan-easy",
    },
    views={
        **dict.fromkeys(split_names(), "train"),
        **{name + WAKATI: name for name in ("train", "test", *split_names())},
    },
    protocol=PROTOCOL,
    from_templates=True,
)
