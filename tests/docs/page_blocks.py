"""The fenced blocks of a page and the commands in them, for tests and benches that run what a page shows."""

from __future__ import annotations

import re
from typing import NamedTuple


class Block(NamedTuple):
    """A fenced block: its language, the file it is saved as where the page names one, and its text."""

    language: str
    file: str
    text: str


def read_blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    pattern = r"^```(\w+)(?: (\S+))?\n(.*?)^```$"
    return [Block(*match) for match in re.findall(pattern, page, re.DOTALL | re.MULTILINE)]


def read_commands(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines of output that the page shows below it."""
    text = re.sub(r" *\\\n *", " ", block.text)
    if block.language == "sh":
        return [(line, []) for line in text.splitlines() if line]
    commands: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif line.strip():
            commands[-1][1].append(line)
    return commands
