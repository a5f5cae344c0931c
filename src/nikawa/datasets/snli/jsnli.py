"""JSNLI: SNLI translated into Japanese by machine.

A line is the label, the premise and the hypothesis with tabs between them, without a header and
without ids. The sentences are segmented by Juman++. They are read without the blanks between
words, so that every encoder gets its own segmentation and other Japanese datasets can be joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, RunProtocol, Source
from nikawa.datasets.jglue.rows import check_label
from nikawa.datasets.snli.rows import LABELS, inference_task
from nikawa.errors import BadInput
from nikawa.io.lines import read_lines
from nikawa.records import Card, Example

WORD_BLANK = re.compile(r"(?<![A-Za-z0-9]) +| +(?![A-Za-z0-9])")
"""A blank that only segments: not one between two Latin words or numbers."""


def join_words(text: str) -> str:
    """A segmented text without the blanks between its words.

    >>> join_words("2 人 の 男性 が New York で T シャツ を 着る 。")
    '2人の男性がNew YorkでTシャツを着る。'
    """
    return WORD_BLANK.sub("", text)


def read(path: Path) -> Iterator[Example]:
    """The pairs of one file; the id of a pair is the number of its line."""
    for line, text in read_lines(path):
        cells = text.split("\t")
        if len(cells) != 3:
            raise BadInput(
                f"has {len(cells)} columns, not 3 (label, premise, hypothesis)",
                file=path,
                line=line,
                cure="is this a file of JSNLI 1.1?",
            )
        label, premise, hypothesis = cells[0], join_words(cells[1]), join_words(cells[2])
        if not premise or not hypothesis:
            side = "hypothesis" if premise else "premise"
            raise BadInput(
                f"the {side} is empty", file=path, line=line, cure="is this the published file?"
            )
        yield Example(
            id=str(line),
            inputs={"premise": premise, "hypothesis": hypothesis},
            gold={"label": check_label(label, LABELS, path, line)},
            group=premise,
        )


DATASET = Benchmark(
    name="jsnli",
    language="ja",
    repository="jsnli",
    instead_of_fetch="download JSNLI 1.1 from https://nlp.ist.i.kyoto-u.ac.jp (日本語SNLI(JSNLI)データセット) and unpack it in {folder}",
    card=Card(
        name="jsnli",
        title="JSNLI: SNLI in Japanese",
        version="1.1",
        languages=("ja",),
        licence="CC BY-SA 4.0",
        citation="Yoshikoshi, Kawahara, Kurohashi (2020). 機械翻訳を用いた自然言語推論データセットの多言語化. 第244回自然言語処理研究会.",
        homepage="https://nlp.ist.i.kyoto-u.ac.jp",
        description="533,005 training pairs of SNLI translated by machine and filtered, 548,014 unfiltered ones, and 3,916 pairs for evaluation.",
        labels="SNLI's own. Workers judged whether the pairs for evaluation make sense in Japanese and keep their label.",
        workers="not published",
        workers_are="none",
        source="SNLI (captions of Flickr photographs; hypotheses written by workers), translated by machine",
        problems=(
            "The published files were not available when this reader was written: it follows the published layout.",
            "The training sentences are machine translations, filtered by a BLEU threshold of 0.1.",
            "The words are joined; a blank stays between two Latin words or numbers only.",
        ),
    ),
    tasks=(inference_task("jsnli"),),
    sources=tuple(
        Source(split, tuple(f"{folder}{name}" for folder in ("", "jsnli_1.1/", "jsnli_1.0/")))
        for split, name in {
            "train": "train_w_filtering.tsv",
            "train-unfiltered": "train_wo_filtering.tsv",
            "dev": "dev.tsv",
        }.items()
    ),
    read=read,
    views={"train-unfiltered": "train"},
    protocol=RunProtocol(reported_on="dev"),
)
