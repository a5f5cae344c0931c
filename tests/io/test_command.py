"""Programs that read lines and write lines."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io.command import pipe_lines


def program(tmp_path: Path, body: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(f"import sys\n{body}\n", "utf-8")
    return f"{sys.executable} {path}"


def test_lines_in_and_out(tmp_path: Path) -> None:
    echo = program(tmp_path, "for line in sys.stdin.buffer: sys.stdout.buffer.write(line)")
    assert pipe_lines(echo, ["橋  を\n渡る", "", "x"], called="it") == ["橋 を 渡る", "", "x"]


def test_a_program_that_does_not_read_on_is_told(tmp_path: Path) -> None:
    """With the signal as the command line sets it, and more than a pipe holds."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with pytest.raises(BadInput, match=r"it .* exited with status 3: nothing"):
            pipe_lines(program(tmp_path, "sys.exit(3)"), ["long" * 50] * 20_000, called="it")
        assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGPIPE, before)
