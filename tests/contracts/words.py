"""Phrases that readers stumbled over, and where they are still used.

Docs, help texts, messages, docstrings and comments are plain present-day technical English. The
list grew from what readers marked while reading the pages aloud: old-fashioned verbs ("is told",
"stands in the file"), private words for things the field has a name for ("piece" for a token),
and clipped distributive phrases ("a line an item").

Check some files while you write::

    python -m tests.contracts.words docs/score.md src/nikawa/io
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

READ_BY_PEOPLE = (
    "README.md",
    "CONTRIBUTING.md",
    "docs",
    "examples",
    "mkdocs.yml",
    "src/nikawa",
    "bench",
    "studies",
)
"""Files and folders whose words are checked, relative to the project's root."""

SUFFIXES = {".md", ".py", ".toml", ".html", ".j2", ".js", ".yml", ".ipynb"}

GAP = r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)(?:#[^\S\n]+|>[^\S\n]+)?"
"""What may be between two words of a phrase: blanks or one line break, and the mark of a comment or
a quote. An empty line ends a phrase: a heading does not continue in the paragraph below it."""

UNITS = (
    "item|example|worker|line|row|file|folder|cell|run|task|question|pair|text|sentence|token"
    "|character|node|core|process|split|dataset|model|label|annotator|judge|paper|page|word|seed"
)

BANNED: dict[str, str] = {
    r"\btold\b": "say what happens: prints, reports, lists, shows",
    r"\btells? of\b": "reports, describes",
    r"\bstands?\b(?! for\b)(?!-in)": "is, appears, the file contains",
    r"\bstood\b": "was",
    r"\b(is|are|be|was|were|can be) had\b": "is available, comes from",
    r"\bone's own\b": "your own, custom",
    r"\bown datasets?\b": "custom dataset",
    r"\bwhoever\b": "anyone who, the person who, if you",
    r"\bwhosoever\b|\bwhomever\b": "anyone",
    r"\bnobody\b": "no one, or name who: no reader, no worker, no process",
    r"\bshall\b": "will, must",
    r"(?-i:\b(is|are) none\b)": "say what is missing",
    r"\blies? (in|under|beside|at|inside|outside|on|near|between)\b": "is in, is under",
    r"\blay (in|under|beside|at|inside|outside)\b": "was in",
    r"\bsay -": "use --option, pass --option",
    r"\bsays? `--": "pass `--option`",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"\b(is|are|was|were) said\b": "states, is stated, is printed",
    r"\bheard\b|\bhears?\b": "receives, reads",
    r"\bnot asked about\b|\bwhat is asked about\b": "name the field or the option",
    r"\basked of\b": "required of, passed to",
    r"\breckon(s|ed|ing)?\b": "count, compute",
    r"\bthereof\b|\bwherein\b|\bwhereof\b|\bhereby\b|\bthereby\b|\btherein\b": "use a plain clause",
    r"\banew\b": "again",
    r"\bat hand\b": "available, installed, present",
    r"\b(a|one|two|three|\d+) (line|row|file|folder|sheet|value|process|vote|answer|record|page"
    rf"|call|entry|number|test|seed|model|run|split|worker)s? an? ({UNITS})\b": "per: one line per item",
    rf"\b(tokens|seconds|bytes|judgements|answers|labels|votes|workers|items|problems|examples|characters"
    rf"|milliseconds|words|cents|requests|rows) an? ({UNITS})\b": "per: judgements per item",
    r"(?<!sentence)(?<!word)\bpieces?\b": "token, sub-word, part, chunk",
    r"\bcards? of the machine\b|\bgraphics cards?\b": "GPU",
    r"\bmade out of\b": "made from",
    r"\b1 (workers|items|rows|files|examples|answers|judgements|runs)\b": "one worker, or 1 worker",
    r"\bbesides\b": "also, in addition",
    r"\bbeside\b": "next to, with, in addition to",
    r"\bof itself\b": "by itself, or drop it",
    r"\bset down\b|\bwritten down\b|\bput down\b": "written, recorded",
    r"\bas yet\b|\bhitherto\b|\bheretofore\b": "so far",
    r"\bsuchlike\b|\band the like\b": "etc., or name them",
    r"\bholds? (it|them) against\b|\bheld against\b|\bholds? against\b": "compares with, checks against",
    r"\bforbids? of\b|\bgoes? by\b": "uses, is chosen by",
}
"""What is not written any more (a regular expression, without regard to case), and what is."""


class Stumble(NamedTuple):
    """A banned phrase in a file."""

    path: Path
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.phrase!r}; write: {self.instead}"


def find_stumbles(paths: list[Path]) -> Iterator[Stumble]:
    """Yield each banned phrase in the files, and in the folders' files that people read."""
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix in SUFFIXES and file.is_file() and "/data/" not in str(file):
                yield from find_in_text(file, file.read_text(encoding="utf-8"))


def find_in_text(path: Path, text: str) -> Iterator[Stumble]:
    """Yield each banned phrase in one text; a phrase may run over a line break."""
    if path.suffix == ".py":
        text = keep_words(text)
    for pattern, instead in BANNED.items():
        for match in re.finditer(pattern.replace(" ", GAP), text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            yield Stumble(path, line, " ".join(match[0].split()), instead)


def keep_words(source: str) -> str:
    """Return Python source with only its strings and comments left, on their own lines."""
    kept = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1))
    lines = [""] * (source.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kept:
            for offset, line in enumerate(token.string.split("\n")):
                lines[token.start[0] - 1 + offset] += " " + line
    return "\n".join(lines)


if __name__ == "__main__":
    named = [Path(name) for name in sys.argv[1:]]
    stumbles = sorted(find_stumbles(named or [ROOT / name for name in READ_BY_PEOPLE]))
    sys.stdout.writelines(f"{stumble}\n" for stumble in stumbles)
    sys.stdout.write(f"{len(stumbles)} phrases\n")
    sys.exit(bool(stumbles))
