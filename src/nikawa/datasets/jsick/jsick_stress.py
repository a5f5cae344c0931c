"""JSICK-stress: test pairs whose premise was scrambled, or had its particles swapped or deleted.

Known problems: in the scrambled files `sentence_A_Ja_origin` is the swapped sentence, not the
original, and `pred_ori` is some model's prediction; every label is copied from the test set,
changed meaning or not. Workers judged 900 of the pairs, whose answers are the gold here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.datasets.base import Benchmark, RunProtocol, Source
from nikawa.datasets.jsick.answers import (
    STRESS_ANSWERS,
    StressAnswers,
    read_stress_answers,
    stress_judgements,
)
from nikawa.datasets.jsick.rows import (
    COLUMNS,
    RELEASED,
    Row,
    check_label,
    check_texts,
    make_card,
    meta_of,
    pair_tasks,
    parse_score,
    parse_tags,
    read_cells,
    read_header,
)
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Origin, reference

FOLDERS = {
    f"{folder}_ga_{particle}": f"{operation}-{particle}"
    for folder, operation in (("scrum", "scramble"), ("ex", "swap"), ("del", "delete"))
    for particle in ("o", "ni", "de")
}
"""The published folders to the names of the sets."""
CHANGED = "mod_A"
"""The column that says whether the premise was changed."""
ORIGIN = "sentence_A_Ja_origin"
"""The column of the original premise; in scrambled sets it holds something else."""
PREDICTION = "pred_ori"
"""The column of some model's prediction, in some of the files."""
KNOWN_ORIGINS = {"scramble-o": 1666, "scramble-ni": 797, "scramble-de": 1006}
"""Rows of the published files whose original is wrong; another count is a new finding."""


class _SetContext(NamedTuple):
    """Information from other files about the pairs of a set, by pair id."""

    set: str
    originals: dict[str, str]
    """The premises before the change; only for scrambled sets, whose own column is wrong."""
    answers: dict[str, StressAnswers]
    """Of the 100 pairs of the set that workers judged."""


def read(path: Path) -> Iterator[Example]:
    """The pairs of one set.

    Its folder tells which, the answers file above it which pairs were judged.
    """
    name = set_of(path)
    answers_file = path.parent.parent / STRESS_ANSWERS
    judged = read_stress_answers(answers_file) if answers_file.is_file() else ()
    answers = {row.pair: row for row in judged if row.set == name}
    originals = find_originals(path) if name.startswith("scramble") else {}
    context = _SetContext(name, originals, answers)
    extra = (CHANGED, ORIGIN, PREDICTION) if PREDICTION in read_header(path) else (CHANGED, ORIGIN)
    for line, cells in read_cells(path, (*COLUMNS, *extra)):
        row = Row._make(cells[: len(COLUMNS)])
        more = dict(zip(extra, cells[len(COLUMNS) :], strict=True))
        yield make_example(row, more, context, path, line)


def set_of(path: Path) -> str:
    """Return the set of a file by its folder (`scrum_ga_o/test.tsv`) or its name
    (`scrum_ga_o.tsv`).
    """
    for name in (path.parent.name, path.name.split(".")[0]):
        if name in FOLDERS:
            return FOLDERS[name]
    cure = f"keep it in its published folder, one of {', '.join(FOLDERS)}"
    raise BadInput("does not identify its set", file=path, cure=cure)


def find_originals(path: Path) -> dict[str, str]:
    """Pair id to original premise for a scrambled file, whose own column holds something else."""
    particle = set_of(path).rpartition("-")[2]
    for folder in (f"ex_ga_{particle}", f"del_ga_{particle}"):
        beside = path.parent.parent / folder / "test.tsv"
        if beside.is_file():
            return {pair: text for _, (pair, text) in read_cells(beside, ("pair_ID", ORIGIN))}
    for name in ("test.tsv", RELEASED):
        above = path.parent.parent.parent / "jsick" / name
        if above.is_file():
            return {
                pair: text for _, (pair, text) in read_cells(above, ("pair_ID", "sentence_A_Ja"))
            }
    return {}


def make_example(
    row: Row, more: dict[str, str], context: _SetContext, path: Path, line: int
) -> Example:
    """The example of a changed pair: gold of the workers where they judged it, else inherited from
    the test set.
    """
    label, score = check_label(row.label, path, line), parse_score(row.score, path, line)
    inputs = check_texts(row.premise, row.hypothesis, path, line)
    tags = parse_tags(row.tags, path, line)
    if more[CHANGED].casefold() not in (
        "true",
        "false",
    ):  # TRUE in some of the files, True in others
        what = f"{CHANGED} {more[CHANGED]!r} is neither TRUE nor FALSE"
        raise BadInput(what, file=path, line=line, cure="fetch it again")
    is_scrambled = context.set.startswith("scramble")
    original = context.originals.get(row.pair) if is_scrambled else more[ORIGIN]
    meta: dict[str, Any] = {
        **meta_of(row, context.set),
        "inherited_label": label,
        "inherited_relatedness": score,
        "changed": more[CHANGED].casefold() == "true",
    }
    if original:
        meta["original_premise"] = original
    if PREDICTION in more:
        meta["published_prediction"] = more[PREDICTION]
    judged = context.answers.get(row.pair)
    gold: dict[str, Any] = {"label": label, "relatedness": score}
    if judged is not None:
        gold = {"label": judged.label, "relatedness": float(judged.score)}
    return Example(
        id=row.pair,
        inputs=inputs,
        gold=gold,
        tags=tags,
        meta=meta,
        group=original or row.premise,
        origin=Origin(
            recipe="jsick-stress",
            parents=(reference("jsick", "test", row.pair),),
            step=context.set,
            gold="inherited" if judged is None else "annotated",
        ),
    )


def split_of(example: Example) -> str:
    """The set an example belongs to."""
    return str(example.meta["split"])


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Find rows of the available scrambled sets whose published original is not the original premise."""
    for name, stress_set in FOLDERS.items():
        path = folder / "jsick-stress" / name / "test.tsv"
        is_loaded = stress_set.startswith("scramble") and stress_set in dataset.splits
        if not is_loaded or not path.is_file():
            continue
        true = find_originals(path)
        rows = (cells for _, cells in read_cells(path, ("pair_ID", ORIGIN)))
        wrong = [pair for pair, text in rows if true.get(pair, text) != text]
        if wrong:
            yield Finding(
                check="scramble-origin",
                where=stress_set,
                count=len(wrong),
                ids=tuple(reference("jsick-stress", stress_set, pair) for pair in wrong),
                note=f"{ORIGIN} holds the swapped sentence; take the original from the test set",
                known=KNOWN_ORIGINS.get(stress_set) == len(wrong),
            )


DATASET = Benchmark(
    name="jsick-stress",
    language="ja",
    repository="jsick",
    suite="jsick",
    suite_place=3,
    further_files=("jsick-stress/*", "jsick/jsick.tsv", "jsick/test.tsv"),
    card=make_card(
        name="jsick-stress",
        title="JSICK-stress: word order and case particles",
        languages=("ja",),
        citation="Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10.",
        description="Nine sets: JSICK test pairs whose premise has ga-o, ga-ni or ga-de, with the two phrases scrambled, their particles swapped, or their particles deleted.",
        labels="Copied from the JSICK test set (origin inherited), but for 900 pairs, which were judged again: majority label and mean relatedness (origin annotated).",
        workers="3 answers per pair on 100 pairs of each set, by workers of JSICK; published as three columns",
        workers_are="columns",
        source="JSICK test premises, rewritten by rules over a depccg parse",
        problems=(
            "Swapped and deleted pairs that were not judged again keep the old labels, although the meaning changed: compare predictions, do not score them.",
            "sentence_A_Ja_origin of the scrambled sets is the swapped sentence; the original is taken from elsewhere here.",
            "A few premises are slips of the parser, such as a phrase moved into the middle of another.",
            "Some sets share pairs: the nine hold 3,443 different test pairs.",
        ),
    ),
    tasks=pair_tasks("jsick-stress", ("accuracy",), ("pearson", "spearman")),
    sources=tuple(
        Source(name, (f"jsick-stress/{folder}/test.tsv",)) for folder, name in FOLDERS.items()
    ),
    read=read,
    split_of=split_of,
    judgements=stress_judgements,
    find_problems=find_problems,
    by_design=(
        KnownFinding(
            check="broken-groups",
            reason="each set perturbs the same pairs of JSICK; none is learned from",
        ),
    ),
    aliases=FOLDERS,
    protocol=RunProtocol(learns_from="jsick"),
)
