"""Round trips: any translator that reads lines and writes as many."""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.errors import BadInput
from nikawa.io.command import pipe_lines


def translate(texts: Sequence[str], command: str, *, seconds: float | None = None) -> list[str]:
    """The lines a command answers to the texts, one each; `seconds` is how long it may take."""
    answers = pipe_lines(command, texts, called="the translator", seconds=seconds)
    if len(answers) != len(texts):
        what = f"the translator {command!r} answered {len(answers):,} lines to {len(texts):,}"
        raise BadInput(what, cure="it must write one line for each it reads")
    return [answer.strip() for answer in answers]


def round_trip(texts: Sequence[str], *commands: str, seconds: float | None = None) -> list[str]:
    """Each text through every command in turn: there, and back."""
    for command in commands:
        texts = translate(texts, command, seconds=seconds)
    return list(texts)
