"""The native notation: a plain text file in blocks, one template each.

    template since-1
      category:          以来（状態動詞）
      premise:           {time1}以来、{agent ガ}は{place ニ}に{verb 自 ガ ニ progressive}。現在、{time2}である。
      hypothesis:        {agent}は{time3}には{place}に{verb progressive_past}。
      given:             time1 < time2
      entails when:      time1 <= time3 <= time2
      contradicts when:  time3 < time1

A line that begins with `#` is a remark. A line that is indented and has no field name goes on with the line above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nikawa.errors import suggest
from nikawa.generation.condition import NEVER, Condition
from nikawa.generation.condition_text import parse_condition
from nikawa.generation.mistakes import At, Faults, Mistake
from nikawa.generation.native_slots import Notation, parse_side
from nikawa.generation.template import Side, Template, Time, refuse_too_many, settled
from nikawa.generation.time import INTERVALS, POINTS, Format
from nikawa.io.by_hand import read_lines

FIELDS = {
    "category": "category",
    "premise": "premise",
    "hypothesis": "hypothesis",
    "given": "given",
    "entails": "entails",
    "entails when": "entails",
    "contradicts": "contradicts",
    "contradicts when": "contradicts",
    "formats": "formats",
    "test format": "test",
    "note": "note",
}
"""What a line may begin with, and what it is called inside."""
_HEAD = re.compile(r"template\s+(\S+)\s*")
_FIELD = re.compile(r"\s*([A-Za-z][A-Za-z ]*?)\s*[:：]\s*")


@dataclass
class Block:
    """The lines of one template, taken apart."""

    id: str
    at: At
    fields: dict[str, tuple[str, At]] = field(default_factory=dict)


def read_blocks(path: Path) -> Iterator[Block | Mistake]:
    """Every block of a file; a line that fits none comes as a `Mistake`."""
    block: Block | None = None
    last = ""
    for number, line in read_lines(path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            if head := _HEAD.fullmatch(line):
                if block is not None:
                    yield block
                block, last = Block(head[1], At(number, head.start(1) + 1)), ""
            else:
                last = _add(block, line, At(number, 1), last)
        except Mistake as mistake:
            yield mistake
    if block is not None:
        yield block


def _add(block: Block | None, line: str, at: At, last: str) -> str:
    """Put a line into its field; returns the field's name."""
    if block is None:
        raise Mistake(
            "syntax", "a template must begin first", at, "write a line such as: template my-first"
        )
    found = _FIELD.match(line)
    if found is None:
        if not last or not line[:1].isspace():
            raise Mistake(
                "syntax",
                "a field name is missing",
                at,
                f"begin the line with one of: {', '.join(FIELDS)}",
            )
        text, first = block.fields[last]
        block.fields[last] = (text + ("\n" if last == "note" else "") + line.strip(), first)
        return last
    name = FIELDS.get(" ".join(found[1].lower().split()))
    if name is None:
        raise Mistake(
            "syntax",
            f"{found[1]!r} is not a field",
            at.later(found.start(1)),
            suggest(found[1], FIELDS),
        )
    if name in block.fields:
        raise Mistake(
            "syntax", f"{found[1]!r} is given twice", at.later(found.start(1)), "keep one of them"
        )
    block.fields[name] = (line[found.end() :].rstrip(), at.later(found.end()))
    return name


def parse_block(block: Block, notation: Notation) -> Template:
    """The template of one block; the `Mistake` that says why there is none knows all of them."""
    faults = Faults()
    return settled(_parsed(block, notation, faults), faults)


def _parsed(block: Block, notation: Notation, faults: Faults) -> Template:
    """The template as far as it can be read."""
    for name in ("premise", "hypothesis", "category"):
        if not block.fields.get(name, ("", block.at))[0]:
            what = f"template {block.id} has no {name}"
            faults.append(Mistake("syntax", what, block.at, f"add a line: {name}: …"))
    premise, hypothesis = (
        parse_side(*block.fields.get(name, ("", block.at)), notation, faults)
        for name in ("premise", "hypothesis")
    )
    both = (*premise, *hypothesis)
    faults.tried(lambda: refuse_too_many(both, block.at), None)
    given = _condition(block, "given", faults)
    test = block.fields.get("test")
    return Template(
        id=block.id,
        premise=premise,
        hypothesis=hypothesis,
        entails=_condition(block, "entails", faults),
        contradicts=_condition(block, "contradicts", faults),
        given=(given,) if "given" in block.fields else (),
        formats=faults.tried(lambda: _formats(block, notation, both), ()),
        test_format=faults.tried(lambda: _format(*test, notation), None)
        if test and test[0] != "none"
        else None,
        category=block.fields.get("category", ("", block.at))[0],
        language=notation.language,
        note=block.fields.get("note", ("", block.at))[0],
        at=block.at,
        places={name: at for name, (_, at) in block.fields.items()},
        written={name: text for name, (text, _) in block.fields.items()},
    )


def _condition(block: Block, name: str, faults: Faults) -> Condition:
    written = block.fields.get(name)
    never: Condition = NEVER
    return never if written is None else faults.tried(lambda: parse_condition(*written), never)


def _formats(block: Block, notation: Notation, elements: Side) -> tuple[Format, ...]:
    kinds = {e.kind for e in elements if isinstance(e, Time)}
    offered: tuple[Format, ...] = ()
    if "number" in kinds:
        if kinds & {"time", "interval", "unit"}:
            raise Mistake(
                "format", "numbers and times in one template", block.at, "split it in two"
            )
        offered = tuple(notation.measures.values())
    elif kinds:
        pool = POINTS if "time" in kinds else INTERVALS
        offered = tuple(fmt for fmt in pool if fmt in notation.formats.values())
    text, at = block.fields.get("formats", ("all", block.at))
    if kinds and text not in ("all", "none"):
        offered = _chosen(text, at, notation, offered)
    if kinds and not offered:
        cure = "declare a [measure.…] in pack.toml" if "number" in kinds else "allow at least one"
        raise Mistake("format", "no format is left for its times", at, cure)
    return offered


def _chosen(
    text: str, at: At, notation: Notation, offered: tuple[Format, ...]
) -> tuple[Format, ...]:
    """The formats a line names, or all but those."""
    but = re.match(r"all but\s+", text)
    start = but.end() if but else 0
    named = {
        _format(w[0], at.later(w.start()), notation)
        for w in re.finditer(r"[^\s,、]+", text)
        if w.start() >= start
    }
    return tuple(fmt for fmt in offered if (fmt in named) != bool(but))


def _format(name: str, at: At, notation: Notation) -> Format:
    known = {**notation.formats, **notation.measures}
    if name not in known:
        raise Mistake("format", f"{name!r} is not a format", at, suggest(name, known))
    return known[name]
