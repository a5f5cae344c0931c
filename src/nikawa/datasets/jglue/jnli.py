"""JNLI: inference between captions of one image (JGLUE).

Known problems: v1.2 corrected 29 labels of valid, so scores on v1.0 and v1.1 are not comparable
with later ones, and the papers' Table 5 is the older; pairs come in both directions (all of flow C,
most of A); most pairs are in JSTS too, where the final 。 may be absent: match by `meta["pair"]`,
not by text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, Splits, hidden_origin
from nikawa.datasets.jglue.rows import caption_meta, check_label, check_labelled, make_card, sources
from nikawa.datasets.known import KnownFinding
from nikawa.datasets.locate import find_files, path_version
from nikawa.io.json import read_json_lines
from nikawa.records import Dataset, Example, Finding, Task, reference

LABELS = ("entailment", "contradiction", "neutral")
CORRECTED = {
    ("neutral", "entailment"): "226 415 416 771 1067 1281 1611 1650 1784 1865 1912 2214",
    ("neutral", "contradiction"): "263",
    (
        "entailment",
        "neutral",
    ): "282 342 389 398 457 594 891 1087 1437 1534 1608 1688 1710 1742 1878 2373",
}
"""(label up to v1.1, label from v1.2) to the ids of valid."""
OLD = {number: before for (before, _), ids in CORRECTED.items() for number in ids.split()}
NEW = {number: after for (_, after), ids in CORRECTED.items() for number in ids.split()}


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A line of the published file."""

    sentence_pair_id: str
    yjcaptions_id: str
    """Image and captions the pair was made of; see `caption_meta`."""
    sentence1: str
    sentence2: str
    label: str | None = None


def read(path: Path) -> Iterator[Example]:
    """The pairs of one published file."""
    for line, row in check_labelled(read_json_lines(path, Row), path):
        meta = caption_meta(row.yjcaptions_id, path, line)
        gold = {} if row.label is None else {"label": check_label(row.label, LABELS, path, line)}
        yield Example(
            id=row.sentence_pair_id,
            inputs={"premise": row.sentence1, "hypothesis": row.sentence2},
            gold=gold,
            meta=meta,
            # A caption belongs to one image, so the image holds together both directions of a pair and
            # every other pair that shares a sentence with it: items of two groups are independent.
            group=meta["image"],
            origin=hidden_origin("jnli", gold),
        )


def corrections(splits: Splits) -> dict[str, str]:
    """Id to label, of the dev pairs whose label v1.2 corrected."""
    corrected = [example for example in splits.get("dev", ()) if example.id in OLD]
    return {example.id: example.gold["label"] for example in corrected if example.gold}


def version_of(splits: Splits) -> str | None:
    """1.1 (or 1.0) and 1.3 (or 1.2) by the 29 corrected labels of dev; None where they are mixed or
    absent.
    """
    labels = corrections(splits)
    if labels == OLD:
        return "1.1"
    return "1.3" if labels == NEW else None


def find_problems(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """Labels from before v1.2, above all under the name of a later version."""
    labels = corrections(dataset.splits)
    old = [number for number, label in labels.items() if label == OLD[number]]
    if not old:
        return
    mixed = len(old) != len(OLD)
    note = "corrected in v1.2" if mixed else "labels of v1.1 or older; v1.2 corrected them"
    versions = [path_version(p.relative_to(folder)) for p in find_files(sources("jnli")[1], folder)]
    if any(version >= (1, 2) for version in versions):
        note += ", though the file is called " + "/".join(f"v{v[0]}.{v[1]}" for v in versions)
    ids = tuple(reference(dataset.name, "dev", number) for number in old)
    yield Finding(
        check="mixed-labels" if mixed else "old-labels",
        where="dev",
        count=len(old),
        ids=ids,
        note=note,
    )


DATASET = Benchmark(
    name="jnli",
    language="ja",
    repository="jglue",
    suite="jglue",
    suite_place=4,
    # Labels of test came with v1.2, in 2025: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name="jnli",
        title="JNLI: Japanese natural language inference (JGLUE)",
        licence="CC BY-SA 4.0",
        description="Pairs of Japanese image captions with the relation of the premise to the hypothesis.",
        labels="A: an answer that at least six of ten workers gave; C: contradictions written by workers, confirmed by at least six of ten, the opposite direction assigned without asking.",
        workers="10 per pair; Fleiss' kappa 0.399 as printed; answers not published",
        source="YJ Captions (captions of MS COCO images): A two captions of one image, C a caption and a worker-written contradiction",
        problems=(
            "29 labels of valid changed at v1.2; scores on v1.0 and v1.1 are not comparable with later ones.",
            "Most pairs occur in JSTS as well, across splits: do not train on one and test on the other.",
            "All contradictions but one are worker-written, so the style partly predicts the label.",
        ),
    ),
    tasks=(
        Task(
            name="jnli",
            dataset="jnli",
            kind="inference",
            question="label",
            inputs=("premise", "hypothesis"),
            labels=LABELS,
            metrics=("accuracy",),
            unit="fraction",
        ),
    ),
    sources=sources("jnli"),
    read=read,
    version_of=version_of,
    find_problems=find_problems,
    # Counts of what is measured are in known.toml; those of train, which its authors release as well, are not.
    by_design=(
        KnownFinding(
            check="repeated-unordered-pairs",
            where="train*",
            reason="pairs come in both directions: all of flow C, most of flow A",
        ),
        *(
            KnownFinding(check=check, where="train in jsts:*", reason="pairs of JSTS, judged again")
            for check in ("leaked-pairs", "leaked-unordered-pairs")
        ),
    ),
)
