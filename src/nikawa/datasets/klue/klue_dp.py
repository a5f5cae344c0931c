"""KLUE-DP: dependency trees over the words (eojeol) of a sentence, with morphemes.

Known problems: in six dev sentences the words do not join to the text (15.7% became 15.70%), five
dev words have unequal numbers of morphemes and tags; the label list holds a misspelt NP_SVJ. Every
dev tree has its one root last and every head to the right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    CURE,
    Block,
    is_test,
    make_card,
    read_blocks,
    sources,
)
from nikawa.datasets.trees import has_crossing_arcs, has_leftward_head, has_loop
from nikawa.errors import BadInput, suggest
from nikawa.records import Dataset, Example, Finding, Task, reference

NAME = "klue-dp"
LABELS = (
    "NP",
    "NP_AJT",
    "VP",
    "NP_SBJ",
    "VP_MOD",
    "NP_OBJ",
    "AP",
    "NP_CNJ",
    "NP_MOD",
    "VNP",
    "DP",
    "VP_AJT",
    "VNP_MOD",
    "NP_CMP",
    "VP_SBJ",
    "VP_CMP",
    "VP_OBJ",
    "VNP_CMP",
    "AP_MOD",
    "X_AJT",
    "VP_CNJ",
    "VNP_AJT",
    "IP",
    "X",
    "X_SBJ",
    "VNP_OBJ",
    "VNP_SBJ",
    "X_OBJ",
    "AP_AJT",
    "L",
    "X_MOD",
    "X_CNJ",
    "VNP_CNJ",
    "X_CMP",
    "AP_CMP",
    "AP_SBJ",
    "R",
    "NP_SVJ",
)
"""In the order of the official scorer, which takes everything from VP_CMP on as one."""
UNKNOWN = ("", "-", "_")
"""What may stand for a hidden head or label."""
SOURCES = sources(NAME, "tsv")
_LABELS = frozenset(LABELS)


def read(path: Path) -> Iterator[Example]:
    """The sentences of one published file."""
    test = is_test(path)
    for block in read_blocks(path):
        rows = [row.split("\t") for row in block.body[:-1].split("\n")]
        hidden = test and all(row[4:] == [] or set(row[4:]) <= set(UNKNOWN) for row in rows)
        widths = (4, 6) if hidden else (6,)
        for number, row in enumerate(rows, start=1):
            line = block.line + number - 1
            if len(row) not in widths:
                what = f"has {len(row)} columns instead of 6"
                raise BadInput(what, file=path, line=line, cure=CURE)
            if row[0] != str(number):
                what = f"word {row[0]!r} comes where word {number} should"
                raise BadInput(what, file=path, line=line, cure=CURE)
        gold = {} if hidden else {"tree": parse_tree(rows, block, path)}
        words = [{"form": row[1], "lemma": row[2], "pos": row[3]} for row in rows]
        yield Example(
            id=block.id,
            inputs={"text": block.header, "words": words},
            gold=gold,
            meta={"source": block.source},
            origin=hidden_origin(NAME, gold),
        )


def parse_tree(rows: Sequence[list[str]], block: Block, path: Path) -> dict[str, Any]:
    """Heads and labels of a sentence's rows.

    A head is the number of another word, or 0 for the root.
    """
    heads, labels, size = [], [], len(rows)
    for offset, (_, _, _, _, head, label) in enumerate(rows):
        line = block.line + offset
        is_number = head.isascii() and head.isdigit()
        if not is_number or int(head) > size or int(head) == offset + 1:
            what = f"head {head!r} is no other word of the {size}, nor 0"
            raise BadInput(what, file=path, line=line, cure=CURE)
        if label not in _LABELS:
            raise BadInput(
                f"unknown label {label!r}", file=path, line=line, cure=suggest(label, LABELS)
            )
        heads.append(int(head))
        labels.append(label)
    return {"heads": heads, "labels": labels}


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Words that do not make the text, morphemes without a tag, trees of an unusual shape."""
    for split, examples in dataset.splits.items():
        apart = [
            e
            for e in examples
            if " ".join(w["form"] for w in e.inputs["words"]) != e.inputs["text"]
        ]
        yield from report_examples(
            "words-not-text", dataset, split, apart, "the words joined by blanks are not the text"
        )
        uneven = tuple(
            f"{reference(dataset.name, split, example.id)} word {number}"
            for example in examples
            for number, word in enumerate(example.inputs["words"], start=1)
            # Morphemes are parted by blanks, tags by +.
            if len(word["lemma"].split(" ")) != len(word["pos"].split("+"))
        )
        if uneven:
            note = "a word has more morphemes than tags, or fewer"
            yield Finding(
                check="uneven-morphemes", where=split, count=len(uneven), ids=uneven, note=note
            )
        odd: dict[str, list[Example]] = {}
        for example in examples:
            for fault in tree_faults(example.gold["tree"]["heads"]) if example.gold else ():
                odd.setdefault(fault, []).append(example)
        for fault in sorted(odd):
            yield from report_examples(
                fault, dataset, split, odd[fault], "no published tree of dev is like this"
            )


def tree_faults(heads: Sequence[int]) -> set[str]:
    """What is unusual in a tree: its roots, heads to the left, loops, crossing arcs.

    >>> tree_faults([2, 3, 0]), sorted(tree_faults([3, 0, 2]))
    (set(), ['head-to-the-left', 'root-not-last'])
    """
    faults = set()
    if heads.count(0) != 1:
        faults.add("not-one-root")
    if heads[-1] != 0:
        faults.add("root-not-last")
    if has_leftward_head(heads):
        faults.add("head-to-the-left")
    if has_loop(heads):
        faults.add("loop")
    if has_crossing_arcs(heads):
        faults.add("crossing-arcs")
    return faults


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=6,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name=NAME,
        title="KLUE-DP: Korean dependency parsing (KLUE)",
        description="Sentences with morphemes, part-of-speech tags and a labelled dependency tree over the words.",
        labels="A syntactic and a functional tag a word (38 combinations), and the head of each word.",
        workers="Not published",
        workers_are="none",
        source="WIKITREE (news) and AIRBNB (reviews)",
        problems=(
            "In six dev sentences the words do not join to the text.",
            "Five dev words have unequal numbers of morphemes and tags.",
            "The official label list holds a misspelt NP_SVJ; 32 of its 38 labels occur in dev.",
            "The official LAS takes 23 rare labels as one and gives wrong heads a class of their own, so it cannot be read like other LAS.",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="tree",
            question="tree",
            inputs=("text", "words"),
            labels=LABELS,
            metrics=("uas", "las"),
        ),
    ),
    sources=SOURCES,
    read=read,
    find_problems=find_problems,
    numbered_labels=True,
)
