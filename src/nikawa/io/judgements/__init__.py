"""Judgements to and from disk: our own records, any platform's sheets, Label Studio and doccano."""

from nikawa.io.judgements.base import Note, Notes, Reading
from nikawa.io.judgements.columns import QUESTION, parse_map
from nikawa.io.judgements.crowd import DIALECTS, write_tasks
from nikawa.io.judgements.read import FORMS, How, lines_of, open_judgements, write_judgements

__all__ = [
    "DIALECTS",
    "FORMS",
    "QUESTION",
    "How",
    "Note",
    "Notes",
    "Reading",
    "lines_of",
    "open_judgements",
    "parse_map",
    "write_judgements",
    "write_tasks",
]
