"""What the tests of files share: a way to write a file and to see the one line of its error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io.records import read_examples

Complain = Callable[[str, bytes], BadInput]


@pytest.fixture
def complain(tmp_path: Path) -> Complain:
    """Write `data` under a name, read it as examples, return the error, which must be one line with file and cure."""

    def read(name: str, data: bytes) -> BadInput:
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(BadInput) as caught:
            list(read_examples(path))
        line = str(caught.value)
        assert line.startswith(str(path))
        assert "\n" not in line
        assert caught.value.cure
        return caught.value

    return read
