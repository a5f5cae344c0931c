"""Whether the gold of an item fits its text: spans and marked answers are in it, a tree has a head for each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nikawa.aggregation.decisions import DecisionBook
from nikawa.aggregation.marked_answers import MarkedAnswers
from nikawa.aggregation.spans import text_of
from nikawa.aggregation.verdicts import Verdicts
from nikawa.errors import BadInput
from nikawa.records import Example


def check_gold_fits(
    verdicts: Verdicts,
    examples: Mapping[str, Example],
    book: DecisionBook,
    questions: Sequence[str],
    file: Path | None,
) -> None:
    """Raise `BadInput` for the first gold that does not fit its item; it names the decision where a person decided."""
    is_marked = isinstance(verdicts.kind, MarkedAnswers)
    if verdicts.marks is None and verdicts.trees is None and not is_marked:
        return
    for place, (item, gold) in enumerate(
        zip(verdicts.table.items, verdicts.answers(), strict=True)
    ):
        example = examples.get(item)
        if gold is None or example is None:
            continue
        if verdicts.trees is not None:
            fault = find_tree_misfit(gold, example)
        elif is_marked:
            fault = find_mark_misfit(gold, example)
        else:
            fault = find_span_misfit(gold, text_of(item, example))
        if not fault:
            continue
        decision = book.find(item, questions, has_gold=False) if place in verdicts.decided else None
        if decision is None:
            raise BadInput(
                f"the answers about {item!r} make a gold that does not fit it: {fault}",
                file=file,
                cure="pass the examples that were judged",
            )
        raise BadInput(
            f"the decision {decision.answer!r} about {item!r} does not fit it: {fault}",
            file=decision.file,
            line=decision.line,
            cure="correct the decision",
        )


def find_tree_misfit(gold: Any, example: Example) -> str:
    """Why a tree is not one of the words of an item; empty: it is, or the item has no list of words."""
    words = example.inputs.get("words")
    if not isinstance(words, list | tuple) or len(words) == len(gold["heads"]):
        return ""
    return f"it has {len(gold['heads'])} heads, and the item has {len(words)} words"


def find_mark_misfit(gold: Any, example: Example) -> str:
    """Why an answer is not in the passage where it says; empty: it is."""
    context = example.inputs.get("context")
    if not isinstance(context, str):
        return ""
    for one in gold:
        text, start = one["text"], one["start"]
        if context[start : start + len(text)] == text:
            continue
        found = context.find(text)
        where = f"it is at {found}" if found >= 0 else "the passage does not contain it"
        return f"{text!r} is not at character {start} of the passage; {where}"
    return ""


def find_span_misfit(gold: Any, text: str) -> str:
    """Why a span is not in the text; empty: all are."""
    last = max((span.end for span in gold), default=0)
    return (
        f"a span ends at character {last}, and the text has {len(text)}" if last > len(text) else ""
    )
