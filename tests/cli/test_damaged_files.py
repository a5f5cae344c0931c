"""Some cases of the fuzzer in `tests/soak/fuzz.py`; `make soak` plays 20,000."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.soak.fuzz import COMMANDS, is_obeyed, shape_traceback
from tests.soak.fuzz_mutations import CONTENT, damage_bytes, damage_content

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_damaged_files_end_in_one_line(tmp_path: Path) -> None:
    """30 cases hold what the fuzzer's docstring says."""
    words = ["--cases", "30", "--workers", "1", "--no-bombs", "--keep", str(tmp_path)]
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-m", "tests.soak.fuzz", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "30 cases, 0 failed" in done.stdout


def test_a_case_is_the_same_each_time() -> None:
    data = b'{"id": "1", "answer": "a"}\n{"id": "2", "answer": "b"}\n'
    for seed in range(200):
        first, again = (damage_content(data, "x.jsonl", random.Random(seed)) for _ in range(2))
        assert first == again
        assert damage_bytes(data, random.Random(seed)) == damage_bytes(data, random.Random(seed))


def test_every_form_is_damaged() -> None:
    damaged = {Path(name).suffix for command in COMMANDS for name in command.damaged}
    assert set(CONTENT) <= damaged | {".parquet"}


def test_what_a_terminal_obeys() -> None:
    assert [char for char in "aあ\n\t\u3000\x1b\u202e\x9b\x7f\ud800" if is_obeyed(char)] == [
        "\x1b",
        "\u202e",
        "\x9b",
        "\x7f",
        "\ud800",
    ]


def test_a_traceback_is_told_by_its_last_own_line() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/x/src/nikawa/io/json.py", line 12, in read\n'
        '  File "/y/json/decoder.py", line 3, in decode\n'
        "ValueError: 'abc' at 17\n"
    )
    assert shape_traceback(text) == "src/nikawa/io/json.py:12 read: ValueError: '…' at 0".replace(
        "…", "\\u2026"
    )
