"""Judgements to and from disk: our own records, any platform's sheets, and what annotation tools export."""

from nikawa.io.judgements.base import (
    QUESTION,
    JudgementOptions,
    Note,
    Notes,
    Reading,
)
from nikawa.io.judgements.crowd import DIALECTS, write_tasks
from nikawa.io.judgements.read import (
    FORMS,
    FORMS_WITHOUT_ROOM,
    find_lines,
    open_judgements,
    parse_options,
    write_judgements,
)
from nikawa.io.judgements.sheets import parse_map

__all__ = [
    "DIALECTS",
    "FORMS",
    "FORMS_WITHOUT_ROOM",
    "QUESTION",
    "JudgementOptions",
    "Note",
    "Notes",
    "Reading",
    "find_lines",
    "open_judgements",
    "parse_map",
    "parse_options",
    "write_judgements",
    "write_tasks",
]
