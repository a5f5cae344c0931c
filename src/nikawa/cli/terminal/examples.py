"""Print examples and cards: one field per line, spans marked in the text, trees as arrows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nikawa.cli.terminal.output import MAX_CELL_CHARS, console, print_json
from nikawa.printable import printable, printable_line
from nikawa.records import Card, Dataset, Example, Span, reference

if TYPE_CHECKING:
    from rich.text import Text

READING_ORDER = (
    "title",
    "context",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "question",
    "choices",
    "text",
)
"""The reading order of the inputs; files order them by name."""


def print_examples(
    dataset: Dataset, chosen: Mapping[str, Sequence[Example]], whole: bool = True
) -> None:
    """Print the chosen examples of each split.

    If the file was read in part, a split may have more examples.
    """
    from rich.text import Text

    out = console()
    for split, examples in chosen.items():
        size = len(dataset.splits[split])
        first = "" if whole or size <= len(examples) else "first "
        count = len(examples) if first else size
        about = (f" version {dataset.version}, {first}{count:,} example{'s' * (count != 1)}", "dim")
        out.print(Text.assemble((printable_line(f"{dataset.name}:{split}"), "bold"), about))
        is_published = any(example.gold for example in dataset.splits[split])
        for example in examples:
            out.print()
            tags = f"  ({', '.join(sorted(example.tags))})" if example.tags else ""
            fields = list_fields(example, is_published and not example.hidden)
            _print_fields(reference(dataset.name, split, example.id) + tags, fields)
        out.print()


def _print_fields(title: str, fields: Iterable[tuple[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(Text(printable_line(title), style="cyan"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields:
        cell = value if isinstance(value, Text) else Text(printable(str(value), "\n"))
        grid.add_row(Text(f"  {printable_line(name, MAX_CELL_CHARS)}"), cell)
    out.print(grid)


def list_fields(example: Example, is_published: bool = False) -> Iterable[tuple[str, Any]]:
    """List the fields of an example in reading order.

    If other labels of its split are published, an example without one has no label to publish.
    """
    from rich.text import Text

    spans = list(example.gold.get("spans", ()))
    for side in ("subject", "object"):
        if isinstance(example.inputs.get(side), Span):
            span = example.inputs[side]
            spans.append(Span(span.start, span.end, f"{side} {span.label}".strip()))
    marks = sorted(spans, key=lambda span: (span.start, span.end))
    for name, value in sorted(example.inputs.items(), key=reading_order):
        if isinstance(value, Span):
            continue
        if name == "text" and marks and isinstance(value, str):
            yield name, mark_spans(value, marks)
        else:
            yield name, format_input(value)
    for name, value in example.gold.items():
        if name == "spans":
            continue
        yield (
            name,
            Text.assemble(
                ("→ ", "green"), (printable(format_gold(name, value, example), "\n"), "green")
            ),
        )
    if not example.gold:
        yield "gold", Text("no label" if is_published else "not published", style="dim")


def reading_order(field: tuple[str, Any]) -> int:
    """Return the position of an input in reading order."""
    return READING_ORDER.index(field[0]) if field[0] in READING_ORDER else len(READING_ORDER)


def mark_spans(text: str, spans: list[Span]) -> Text:
    """Return the text with each span in colour, followed by its label.

    Of overlapping spans, only the first is shown.
    """
    from rich.text import Text

    shown, at = Text(), 0
    for span in spans:
        if span.start < at:
            continue
        shown.append(printable(text[at : span.start], "\n"))
        shown.append(printable(text[span.start : span.end], "\n"), style="bold magenta")
        shown.append(f"[{printable_line(span.label, MAX_CELL_CHARS)}]", style="magenta")
        at = span.end
    return shown.append(printable(text[at:], "\n"))


def format_input(value: Any) -> str:
    """Format an input as text: numbered choices, turns with their speaker, words side by side."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        if all({"role", "text"} <= item.keys() for item in value):
            return "\n".join(f"{turn['role']}: {turn['text']}" for turn in value)
        if all("form" in item for item in value):
            return "  ".join(f"{i}:{word['form']}" for i, word in enumerate(value, start=1))
    if isinstance(value, list):
        return "  ".join(f"{i}:{item}" for i, item in enumerate(value))
    return str(value)


def format_answer(value: Any, text: str = "") -> Any:
    """Format an answer on one line: spans as `0-3:PS 김하늘, 5-7:LC 서울`, with the characters if the text is known.

    Labels and numbers stay as they are; other structures become plain text.
    """
    parts = value if isinstance(value, list | tuple) else [value]
    spans = [to_span(part) for part in parts]
    if parts and None not in spans:
        return ", ".join(format_span(span, text) for span in spans if span is not None)
    return (
        value if isinstance(value, str | int | float) or value is None else format_structure(value)
    )


def to_span(part: Any) -> Span | None:
    """Return a span from a `Span` or from `{start, end, label}`; None for anything else."""
    if isinstance(part, Mapping) and {"start", "end"} <= part.keys() <= {"start", "end", "label"}:
        return Span(part["start"], part["end"], part.get("label") or "")
    return part if isinstance(part, Span) else None


def format_span(span: Span, text: str) -> str:
    """Format a span with its label and characters; empty parts are omitted.

    >>> format_span(Span(0, 3, "PS"), "김하늘은")
    '0-3:PS 김하늘'
    """
    place = f"{span.start}-{span.end}" + (f":{span.label}" if span.label else "")
    return f"{place} {text[span.start : span.end]}" if text else place


def format_structure(value: Any) -> str:
    """Join a list of texts with commas; format anything else as JSON."""
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ", ".join(value) or "none"
    from nikawa.io.json import pack_json

    return pack_json(value).decode()


def spanned_text(inputs: Mapping[str, Any]) -> str:
    """Return the text that spans refer to: `text` or `context`, else the only text."""
    texts = {name: value for name, value in inputs.items() if isinstance(value, str)}
    text = next((texts[name] for name in ("text", "context") if name in texts), "")
    return text or (next(iter(texts.values())) if len(texts) == 1 else "")


def format_gold(name: str, value: Any, example: Example) -> str:
    """Format a gold answer as text; a value of an unexpected shape stays as it is."""
    try:
        if name == "choice" and isinstance(value, int):
            return f"{value}: {example.inputs['choices'][value]}"
        if name == "answers":
            return " / ".join(dict.fromkeys(answer["text"] for answer in value)) or "(no answer)"
        if name == "tree":
            pairs = enumerate(zip(value["heads"], value["labels"], strict=True), start=1)
            return "  ".join(f"{i}→{head} {label}" for i, (head, label) in pairs)
        if isinstance(value, list):
            return ", ".join(map(str, value)) or "(empty)"
        return str(value)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return str(value)


def print_card(card: Card, json: bool) -> None:
    """Print the card of a dataset."""
    if json:
        print_json(card)
        return
    fields = [
        (name, getattr(card, name))
        for name in card.__struct_fields__
        if name not in ("title", "problems")
    ]
    rows = [
        (name, ", ".join(value) if isinstance(value, tuple) else value) for name, value in fields
    ]
    rows += [("known problem", problem) for problem in card.problems]
    _print_fields(card.title, rows)
