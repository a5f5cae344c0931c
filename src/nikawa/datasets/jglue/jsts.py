"""JSTS: similarity of caption pairs, 0 to 5 (JGLUE).

Known problems: v1.0 writes the label as a string; sentence ids starting with `g` (worker-written
contradictions) occur here too, though the authors' notes say only in JNLI; 12 pair ids of train are
missing on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, Splits, hidden_origin, report_examples
from nikawa.datasets.jglue.rows import caption_meta, check_labelled, make_card, sources
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.records import Dataset, Example, Finding, Task, reference

MAX_GAPS_NAMED = 1000
"""Missing ids that are named one by one."""


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A line of the published file."""

    sentence_pair_id: str
    yjcaptions_id: str
    sentence1: str
    sentence2: str
    label: float | str | None = None
    """The mean rating, 0 to 5; None in a hidden test set."""


def read(path: Path) -> Iterator[Example]:
    """The pairs of one published file."""
    for line, row in check_labelled(read_json_lines(path, Row), path):
        meta = caption_meta(row.yjcaptions_id, path, line)
        if isinstance(row.label, str):
            meta["label_type"] = "string"
        gold = {} if row.label is None else {"score": score(row.label, path, line)}
        yield Example(
            id=row.sentence_pair_id,
            inputs={"sentence1": row.sentence1, "sentence2": row.sentence2},
            gold=gold,
            meta=meta,
            group=meta["image"],
            origin=hidden_origin("jsts", gold),
        )


def score(label: float | str, path: Path, line: int) -> float:
    """The label as a number between 0 and 5."""
    try:
        value = float(label)
    except ValueError:
        raise BadInput(
            f"label {label!r} is not a number", file=path, line=line, cure="0 to 5 is expected"
        ) from None
    if not 0 <= value <= 5:
        raise BadInput(
            f"label {label!r} is outside 0 to 5", file=path, line=line, cure="is this JSTS?"
        )
    return value


def version_of(splits: Splits) -> str | None:
    """v1.0 has string labels; this dataset does not distinguish later versions."""
    strings = any(
        e.meta.get("label_type") == "string" for examples in splits.values() for e in examples
    )
    return "1.0" if strings else None


def find_problems(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """Gaps in the pair ids; worker-written sentences."""
    for split, examples in dataset.splits.items():
        numbers = {int(e.id) for e in examples if e.id.isdecimal()}
        count = max(numbers, default=-1) + 1 - len(numbers)
        if count:
            # One absurd id must not make a list of billions.
            places = range(max(numbers)) if count <= MAX_GAPS_NAMED else ()
            ids = tuple(reference(dataset.name, split, str(n)) for n in places if n not in numbers)
            note = (
                "ids that no pair has; the authors filtered 12 pairs out of train after numbering"
            )
            yield Finding(check="missing-pair-ids", where=split, count=count, ids=ids, note=note)
        written = [e for e in examples if e.meta["source"] == "C"]
        note = "sentence ids starting with g are worker-written; the authors' notes say only JNLI has them"
        yield from report_examples("g-ids", dataset, split, written, note)


DATASET = Benchmark(
    name="jsts",
    language="ja",
    repository="jglue",
    suite="jglue",
    suite_place=3,
    # Labels of test came with v1.2, in 2025: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name="jsts",
        title="JSTS: Japanese semantic textual similarity (JGLUE)",
        licence="CC BY-SA 4.0",
        description="Pairs of Japanese image captions with a similarity from 0 (different) to 5 (equivalent).",
        labels="Mean of the answers of five workers per pair (all labels are multiples of 0.2); pairs with a variance of 1.0 or more were dropped.",
        workers="5 per pair according to the labels and the text (the paper's Table 6 says 10); answers not published",
        source="YJ Captions (captions of MS COCO images): A same image, B different images, C worker-written contradictions",
        problems=(
            "Most pairs occur in JNLI as well, across splits: do not train on one and test on the other.",
            "13 unordered pairs occur twice within a split, 12 of them with different labels.",
            "983 sentences lack the final 。 that the same sentences have in JNLI.",
        ),
    ),
    tasks=(
        Task(
            name="jsts",
            dataset="jsts",
            kind="similarity",
            question="score",
            inputs=("sentence1", "sentence2"),
            metrics=("pearson", "spearman"),
            unit="fraction",
            scale=(0.0, 5.0),
        ),
    ),
    sources=sources("jsts"),
    read=read,
    version_of=version_of,
    find_problems=find_problems,
    # Counts of what is measured are in known.toml; those of the train of JNLI are not.
    by_design=tuple(
        KnownFinding(check=check, where="* in jnli:train", reason="JNLI judges pairs of JSTS again")
        for check in ("leaked-pairs", "leaked-unordered-pairs")
    ),
)
