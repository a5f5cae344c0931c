"""Entities found by machine before people see them: by a lexicon, by a CRF that learns from
records, or by any program.

A tagger is a file. `.tsv` is a lexicon: entity, tab, type, a line each; `re:` before a line's first
cell makes it a regular expression. Records with gold `spans` (`.jsonl`) teach the embedded CRF. Any
other file is run: it reads a text a line and answers each with a JSON list of `{start, end,
label}`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput, suggest
from nikawa.io.command import ignore_broken_pipes
from nikawa.io.lines import read_lines
from nikawa.io.records import SUFFIXES, read_examples
from nikawa.recipes.recipe import Inputs
from nikawa.records import Example, Span, Task

PATTERN = "re:"
Tagger = Callable[[Sequence[str]], list[list[Span]]]


def tagger_of(path: Path, types: Sequence[str]) -> Tagger:
    """The tagger a file is, held to the types of entities."""
    if path.suffix in (".tsv", ".txt"):
        lexicon = read_lexicon(path, types)
        return lambda texts: [lexicon.find(text) for text in texts]
    learns = path.name.endswith(SUFFIXES)
    find = learned_tagger(path, types) if learns else program_tagger(path, types)
    return lambda texts: [drop_overlaps(spans) for spans in find(texts)]


def tag_sentences(
    inputs: Inputs, items: str, types: Sequence[str]
) -> Iterator[tuple[Example, list[Span]]]:
    """The sentences of a set, each with the entities that the tagger finds or its source line
    brought along.
    """
    sentences = list(inputs.examples(items))
    find = tagger_of(inputs.file("tagger"), types)
    proposals = find([sentence.inputs["text"] for sentence in sentences]) if sentences else []
    for sentence, spans in zip(sentences, proposals, strict=True):
        meta = {key: value for key, value in sentence.meta.items() if key != "given"}
        yield replace(sentence, meta=meta), drop_overlaps([*spans, *given_spans(sentence, types)])


def drop_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Spans that do not overlap, in the order of the text; of two that do, the longer stays.

    >>> drop_overlaps([Span(0, 2, "LC"), Span(0, 4, "OG"), Span(5, 7, "PS")])
    [Span(start=0, end=4, label='OG'), Span(start=5, end=7, label='PS')]
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start, span.label)):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return sorted(kept, key=lambda span: span.start)


@dataclass
class Lexicon:
    """Entities by their first character and length, and patterns."""

    words: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, list[int]] = field(default_factory=dict)
    """First character to the lengths of entities that begin with it."""
    patterns: list[tuple[re.Pattern[str], str]] = field(default_factory=list)

    def find(self, text: str) -> list[Span]:
        """Entities that begin where a word begins, the longest first; particles may follow."""
        spans = [
            Span(m.start(), m.end(), kind)
            for p, kind in self.patterns
            for m in p.finditer(text)
            if m[0]
        ]
        for start, first in enumerate(text):
            if start and text[start - 1].isalnum():
                continue
            for length in self.lengths.get(first, ()):
                kind = self.words.get(text[start : start + length])
                if kind is not None:
                    spans.append(Span(start, start + length, kind))
        return drop_overlaps(spans)


def read_lexicon(path: Path, types: Sequence[str]) -> Lexicon:
    """The entities of a file."""
    lexicon = Lexicon()
    for number, line in read_lines(path):
        word, tab, kind = line.partition("\t")
        if not tab or not word.strip():
            raise BadInput(
                "is not an entity, tab and type", file=path, line=number, cure="write 서울<TAB>LC"
            )
        kind = kind.strip()
        _check(kind, types, path, number)
        if not word.startswith(PATTERN):
            lexicon.words[word.strip()] = kind
            continue
        try:
            lexicon.patterns.append((re.compile(word.removeprefix(PATTERN)), kind))
        except re.error as problem:
            what = f"{word!r} is not a regular expression: {problem}"
            raise BadInput(what, file=path, line=number, cure="correct it") from None
    for word in lexicon.words:
        lengths = lexicon.lengths.setdefault(word[0], [])
        if len(word) not in lengths:
            lengths.append(len(word))
    return lexicon


def _check(kind: str, types: Sequence[str], path: Path, number: int | None = None) -> None:
    if kind not in types:
        raise BadInput(
            f"{kind!r} is not a type of entity", file=path, line=number, cure=suggest(kind, types)
        )


def learned_tagger(path: Path, types: Sequence[str]) -> Tagger:
    """A CRF that learned from records with gold spans."""
    examples = [example for example in read_examples(path) if "spans" in example.gold]
    for span in (span for example in examples for span in example.gold["spans"]):
        _check(span.label, types, path)
    if not examples:
        raise BadInput(
            "contains no record with gold spans",
            file=path,
            cure="provide sentences for the tagger to learn from",
        )
    task = Task(
        name="pseudo-labels",
        dataset="",
        kind="tagging",
        question="spans",
        inputs=("text",),
        labels=tuple(types),
        metrics=(),
    )

    def find(texts: Sequence[str]) -> list[list[Span]]:
        from nikawa.models import model
        from nikawa.models.base import Trainable

        crf = model("crf")
        assert isinstance(crf, Trainable)
        crf.fit(task, examples)
        untagged = [
            Example(id=str(place), inputs={"text": text}) for place, text in enumerate(texts)
        ]
        return [list(prediction.answer or ()) for prediction in crf.predict(task, untagged)]

    return find


def program_tagger(path: Path, types: Sequence[str]) -> Tagger:
    """A program that reads a text a line and answers each with a JSON list of spans."""

    def find(texts: Sequence[str]) -> list[list[Span]]:
        try:
            with ignore_broken_pipes():
                words, data = [str(path.resolve())], "".join(f"{text}\n" for text in texts).encode()
                done = subprocess.run(words, input=data, capture_output=True, check=False)  # noqa: S603  (the user's own program)
        except OSError as problem:
            cure = (
                "a tagger is a .tsv lexicon, a .jsonl file of records, or a program that can be run"
            )
            raise BadInput(f"cannot run ({problem.strerror})", file=path, cure=cure) from None
        if done.returncode:
            error_lines = ["nothing", *done.stderr.decode(errors="replace").strip().splitlines()]
            what = f"exited with status {done.returncode}: {error_lines[-1]}"
            raise BadInput(what, file=path, cure="run it on one line by hand")
        lines = done.stdout.decode("utf-8", errors="replace").splitlines()
        if len(lines) != len(texts):
            what = f"answered {len(lines):,} lines to {len(texts):,}"
            raise BadInput(
                what, file=path, cure="a tagger must write one line for each line it reads"
            )
        return [
            parse_spans(line, text, types, path) for line, text in zip(lines, texts, strict=True)
        ]

    return find


def parse_spans(line: str, text: str, types: Sequence[str], path: Path) -> list[Span]:
    """The spans that a program answered about a text.

    Refused where they are not in it, or of other types.
    """
    try:
        spans = msgspec.json.decode(line, type=list[Span])
    except msgspec.DecodeError:
        what = f"answered {line!r}, which is not a list of spans"
        raise BadInput(
            what, file=path, cure='write a line such as [{"start": 0, "end": 2, "label": "LC"}]'
        ) from None
    for span in spans:
        _check(span.label, types, path)
        if not 0 <= span.start < span.end <= len(text):
            cure = "count characters of the line, end exclusive"
            raise BadInput(
                f"found a span {span.start}-{span.end} outside its line", file=path, cure=cure
            )
    return spans


def given_spans(example: Example, types: Sequence[str]) -> list[Span]:
    """The entities a source line brought along."""
    spans = msgspec.convert(example.meta.get("given", []), list[Span])
    where = example.meta.get("from", {})
    for span in spans:
        _check(span.label, types, Path(str(where.get("file", ""))), where.get("line"))
    return spans
