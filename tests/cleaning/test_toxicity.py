"""The hook for scorers: functions and commands, good and bad."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nikawa.cleaning.toxicity import Scorer, command_scorer
from nikawa.cleaning.toxicity_review import Screen
from nikawa.cleaning.toxicity_threshold import Threshold
from nikawa.errors import BadInput


def find_toxic(texts: list[str], scorer: Scorer, threshold: float) -> list[str]:
    return Screen(scorer, "", Threshold(value=threshold, rule="as given")).find_reasons(texts)


def script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "score.py"
    path.write_text(f"import sys\n{body}\n", "utf-8")
    return f"{sys.executable} {path}"


def test_a_function_and_a_threshold() -> None:
    assert find_toxic(["a", "bb", "ccc"], lambda texts: [len(t) / 4 for t in texts], 0.5) == [
        "",
        "score 0.5",
        "score 0.75",
    ]


def test_a_command(tmp_path: Path) -> None:
    score = command_scorer(
        script(
            tmp_path,
            "for line in sys.stdin.buffer: print(0.9 if '나쁜' in line.decode() else 1e-3)",
        )
    )
    assert score(["좋은 날", "나쁜\n날", "날"]) == [
        0.9 if "나쁜" in t else 0.001 for t in ["좋은 날", "나쁜\n날", "날"]
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('high')", "wrote 'high' for sentence 1"),
        ("print(0.5)", "1 scores for 2 sentences"),
        ("print('nan'); print(1)", "2 scores for 2 sentences"),
        ("sys.exit('no model')", "exited with status 1: no model"),
    ],
)
def test_a_bad_command_is_told(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        find_toxic(["a", "b"], command_scorer(script(tmp_path, body)), 0.5)


def test_no_command() -> None:
    with pytest.raises(BadInput, match="cannot run"):
        command_scorer("no-such-program-here")(["a"])
    with pytest.raises(BadInput, match="empty"):
        command_scorer(" ")
