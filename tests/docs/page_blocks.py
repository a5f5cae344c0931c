"""The fenced blocks of a page and the commands in them, for tests and benches that run what a page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """A fenced block: its language, the file it is saved as where the page names one, its text, and whether the file has it at its end."""

    language: str
    file: str
    text: str
    is_added: bool = False


def read_blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order; a file is named in the fence, or in bold above it with the folder of a pack."""
    fence = r"^```(\w+)(?: (\S+))?\n(.*?)^```$"
    above = r"(?:^\*\*(add to )?([\w-]+/\S+)\*\*\n\n)?"
    found = re.findall(above + fence, page, re.DOTALL | re.MULTILINE)
    return [
        Block(language, file or named, text, bool(added))
        for added, named, language, file, text in found
    ]


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


def save(block: Block, folder: Path) -> None:
    """Write the file of a block, or add to it."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text("utf-8") if block.is_added else ""
    path.write_text(before + "\n" * bool(before) + block.text, "utf-8")
