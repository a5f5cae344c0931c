"""KLUE-NER: named entities of six types in news and film reviews, tagged character by character.

Known problems: the mark-up of the header line is broken in three dev sentences, so only the rows
are read; two dev entities begin on a space, which the official scorer drops with all space rows
(14,255 instead of 14,257); three more swallow a `<` of the text (the mark-up was `<<name:PS>>`);
v1.1 is NFKC, which turned ㅋㅋ and ㅠㅠ into conjoining jamo.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, RunProtocol, Splits, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    CURE,
    Block,
    is_test,
    make_card,
    published_files,
    read_blocks,
    sources,
)
from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Span, Task

NAME = "klue-ner"
TYPES = ("PS", "LC", "OG", "DT", "TI", "QT")
"""Person, location, organisation, date, time, quantity."""
SOURCES = sources(NAME, "tsv")

_TYPE = "|".join(TYPES)
_ROWS = re.compile(rf"(?:[^\n]\t(?:O|[BI]-(?:{_TYPE}))\n)+")
_ROW = re.compile(rf"[^\n]\t(?:O|[BI]-(?:{_TYPE}))")
_UNTAGGED = re.compile(r"(?:[^\n\t]\n)+")
_ENTITY = re.compile(rf".\tB-({_TYPE})\n((?:.\tI-\1\n)*)")
_TAG = re.compile(r"\t[BI]-..\n")
_EXTRA = len("\tB-PS\n")
_MARKUP = re.compile(rf"<(.+?):({_TYPE})>")
_JAMO = re.compile("[\u1100-\u11ff]")


def read(path: Path) -> Iterator[Example]:
    """The sentences of one published file; text and spans come from the rows alone."""
    test = is_test(path)
    for block in read_blocks(path):
        if test and _UNTAGGED.fullmatch(block.body):
            yield _make_example(block, block.body[::2], None, 0)
            continue
        if not _ROWS.fullmatch(block.body):
            rows = block.body[:-1].split("\n")
            offset = next(n for n, row in enumerate(rows) if not _ROW.fullmatch(row))
            what = f"{rows[offset]!r} is not a character, a tab and one of the 13 tags"
            raise BadInput(what, file=path, line=block.line + offset, cure=CURE)
        yield _make_example(block, *parse_rows(block.body))


def parse_rows(body: str) -> tuple[str, list[Span], int]:
    """Text, entities and the number of I- rows that continue none, of `char<TAB>tag` rows.

    The O rows, four of five, are folded away in one replacement; what is left of the tags
    shifts the position of an entity by a known number of characters per row.
    """
    folded = body.replace("\tO\n", "")
    spans, seen, within = [], 0, 0
    for match in _ENTITY.finditer(folded):
        seen += folded.count("\t", within, match.start())
        start, length = match.start() - _EXTRA * seen, 1 + len(match[2]) // (_EXTRA + 1)
        spans.append(Span(start, start + length, match[1]))
        seen, within = seen + length, match.end()
    orphans = folded.count("\t") - sum(span.end - span.start for span in spans)
    return _TAG.sub("", folded), spans, orphans


def _make_example(block: Block, text: str, spans: list[Span] | None, orphans: int) -> Example:
    gold = {} if spans is None else {"spans": spans}
    meta: dict[str, str | int] = {"source": block.source}
    if orphans:
        meta["orphan_tags"] = orphans
    return Example(
        id=block.id, inputs={"text": text}, gold=gold, meta=meta, origin=hidden_origin(NAME, gold)
    )


def version_of(splits: Splits) -> str | None:
    """v1.1 is NFKC and so holds conjoining jamo; text that is not NFKC is v1."""
    texts = [example.inputs["text"] for examples in splits.values() for example in examples]
    if any(not unicodedata.is_normalized("NFKC", text) for text in texts):
        return "1"
    return "1.1" if any(_JAMO.search(text) for text in texts) else None


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Entities on spaces, orphan tags, conjoining jamo.

    Header mark-up that contradicts the rows.
    """
    broken = set()
    for split, path in published_files(SOURCES, folder, dataset.version):
        for block in read_blocks(path):
            if _ROWS.fullmatch(block.body):
                text, spans, _ = parse_rows(block.body)
                if (text, spans) != parse_markup(block.header):
                    broken.add((split, block.id))
    for split, examples in dataset.splits.items():
        problems = (
            (
                "entity-on-space",
                [e for e in examples if any(first.isspace() for first in _first_characters(e))],
                "the official scorer drops space rows and so the entity",
            ),
            (
                "entity-on-bracket",
                [e for e in examples if "<" in _first_characters(e)],
                "a title's own < was taken into the entity, its > was not",
            ),
            (
                "orphan-tags",
                [e for e in examples if "orphan_tags" in e.meta],
                "I- rows that continue no entity are ignored",
            ),
            (
                "broken-markup",
                [e for e in examples if (split, e.id) in broken],
                "the header line's mark-up is not what the rows say; rows hold",
            ),
            (
                "conjoining-jamo",
                [e for e in examples if _JAMO.search(e.inputs["text"])],
                "NFKC of ㅋㅋ and similar characters; a tokeniser may not know them",
            ),
        )
        for check, concerned, note in problems:
            yield from report_examples(check, dataset, split, concerned, note)


def _first_characters(example: Example) -> str:
    """The first characters of its entities."""
    return "".join(example.inputs["text"][span.start] for span in example.gold.get("spans", ()))


def parse_markup(header: str) -> tuple[str, list[Span]]:
    """Text and entities by a header line's `<span:TYPE>` mark-up, each `<` taken for the start of
    one.
    """
    parts, spans, length, end = [], [], 0, 0
    for match in _MARKUP.finditer(header):
        before = header[end : match.start()]
        start = length + len(before)
        length, end = start + len(match[1]), match.end()
        parts += [before, match[1]]
        spans.append(Span(start, length, match[2]))
    return "".join([*parts, header[end:]]), spans


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=4,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name=NAME,
        title="KLUE-NER: Korean named entity recognition (KLUE)",
        description="Sentences with entities of six types (person, location, organization, date, time, quantity), tagged character by character.",
        labels="Workers corrected the entities a model proposed; two linguists checked them, then six researchers corrected what was left.",
        workers="51 workers of DeepNatural who passed a pilot test; their answers are not published",
        workers_are="none",
        source="WIKITREE (news) and NSMC (film reviews), at most 400 characters, only sentences in which a model found an entity",
        problems=(
            "Two dev entities begin on a space (01601, 02091); the official scorer loses both.",
            "Three dev entities begin with a < of the text around them (01174, 02824, 03610).",
            "The header line's mark-up is broken in three dev sentences (01115, 01375, 03362).",
            "v1.1 is NFKC of v1: 385 dev sentences changed, and 316 hold conjoining jamo.",
            "The paper says that character F1 leaves out O; the official scorer counts it.",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="tagging",
            question="spans",
            inputs=("text",),
            labels=TYPES,
            metrics=("entity-macro-f1", "char-macro-f1"),
        ),
    ),
    sources=SOURCES,
    read=read,
    version_of=version_of,
    find_problems=find_problems,
    numbered_labels=True,
)
