"""Judgements to and from disk: our own records, any platform's sheets, Label Studio and doccano."""

from nikawa.io.judgements.base import Note, Notes, Reading
from nikawa.io.judgements.crowd import DIALECTS, write_tasks
from nikawa.io.judgements.read import (
    FORMS,
    JudgementOptions,
    find_lines,
    open_judgements,
    write_judgements,
)
from nikawa.io.judgements.sheets import QUESTION, parse_map

__all__ = [
    "DIALECTS",
    "FORMS",
    "QUESTION",
    "JudgementOptions",
    "Note",
    "Notes",
    "Reading",
    "find_lines",
    "open_judgements",
    "parse_map",
    "write_judgements",
    "write_tasks",
]
