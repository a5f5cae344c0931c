"""The soak test of a board for a few seconds: the server is killed while accounts submit.

`python -m tests.soak kill` runs it at full length on both databases.
"""

from __future__ import annotations

import pytest
from tests.collect.test_soak import soak


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill() -> None:
    words = ("--accounts", "3", "--kills", "1", "--seconds", "0.5", "--items", "60")
    found = soak("board_kill", *words)
    assert found["acknowledged"] > 3
    faults = ("lost", "files_lost", "duplicated", "unscored", "ladders_miscounted", "tracebacks")
    assert not any(found[name] for name in faults)
