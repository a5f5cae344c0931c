"""docs/lexicon.md: its Python runs and says what the page says, its numbers are those of the lexicons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nikawa.generation.lexicon import load_lexicon

TEXT = (Path(__file__).parents[2] / "docs" / "lexicon.md").read_text("utf-8")
PRINTED = (
    "incomplete sentence",
    "行った 問うた 生じて\n来ない 愛せる\n서울로 10은 의사였다\n도왔다 산 고르고 있다\n",
)


def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    for code, printed in zip(
        re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL), PRINTED, strict=True
    ):
        exec(compile(code, "docs/lexicon.md", "exec"), {})
        assert printed in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ja", "ko"])
def test_numbers(name: str) -> None:
    lexicon = load_lexicon(name)
    numbers = (len(lexicon.agents), len(lexicon.verbs), len(lexicon.nouns))
    assert f"| `{name}` | {' | '.join(f'{n:,}' for n in numbers)} |" in TEXT
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", TEXT, re.MULTILINE)
    assert set(row.replace(" alone", "").split(", ")) == {
        "-".join(frame.cases) for frame in lexicon.frames
    }
