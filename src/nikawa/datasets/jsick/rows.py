"""The rows of JSICK's published files, checked cell by cell.

Three layouts hold pairs: the released table (`jsick.tsv`, `test.tsv`), the same table with only the
Japanese side filled and row numbers for ids (`train.tsv`), and the table of the workers' answers,
which has no split column and ends its lines in CR LF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from nikawa.errors import BadInput, suggest
from nikawa.io.lines import decode_line, numbered_lines, open_bytes
from nikawa.io.tsv import check_header
from nikawa.records import Card, Example, Task

make_card = partial(
    Card,
    version="1.0",
    licence="CC BY-SA 4.0",
    homepage="https://github.com/verypluming/JSICK",
)
"""The card of a dataset of JSICK's repository; given here is what all of them share."""

LABELS = ("entailment", "contradiction", "neutral")
SPLITS = {"train": "train", "trial": "dev", "test": "test", "all": "all"}
"""The files' names of a split to ours; `all` is for a pair whose split is in no available file.
"""
TAGS = {
    "Numerical": "NUM",
    "Negation": "NEG",
    "Quantification": "QUANT",
    "Passive": "PAS",
    "Anaphora": "ANA",
    "Conjunction": "CONJ",
    "Disjunction": "DISJ",
    "Modal": "MODAL",
    "Toritate": "ADDP",
}
"""The files' names of the nine phenomena to the paper's."""
RELEASED = "jsick.tsv"
"""The one complete file of pairs."""
ANSWERS = "jsick-all-annotations.tsv"
"""The file of the workers' answers."""


def pair_tasks(
    dataset: str, nli_metrics: tuple[str, ...], sts_metrics: tuple[str, ...]
) -> tuple[Task, Task]:
    """The two questions about a pair: its label and its relatedness."""
    ask = partial(Task, dataset=dataset, inputs=("premise", "hypothesis"))
    return (
        ask(
            name=f"{dataset}-nli",
            kind="inference",
            question="label",
            labels=LABELS,
            metrics=nli_metrics,
        ),
        ask(
            name=f"{dataset}-sts",
            kind="similarity",
            question="relatedness",
            metrics=sts_metrics,
            scale=(1.0, 5.0),
        ),
    )


class Row(NamedTuple):
    """The cells of a pair as published; empty where a layout lacks them."""

    pair: str
    data: str
    """The file's word for the split; see `SPLITS`."""
    premise_en: str
    hypothesis_en: str
    label_en: str
    score_en: str
    corrected_ab: str
    """A later correction of SICK's label (Kalouli et al. 2017), from A to B."""
    corrected_ba: str
    """The same from B to A."""
    premise: str
    hypothesis: str
    label: str
    score: str
    image: str
    """The photograph or clip that SICK's caption describes."""
    caption: str
    tags: str
    """The phenomena, `#` between them; see `TAGS`."""
    tag_words: str
    """The words that show them, with their parts of speech."""


COLUMNS = (
    "pair_ID",
    "data",
    "sentence_A_En",
    "sentence_B_En",
    "entailment_label_En",
    "relatedness_score_En",
    "corr_entailment_labelAB_En",
    "corr_entailment_labelBA_En",
    "sentence_A_Ja",
    "sentence_B_Ja",
    "entailment_label_Ja",
    "relatedness_score_Ja",
    "image_ID",
    "original_caption",
    "semtag_short",
    "semtag_long",
)
"""The released table's columns, in the order of `Row`."""
SHARED = (
    "pair_ID",
    "sentence_A_En",
    "sentence_B_En",
    "entailment_label_En",
    "relatedness_score_En",
    "sentence_A_Ja",
    "sentence_B_Ja",
    "entailment_label_Ja",
    "relatedness_score_Ja",
)
"""The columns that the table of the workers' answers shares with the released one."""


def read_cells(
    path: Path, columns: Sequence[str], *, crlf: bool = False
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (line number, the cells of two or more `columns`).

    `crlf` where the file is published so.
    """
    lines = _lines(path, crlf)
    header = _header(lines, path)
    check_header(header, columns, path)
    pick = itemgetter(*(header.index(name) for name in columns))
    width = len(header)
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) != width:
            raise BadInput(
                f"has {len(cells)} columns, the header has {width}",
                file=path,
                line=number,
                cure="look for a stray or missing tab",
            )
        yield number, pick(cells)


def read_header(path: Path) -> list[str]:
    """The column names of a file."""
    return _header(_lines(path, crlf=True), path)


def _header(lines: Iterator[tuple[int, str]], path: Path) -> list[str]:
    for _, line in lines:
        return line.split("\t")
    raise BadInput("is empty", file=path, cure="fetch it again")


def _lines(path: Path, crlf: bool) -> Iterator[tuple[int, str]]:
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            yield number, decode_line(raw.rstrip(b"\r\n") if crlf else raw, path, number)


def read_pairs(path: Path) -> Iterator[tuple[int, Row]]:
    """The pairs of any of JSICK's own files, whichever layout it has."""
    if "entailment_label_Ja1" not in read_header(path):
        for line, cells in read_cells(path, COLUMNS):
            yield line, Row._make(cells)
        return
    words = split_words(path.parent / RELEASED)
    empty = dict.fromkeys(Row._fields, "")
    names = [Row._fields[COLUMNS.index(column)] for column in SHARED]
    for line, cells in read_cells(path, SHARED, crlf=True):
        values = dict(zip(names, cells, strict=True))
        yield line, Row(**{**empty, **values, "data": words.get(values["pair"], "all")})


def split_words(released: Path) -> dict[str, str]:
    """Pair id to the file's word for its split; empty where the released table is not there."""
    if not released.is_file():
        return {}
    return {pair: data for _, (pair, data) in read_cells(released, ("pair_ID", "data"))}


def parse_split(word: str, path: Path, line: int) -> str:
    """Our name of a split."""
    if word not in SPLITS:
        raise BadInput(
            f"data {word!r} is not train, trial or test",
            file=path,
            line=line,
            cure="is this JSICK?",
        )
    return SPLITS[word]


def check_label(text: str, path: Path, line: int) -> str:
    """The label, which must be one of three words."""
    if text not in LABELS:
        cure = suggest(text, LABELS)
        raise BadInput(f"label {text!r} is not one of the three", file=path, line=line, cure=cure)
    return text


def parse_score(text: str, path: Path, line: int) -> float:
    """The relatedness as a number between 1 and 5."""
    value = _number(text)
    if value is None:
        raise BadInput(
            f"score {text!r} is not a number", file=path, line=line, cure="1 to 5 is expected"
        )
    if not 1 <= value <= 5:
        raise BadInput(
            f"score {text!r} is outside 1 to 5", file=path, line=line, cure="is this JSICK?"
        )
    return value


@cache
def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_tags(text: str, path: Path, line: int) -> frozenset[str]:
    """The phenomena of a pair.

    The files write one set in several orders, so it is read as a set.
    """
    tags = _tag_set(text)
    if not tags <= TAGS.keys():
        wrong = sorted(tags - TAGS.keys())[0]
        raise BadInput(
            f"there is no tag {wrong!r}", file=path, line=line, cure=suggest(wrong, TAGS)
        )
    return tags


@cache
def _tag_set(text: str) -> frozenset[str]:
    return frozenset(text.split("#")) if text else frozenset()


def meta_of(row: Row, split: str) -> dict[str, str]:
    """What to slice a pair by; cells that are empty are left out."""
    values = {
        "split": split,
        "image": row.image,
        "caption": row.caption,
        "tag_words": row.tag_words,
        "corrected_ab": row.corrected_ab,
        "corrected_ba": row.corrected_ba,
    }
    return {name: value for name, value in values.items() if value}


def make_example(
    row: Row, texts: tuple[str, str], label: str, score: str, path: Path, line: int
) -> Example:
    """The example of one language's side of a row: its two texts, its label and its relatedness as
    published.

    The group is the premise: a premise comes with several hypotheses, and a model that misreads it
    fails on all of them, so pairs that share one are not independent.
    """
    return Example(
        id=row.pair,
        inputs=check_texts(*texts, path, line),
        gold={
            "label": check_label(label, path, line),
            "relatedness": parse_score(score, path, line),
        },
        tags=parse_tags(row.tags, path, line),
        meta=meta_of(row, parse_split(row.data, path, line)),
        group=texts[0],
    )


def check_texts(premise: str, hypothesis: str, path: Path, line: int) -> dict[str, str]:
    """The two inputs, neither of which may be empty."""
    if not premise or not hypothesis:
        side = "hypothesis" if premise else "premise"
        raise BadInput(
            f"the {side} is empty", file=path, line=line, cure="is this the published file?"
        )
    return {"premise": premise, "hypothesis": hypothesis}
