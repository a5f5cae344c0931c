"""JAMP: temporal inference in Japanese, generated from templates (train, test, five training
splits).

Known problems: the published files still hold template 20, which the paper's numbers leave out;
`None` in the time columns is a word; two categories close with an ASCII bracket; `_wakati` files
are the same rows segmented.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source, Splits, report_examples
from nikawa.datasets.jamp.splits import PROTOCOL, WAKATI, split_names
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput, suggest
from nikawa.io.tsv import read_tsv
from nikawa.records import Card, Dataset, Example, Finding, Origin, Task, reference

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
LEFT_OVER = 20
"""The template that the paper's numbers leave out."""
LABEL_ERRORS = frozenset({"3763", "3767", "7807", "7809"})
"""The rows whose label the generator computed wrongly."""
YEARS = range(2000, 2021)
"""The years that times are drawn from, as the paper says."""
SINCE = (1, 3, 4, 5)
"""Templates whose premise says `A以来…。現在、Bである。`"""

_YEAR = re.compile(r"(?<!\d)(\d{4})年")
_TIME = r"((?:\d+[年月日時])+)"
_SINCE = re.compile(f"{_TIME}以来")
_NOW = re.compile(f"現在、{_TIME}である")


def read(path: Path) -> Iterator[Example]:
    """The problems of one published file."""
    for line, row in read_tsv(path, COLUMNS):
        number, label = row["template_num"], row["gold_label"]
        if not number.isdecimal():
            what, cure = f"template_num {number!r} is not a number", "is this a file of JAMP?"
            raise BadInput(what, file=path, line=line, cure=cure)
        if label not in LABELS:
            what, cure = f"gold_label {label!r} is not a label", suggest(label, LABELS)
            raise BadInput(what, file=path, line=line, cure=cure)
        template = int(number)
        yield Example(
            id=row["num"],
            inputs={"premise": row["premise"], "hypothesis": row["hypothesis"]},
            gold={"label": label},
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


def _none(word: str) -> str | None:
    return None if word == "None" else word


@cache  # ten thousand rows share a few values
def _tags(category: str) -> frozenset[str]:
    return frozenset({category})


@cache
def _origin(template: int) -> Origin:
    return Origin(recipe="jamp", step=f"template-{template}", gold="derived")


def version_of(splits: Splits) -> str | None:
    """Detect the version by the sizes in the paper: 2.1 is the published 2.0 without template 20."""
    for name, size in (("train", 9750), ("test", 344)):
        if len(splits.get(name, ())) == size:
            return "2.1"
    return None


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Left-over template, generator errors, odd years.

    Twins and training splits that differ from the whole.
    """
    for split in ("train", "test"):
        if split in dataset.splits:
            yield from row_problems(split, dataset)
    for split in dataset.splits:
        if split.endswith(WAKATI):
            yield from twin_problems(split, dataset)
        elif split in split_names() and "train" in dataset.splits:
            known = {(e.id, *_content(e)) for e in dataset.splits["train"]}
            strange = [e for e in dataset.splits[split] if (e.id, *_content(e)) not in known]
            note = "absent from train_all"
            yield from report_examples("not-in-train", dataset, split, strange, note)


def row_problems(split: str, dataset: Dataset) -> Iterator[Finding]:
    """What is wrong with rows of train or test, whatever other files are here."""
    examples = dataset.splits[split]
    problems = (
        (
            "left-over-template",
            [e for e in examples if e.meta["template"] == LEFT_OVER],
            "template 20, all contradiction; the paper's counts leave it out",
        ),
        (
            "generator-label",
            [e for e in examples if split == "train" and has_wrong_label(e)],
            "12月 was taken to end a year later; by the calendar the label is not entailment",
        ),
        (
            "year-out-of-range",
            [e for e in examples if has_strange_year(e)],
            "the paper draws years from 2000 to 2020",
        ),
        (
            "present-before-since",
            [e for e in examples if is_present_before_since(e)],
            "the premise contradicts itself: 現在 lies before 以来",
        ),
    )
    for check, concerned, note in problems:
        yield from report_examples(check, dataset, split, concerned, note, known=True)
    categories = {e.meta["category"] for e in examples}
    if len(categories) == 45:
        note = "45 categories; the paper speaks of 46 tense fragments"
        yield Finding(check="category-count", where=split, count=45, note=note, known=True)


def has_wrong_label(example: Example) -> bool:
    """Whether this is one of the four rows with the generator's error, and still carries it."""
    meta = example.meta
    return (
        example.id in LABEL_ERRORS
        and (meta["time_format"], meta["time_span"]) == ("月", "random")
        and "12月" in example.inputs["hypothesis"]
        and example.gold.get("label") == "entailment"
    )


def has_strange_year(example: Example) -> bool:
    """Whether a time point names a year the paper's range does not hold."""
    texts = example.inputs["premise"] + example.inputs["hypothesis"]
    return any(int(year) not in YEARS for year in _YEAR.findall(texts))


def is_present_before_since(example: Example) -> bool:
    """Whether the premise's present lies before the time its state began."""
    if example.meta["template"] not in SINCE:
        return False
    since, now = (pattern.search(example.inputs["premise"]) for pattern in (_SINCE, _NOW))
    return since is not None and now is not None and _numbers(now[1]) < _numbers(since[1])


def _numbers(time: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", time)]


def twin_problems(split: str, dataset: Dataset) -> Iterator[Finding]:
    """Rows of a segmented twin that are not the plain row with blanks."""
    plain = split.removesuffix(WAKATI)
    if plain not in dataset.splits:
        return
    texts = {e.id: _content(e) for e in dataset.splits[plain]}
    twins = {e.id: _content(e) for e in dataset.splits[split]}
    differ = sorted(id for id in texts.keys() | twins.keys() if texts.get(id) != twins.get(id))
    if differ:
        yield Finding(
            check="wakati-mismatch",
            where=f"{split} and {plain}",
            count=len(differ),
            ids=tuple(reference("jamp", split, id) for id in differ),
            note="tokens joined do not give the plain row",
        )


def _content(example: Example) -> tuple[str, str, str, int]:
    """What a row says, blanks left out."""
    premise, hypothesis = (
        example.inputs[side].replace(" ", "") for side in ("premise", "hypothesis")
    )
    return premise, hypothesis, example.gold["label"], example.meta["template"]


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
    suite="jamp",
    suite_place=1,
    further_files=("dataset/template/*",),
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
    by_design=(
        KnownFinding(
            check="broken-groups",
            where="test*",
            reason="problems of train and test are made from the same templates: what differs are words and times",
        ),
    ),
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
