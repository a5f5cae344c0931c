"""What a new project need not be told: a task sheet says what it asks, and texts say which language they are in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.collect.form import LANGUAGES, form
from nikawa.collect.open import file_of
from nikawa.errors import BadInput
from nikawa.records import Example, texts_inside

if TYPE_CHECKING:
    from nikawa.collect.job import New
    from nikawa.recipes.sheet import Sheet

LOOKED_AT = 200
"""Examples that tell the language."""
WORKERS = 3
_HANGUL, _KANA = (
    re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]"),
    re.compile(r"[\u3041-\u30ff]"),
)


def completed(how: New, spec: str, examples: Iterable[Example]) -> tuple[New, Iterator[Example]]:
    """`how` with what was left open: by `sheet.json` beside the tasks, else by the texts; and the examples again."""
    sheet = sheet_beside(spec)
    if not how.form and sheet is None:
        cure = "say --form FORM; nikawa collect forms lists them"
        raise BadInput("it is not told what is asked about the examples", cure=cure)
    if sheet is not None:
        how = _by_sheet(how, sheet)
    found = iter(examples)
    first = list(islice(found, LOOKED_AT))
    language = how.language or language_of(first)
    return replace(how, language=language, workers=how.workers or WORKERS), chain(first, found)


def sheet_beside(spec: str) -> Sheet | None:
    """The sheet of a file of tasks that a build or an analysis wrote."""
    from nikawa.io.json import read_json
    from nikawa.recipes.sheet import SHEET, TASKS, Sheet

    path = file_of(spec)
    if path is None or path.name != TASKS or not path.with_name(SHEET).is_file():
        return None
    return read_json(path.with_name(SHEET), Sheet)


def _by_sheet(how: New, sheet: Sheet) -> New:
    """What the sheet says and `how` does not; its title is for readers of the build, not for workers."""
    asked = how.form or sheet.form
    options = _options(sheet) if asked == sheet.form else {}  # another form asks something else
    return replace(
        how,
        form=asked,
        workers=sheet.workers if how.workers is None else how.workers,
        language=how.language or (sheet.language if sheet.language in LANGUAGES else ""),
        options={**options, **how.options},
    )


def _options(sheet: Sheet) -> dict[str, Any]:
    """The settings of the form that make it ask what the sheet asks."""
    kind = form(sheet.form).settings
    known = {found.name: found.default for found in msgspec.structs.fields(kind)} if kind else {}
    given: dict[str, Any] = {"question": sheet.question}
    if sheet.labels:
        given["labels"] = list(sheet.labels)
    if sheet.scale is not None:
        given["low"], given["high"] = map(float, sheet.scale)
    given["texts"] = given["most"] = sheet.texts
    given["naturalness"] = False
    if sheet.form == "choice" or sheet.question != known.get("question"):
        given["prompt"] = (
            sheet.prompt
        )  # else the words of the page itself, in each worker's language
    return {name: value for name, value in given.items() if name in known}


def language_of(examples: Iterable[Example]) -> str:
    """Korean where the texts hold more Hangul than kana, else Japanese."""
    text = "".join(part for example in examples for part in texts_inside(example.inputs))
    return "ko" if len(_HANGUL.findall(text)) > len(_KANA.findall(text)) else "ja"
