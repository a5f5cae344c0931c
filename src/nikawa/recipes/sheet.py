"""Task sheets of a build: the items that people are asked about, and what is asked."""

from __future__ import annotations

from nikawa.io.json import read_json
from nikawa.io.task_sheet import ANSWER_SHAPES, SHEET, Sheet, digest_items, write_task_sheet
from nikawa.recipes.forms import Asked
from nikawa.recipes.store import PEOPLE, Store
from nikawa.records import Example


def write_sheet(store: Store, question: Asked, examples: list[Example]) -> None:
    """The tasks as records and as a sheet, and what is asked; written once for the same items."""
    place, ask = store.out / PEOPLE / question.ask.name, question.ask
    sheet = Sheet(
        recipe=store.recipe.name,
        name=ask.name,
        title=ask.title,
        form=ask.form,
        question=ask.question,
        prompt=ask.prompt,
        labels=ask.labels,
        scale=ask.scale,
        texts=question.texts,
        workers=question.workers,
        items=len(examples),
        answer=ANSWER_SHAPES[ask.form],
        language=store.recipe.language,
        tasks=digest_items(examples),
        reports=ask.reports,
    )
    if not (place / SHEET).is_file() or read_json(place / SHEET, Sheet) != sheet:
        write_task_sheet(place, sheet, examples, overwrite=True)
