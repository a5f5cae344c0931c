"""Makes MARC-ja from the raw reviews and the id lists of the JGLUE repository.

The steps and their order are those of the authors' converter, since the shuffle makes each split
depend on every earlier step: quote-aware tab-separated rows, no 3 stars, mark-up off, no text of
90% ASCII or more, none over 500 characters, shuffle with seed 1, cut at 94% and 97%, then the lists
for valid and test.
"""

from __future__ import annotations

import csv
import io
import random
import string
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from nikawa.datasets.locate import data_root
from nikawa.datasets.upstream import clone_name
from nikawa.errors import BadInput, missing_extra
from nikawa.io.limits import read_limits
from nikawa.io.lines import RowLines, open_bytes, read_lines
from nikawa.records import Example

LABELS = ("positive", "negative")
LISTS = Path("preprocess/marc-ja/data")
"""Where the id lists lie below the repository folder."""
FILES = {"dev": "valid.txt", "test": "test.txt"}
"""Split to the name of its id lists."""
MAX_REVIEW_CHARS = 500
"""Characters of a review, mark-up not counted."""
PRINTABLE = str.maketrans("", "", string.printable)
"""Deletes printable ASCII, to count it."""
MAX_FIELD_CHARS = 1_000_000
"""Characters of a cell; Python's own limit is 131,072."""
COMPLETE_FILE = "use the complete amazon_reviews_multilingual_JP_v1_00.tsv"


class Review(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a raw review."""

    id: str
    text: str
    """Without mark-up."""
    stars: int

    @property
    def label(self) -> str:
        """The label by the stars alone."""
        return "positive" if self.stars >= 4 else "negative"


class Lists(msgspec.Struct, frozen=True):
    """The workers' verdicts on dev and test, by split."""

    dropped: dict[str, frozenset[str]]
    """Reviews on which fewer than 7 of 10 workers agreed."""
    labels: dict[str, dict[str, str]]
    """Reviews whose label the workers turned over."""


def read_raw(path: Path) -> Iterator[Example]:
    """All examples of the raw review file, train then dev then test; the split is in `meta`."""
    lists = read_lists(find_lists(path))
    reviews = list(kept_reviews(path))
    random.Random(1).shuffle(reviews)  # noqa: S311 (the published split, not a secret)
    # The sum of two floats is the converter's own; 0.97 written out could cut elsewhere.
    first, second = int(len(reviews) * 0.94), int(len(reviews) * (0.94 + 0.03))
    bounds = {"train": (0, first), "dev": (first, second), "test": (second, len(reviews))}
    for split, (start, end) in bounds.items():
        for place in range(start, end):
            review = reviews[place]
            for other in FILES:
                listed = review.id in lists.dropped[other] or review.id in lists.labels[other]
                if other != split and listed:  # the file is not the one the lists were made for
                    what = f"review {review.id} falls into {split}, the id lists have it in {other}"
                    raise BadInput(what, file=path, cure=COMPLETE_FILE)
            if review.id in lists.dropped.get(split, ()):
                continue
            label = lists.labels.get(split, {}).get(review.id)
            if label == review.label:
                what = (
                    f"review {review.id} has the label {label} already, the id list turns it over"
                )
                raise BadInput(what, file=path, cure=COMPLETE_FILE)
            yield Example(
                id=review.id,
                inputs={"text": review.text},
                gold={"label": label or review.label},
                meta={"split": split, "stars": review.stars, "relabelled": label is not None},
            )


def kept_reviews(path: Path) -> Iterator[Review]:
    """The reviews that pass the filters, in file order."""
    for line, row in read_raw_rows(path):
        try:
            review, stars, body = row[2], int(row[7]), row[13]
        except (IndexError, ValueError):
            raise BadInput(
                "is not a review: 15 columns with a star rating in the eighth",
                file=path,
                line=line,
                cure="the file may be cut short or edited: fetch it again",
            ) from None
        if stars == 3:
            continue
        text = plain_text(body)
        if len(text) <= MAX_REVIEW_CHARS and not mostly_ascii(text):
            yield Review(review, text, stars)


def plain_text(markup: str) -> str:
    """The text of a review without its mark-up, by BeautifulSoup on Python's own parser, as in the
    converter.

    Script, style and ruby readings are left out. What the parser refuses, a broken declaration,
    stays as it is; the converter would stop there. A text without `<` and `&` needs no package.

    >>> plain_text("良い<br />商品")
    '良い商品'
    """
    if "<" not in markup and "&" not in markup:
        return markup
    try:
        from bs4 import BeautifulSoup
        from bs4.exceptions import ParserRejectedMarkup
    except ImportError:
        raise missing_extra(
            "beautifulsoup4, which takes the mark-up off reviews,", "html"
        ) from None
    with warnings.catch_warnings(action="ignore"):  # a review may look like an address or XML
        try:
            return BeautifulSoup(markup, "html.parser").get_text()
        except ParserRejectedMarkup:
            return markup


def read_raw_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows after the header, a quoted field with its tabs and line ends taken as one, as the
    converter does.
    """
    before = csv.field_size_limit(MAX_FIELD_CHARS)
    try:
        with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8") as stream:
            texts = iter(partial(stream.readline, read_limits().line), "")
            lines = RowLines(texts, path, "\t")
            reader = csv.reader(lines, delimiter="\t")
            if "review_body" not in next(reader, ()):
                raise BadInput(
                    "has no column 'review_body'", file=path, line=1, cure="is this the raw TSV?"
                )
            for row in reader:
                lines.size = 0
                yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as problem:
        raise BadInput(f"cannot be read ({problem})", file=path, cure="fetch it again") from None
    finally:
        csv.field_size_limit(before)


def mostly_ascii(text: str) -> bool:
    """Whether at least 90% is printable ASCII, white space counted; true for an empty text.

    The converter stops on an empty text, so the published reviews hold none.
    """
    return not text or (len(text) - len(text.translate(PRINTABLE))) / len(text) >= 0.9


def find_lists(path: Path) -> Path:
    """Find the folder of the id lists: above the raw file, next to it, or in the data folder."""
    places = [parent / LISTS for parent in path.absolute().parents]
    places += [path.absolute().parent, path.absolute().parent.parent / "data"]
    places += [data_root() / name / LISTS for name in ("jglue", clone_name("jglue"))]
    for place in places:
        if (place / "filter_review_id_list").is_dir():
            return place
    raise BadInput(
        "the id lists of JGLUE are not near this file",
        file=path,
        cure=f"put it into a clone of the JGLUE repository, which has {LISTS}",
    )


def read_lists(folder: Path) -> Lists:
    """The four id lists."""
    dropped: dict[str, frozenset[str]] = {}
    labels: dict[str, dict[str, str]] = {}
    for split, name in FILES.items():
        dropped[split] = frozenset(
            line for _, line in read_lines(folder / "filter_review_id_list" / name)
        )
        labels[split] = {}
        path = folder / "label_conv_review_id_list" / name
        for number, line in read_lines(path):
            review, _, label = line.partition(",")
            if label not in LABELS:
                what, cure = f"label {label!r} is unknown", f"expected: {', '.join(LABELS)}"
                raise BadInput(what, file=path, line=number, cure=cure)
            labels[split][review] = label
    return Lists(dropped, labels)
