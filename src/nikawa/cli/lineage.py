"""`nikawa lineage`: where a released example came from.

It reads the lineage that `nikawa build` writes next to a dataset, and traces one example back to
its sources.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli.terminal.options import Json, Quiet
from nikawa.cli.terminal.output import echo, print_result, print_table

if TYPE_CHECKING:
    from nikawa.datasets.lineage import Lineage

PANEL = "Build"
EXAMPLE = "Example: nikawa lineage dev/3 --in my-jnli"


def lineage(
    example: Annotated[
        str, typer.Argument(help="The example: jnli:dev/3, dev/3, or 3 if only one split has it.")
    ],
    folder: Annotated[
        Path, typer.Option("--in", help="A dataset folder that nikawa build made.")
    ] = Path(),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print where an example comes from: its source, judgements and rules, and the candidates dropped from the same source."""
    from nikawa.datasets.lineage import find_lineage

    record = find_lineage(example, folder)
    print_result(record, show, json=json, quiet=quiet)


def show(record: Lineage) -> None:
    """Print the lineage of an example, from its source to its release."""
    from nikawa.cli.terminal.examples import format_answer, reading_order, spanned_text
    from nikawa.records import find_answerer, is_person

    text = spanned_text(record.inputs)
    rows: list[tuple[str, Any]] = [
        ("example", record.example),
        ("made as", f"{record.item}, by the recipe {record.recipe}"),
        ("version", f"{record.version} (nikawa {record.nikawa})"),
        *(
            (name, format_answer(value, text))
            for name, value in sorted(record.inputs.items(), key=reading_order)
        ),
        *(
            (f"gold {question}", format_answer(answer, text))
            for question, answer in record.gold.items()
        ),
        ("tags", ", ".join(record.tags) or "none"),
    ]
    print_table(("field", "value"), rows)
    changed = [
        (
            c.version,
            c.question,
            format_answer(c.before, text),
            format_answer(c.after, text),
            c.why,
            c.by,
        )
        for c in record.changes
    ]
    if changed:
        print_table(
            ("version", "question", "before", "after", "why", "by"), changed, title="Corrected"
        )
    names = list(dict.fromkeys(key for source in record.sources for key in source))
    if names:
        cells = [[source.get(name, "") for name in names] for source in record.sources]
        print_table(names, cells, title="Sources")
    steps = [(step.stage, step.item, step.rule, ", ".join(step.parents)) for step in record.steps]
    if steps:
        print_table(("stage", "item", "rule", "made from"), steps, title="Stages")
    judged = record.judgements
    has_comments, are_persons = any(j.comment for j in judged), all(map(is_person, judged))
    columns: dict[str, list[Any]] = {
        "item": [j.example for j in judged],
        "question": [j.question for j in judged],
        "worker": [j.worker for j in judged],
        **({} if are_persons else {"kind": [find_answerer(j) for j in judged]}),
        "answer": [
            format_answer(j.answer, text if j.example == record.item else "") for j in judged
        ],
        "when": [j.at for j in judged],
        **({"comment": [j.comment for j in judged]} if has_comments else {}),
    }
    if judged:
        rows = list(zip(*columns.values(), strict=True))
        print_table(tuple(columns), rows, title="Judgements")
    gone = [(s.item, s.stage, s.why, s.detail) for s in record.siblings]
    if gone:
        print_table(("item", "stage", "why", "detail"), gone, title="Dropped siblings")
    if record.siblings_more:
        echo(f"… and {record.siblings_more:,} more")
