"""The sources of a new project: examples by name, their writers, and settings from a task sheet or from the texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from nikawa.collect.form import REPORTS, find_form
from nikawa.collect.project import open_project
from nikawa.collect.pseudonyms import OWNER_KEY, PseudonymKey, owner_key_file, share_key
from nikawa.collect.writers import Authorship, read_writers, writers_file
from nikawa.datasets.load import load, open_file
from nikawa.datasets.names import find_benchmark
from nikawa.errors import BadInput, name_faulty_file, unknown
from nikawa.io.json import read_json
from nikawa.io.records import SUFFIXES
from nikawa.io.task_sheet import PEOPLE, SHEET, TASKS, Sheet
from nikawa.records import Example, reference, texts_inside
from nikawa.serve.languages import LANGUAGES

LANGUAGE_EXAMPLES = 200
"""Number of examples from which the language is detected."""
DEFAULT_WORKERS = 3
REHEARSAL = (
    "these tasks come from answers of simulated workers: use them to try the pages, and ask people only with sheets of a build"
    " without --simulate"
)
_HANGUL = re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_KANA = re.compile(r"[\u3041-\u30ff]")


@dataclass(frozen=True)
class NewProject:
    """How a project starts."""

    form: str = ""
    """Empty: what the task sheet asks for."""
    workers: int | None = None
    """Workers per item; None: the number in the task sheet, else three."""
    language: str = ""
    """Empty: that of the task sheet, else of the texts."""
    title: str = ""
    """Empty: what the task sheet calls the task, else the name of the folder."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The form's own settings."""
    database: str = ""
    """A PostgreSQL address; empty: a file in the folder."""
    key: Path | None = None
    """The file of the key of pseudonyms, created if it does not exist; None: the key of the build, else of the owner."""
    share_key_with: Path | None = None
    """A project whose key of pseudonyms the new one gets."""
    guideline: tuple[str, ...] = ()
    """Points of the guideline in the language of the project; empty: those of the form."""
    reports: tuple[str, ...] = ()
    """Reasons for which workers can report an item, if each report counts as their answer; empty: all reasons, and another
    worker gets the item."""
    notes: tuple[str, ...] = ()
    """Notes for the owner about the examples."""


def _records_file(spec: str) -> Path | None:
    """The records file that a name means, where it means one."""
    path = Path(spec)
    if find_benchmark(spec) is None and spec.endswith(SUFFIXES) and path.is_file():
        return path
    return None


def read_sources(spec: str, data: Path | None = None) -> Iterator[Example]:
    """The examples to judge, under the references their judgements will carry; a file keeps its plain ids."""
    path = _records_file(spec)
    if path is not None:
        yield from open_file(path, data=data)
        return
    dataset = load(spec, data=data)
    for split, examples in dataset.splits.items():
        for example in examples:
            name = reference(dataset.name, split, example.id)
            yield msgspec.structs.replace(example, id=name)


def read_source_writers(spec: str) -> dict[str, Authorship]:
    """The writers of the texts in a records file, if a file next to it names them."""
    path = _records_file(spec)
    return {} if path is None else read_writers(writers_file(path))


def choose_key(
    spec: str, key: Path | None, share_key_with: Path | None
) -> tuple[PseudonymKey | None, str]:
    """The key of pseudonyms of a project on these examples, and a note where it has none to share.

    `key` names its file, `share_key_with` a project that has it. Else it is the key of the build that wrote the task
    sheet, else that of the owner. An older project has its own secret for a key: sharing it is the owner's wish, and
    the only way to keep that project's pseudonyms.
    """
    if key is not None and share_key_with is not None:
        cure = "pass either --key FILE or --share-key-with PROJECT"
        raise BadInput("two keys for pseudonyms are given", cure=cure)
    if share_key_with is not None:
        return open_project(share_key_with).pseudonym_keys[0], ""
    if key is not None:
        return share_key(key), ""
    path = _records_file(spec)
    sheets = None if path is None or read_sheet_beside(spec) is None else path.absolute().parents[1]
    if sheets is not None and sheets.name == PEOPLE and os.access(sheets, os.W_OK):
        return share_key(sheets / OWNER_KEY), ""
    try:
        place = owner_key_file()
        return share_key(place), ""
    except (OSError, RuntimeError) as problem:  # no home folder, or none that can be written to
        note = f"the project has its own pseudonyms, because the key for all projects could not be stored ({problem}); pass a key with --key FILE"
        return None, note


def complete_settings(
    new: NewProject, spec: str, examples: Iterable[Example]
) -> tuple[NewProject, Iterator[Example]]:
    """The complete settings: missing values come from `sheet.json` next to the tasks, else from the texts.

    Returns the examples too: the first ones were read to detect the language. Raises `BadInput` where neither the
    settings nor a sheet name a form.
    """
    if new.language and new.language not in LANGUAGES:
        raise unknown("language", new.language, LANGUAGES)
    if new.workers is not None and new.workers < 1:
        raise BadInput("an item needs at least one worker", cure="pass --workers-per-item 3")
    rest = iter(examples)
    first = list(
        islice(rest, LANGUAGE_EXAMPLES)
    )  # a file that cannot be read is the first thing to say
    sheet = read_sheet_beside(spec)
    if not new.form and sheet is None:
        cure = "pass --form FORM; `nikawa collect forms` lists the forms"
        raise BadInput("the form of the project is not known", cure=cure)
    if sheet is not None:
        form = new.form or sheet.form
        new = replace(
            new,
            form=form,
            workers=sheet.workers if new.workers is None else new.workers,
            language=new.language or (sheet.language if sheet.language in LANGUAGES else ""),
            notes=(*new.notes, *([REHEARSAL] if sheet.simulated else [])),
        )
        if form == sheet.form:  # another form than that of the sheet asks something else
            new = replace(
                new,
                title=new.title or sheet.heading,  # the sheet's title is for readers of the build
                options={**_options_of_sheet(sheet), **new.options},
                guideline=sheet.guideline if new.language == sheet.language else (),
                reports=tuple(code for code in REPORTS if code in sheet.reports),
            )
    language = new.language or guess_language(first)
    complete = replace(new, language=language, workers=new.workers or DEFAULT_WORKERS)
    return complete, chain(first, rest)


def read_sheet_beside(spec: str) -> Sheet | None:
    """The sheet of a file of tasks that a build or an analysis wrote."""
    path = _records_file(spec)
    if path is None or path.name != TASKS:
        return None
    sheet = path.with_name(SHEET)
    if not sheet.exists() and not sheet.is_symlink():  # a broken link is reported as an error
        return None
    read = read_json(sheet, Sheet)
    with name_faulty_file(sheet):
        find_form(read.form)
    return read


def _options_of_sheet(sheet: Sheet) -> dict[str, Any]:
    """The settings of the form that make it ask what the sheet asks."""
    kind = find_form(sheet.form).settings
    if kind is None:
        return {}
    defaults = {field.name: field.default for field in msgspec.structs.fields(kind)}
    options: dict[str, Any] = {"question": sheet.question}
    if sheet.labels:
        options["labels"] = list(sheet.labels)
    if sheet.scale is not None:
        options["low"], options["high"] = map(float, sheet.scale)
    if sheet.names:
        options["names"] = dict(sheet.names)
    if sheet.anchors:
        options["anchors"] = dict(sheet.anchors)
    options.update(sheet.settings)
    options["texts"] = options["most"] = sheet.texts
    options["naturalness"] = False
    if sheet.form == "choice" or sheet.question != defaults.get("question"):
        options["prompt"] = sheet.prompt  # else the page's own words, in each worker's language
    return {name: value for name, value in options.items() if name in defaults}


def guess_language(examples: Iterable[Example]) -> str:
    """Korean where the texts hold more Hangul than kana, else Japanese."""
    text = "".join(part for example in examples for part in texts_inside(example.inputs))
    return "ko" if len(_HANGUL.findall(text)) > len(_KANA.findall(text)) else "ja"
