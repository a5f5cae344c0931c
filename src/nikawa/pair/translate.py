"""Round trips: any translator that reads lines and writes as many."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from nikawa.errors import BadInput


def translate(texts: Sequence[str], command: str) -> list[str]:
    """The lines a command answers to the texts, one each."""
    words = shlex.split(command)
    if not words:
        raise BadInput("the translator's command is empty", cure="--translator 'COMMAND ARGUMENTS'")
    given = "".join(" ".join(text.split()) + "\n" for text in texts)
    try:
        done = subprocess.run(words, input=given.encode(), capture_output=True, check=False)  # noqa: S603  (the user's own command)
    except OSError as problem:
        raise BadInput(f"the translator {words[0]!r} cannot be run ({problem.strerror})", cure="check its path") from None  # fmt: skip
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
        what = f"the translator {words[0]!r} ended with status {done.returncode} and said: {said[0]}"
        raise BadInput(what, cure="try it on a line by hand")
    try:
        answers = done.stdout.decode().removesuffix("\n").split("\n") if done.stdout else []
    except UnicodeDecodeError:
        raise BadInput(f"the translator {words[0]!r} does not write UTF-8", cure="make it") from None
    if len(answers) != len(texts):
        what = f"the translator {words[0]!r} answered {len(answers):,} lines to {len(texts):,}"
        raise BadInput(what, cure="it must write one line for each it reads")
    return [answer.strip() for answer in answers]


def round_trip(texts: Sequence[str], *commands: str) -> list[str]:
    """Each text through every command in turn: there, and back."""
    for command in commands:
        texts = translate(texts, command)
    return list(texts)
