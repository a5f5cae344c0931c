"""No text that people read has a phrase that readers stumbled over.

`words.py` has the list of phrases, and finds them in docs, help texts, messages, docstrings and
comments.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contracts.words import READ_BY_PEOPLE, ROOT, find_in_text, find_stumbles

STORED = {
    "bench/shape.py": {"told", "heard"},
    "src/nikawa/models/encoder/__init__.py": {"piece"},
    "src/nikawa/pretrain/packing.py": {"pieces"},
    "src/nikawa/recipes/decide.py": {"nobody"},
    "src/nikawa/recipes/klue/klue_ner.py": {"mended"},
    "src/nikawa/recipes/klue/klue_re.py": {"nobody", "mended"},
    "src/nikawa/recipes/klue/reports.py": {"nobody"},
    "src/nikawa/runs/protocol.py": {"stand", "whoever"},
}
"""Phrases that are data, by file: a change would make stored files differ from new ones.

- `shape.py`: the vague variable names that it counts in source code.
- `encoder/__init__.py`: a key of `about.json`.
- `packing.py`: the name of the file `pieces.bin` in the folder of a prepared corpus.
- `recipes`: the name of a stage, and the reasons that a build stores with each example.
- `protocol.py`: the reasons that a run stores with its scores.
"""


def test_no_text_has_a_phrase_that_readers_stumbled_over() -> None:
    stumbles = sorted(find_stumbles([ROOT / name for name in READ_BY_PEOPLE]))
    lines = [
        f"{stumble._replace(path=stumble.path.relative_to(ROOT))}"
        for stumble in stumbles
        if stumble.phrase.lower()
        not in STORED.get(stumble.path.relative_to(ROOT).as_posix(), set())
    ]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("file", STORED)
def test_each_exception_is_needed(file: str) -> None:
    phrases = {stumble.phrase.lower() for stumble in find_stumbles([ROOT / file])}
    assert phrases >= STORED[file]


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("page.md", "The summary\nlists skipped rows.\nThe user is told so.\n", [3]),
        ("page.md", "The file has one line\nan item.\n", [1]),
        ("page.md", "> The file has one line\n> an item.\n", [1]),
        ("code.py", "told = 1\nfail('whoever reads this')\n", [2]),
        ("code.py", "# one line\n# an item\nrun()\n", [1]),
        ("code.py", 'def run():\n    """Print what\n    the file holds against it."""\n', [3]),
        ("code.py", "fail(f'{count} rows lie in the file')\n", [1]),
    ],
)
def test_a_planted_phrase_is_found(name: str, text: str, lines: list[int]) -> None:
    assert [stumble.line for stumble in find_in_text(Path(name), text)] == lines


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "## One answer\n\nAn item has several answers.\n"),
        ("page.md", "- two labels\n\na worker\n"),
        ("page.md", "`--hidden` stands for a test set without labels.\n"),
        ("code.py", "told = heard(whoever)\n"),
        ("code.py", "# one line\n\n# an item\n"),
    ],
)
def test_a_heading_and_the_next_paragraph_are_no_phrase(name: str, text: str) -> None:
    assert not list(find_in_text(Path(name), text))
