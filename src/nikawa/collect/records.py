"""Examples and judgements as the store keeps them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from nikawa.records import Example, revive

WRITER = "writer"
"""Who wrote the text of an example, in its meta: the owner's dashboard names them, no worker's page does."""
_DECODER = msgspec.json.Decoder(Example)


def example_of(body: str) -> Example:
    """The example of a stored item, without gold."""
    return revive(_DECODER.decode(body))


def stamp(at: float | None) -> str | None:
    """A moment as judgements write it: ISO 8601, UTC, milliseconds."""
    if at is None:
        return None
    second, rest = divmod(round(at * 1e6), 1_000_000)
    hour, second = divmod(second, 3600)
    return f"{_hour(hour)}:{second // 60:02}:{second % 60:02}.{rest // 1000:03}+00:00"


@lru_cache(maxsize=4096)
def _hour(number: int) -> str:
    """Judgements come in the order of time: many share their hour."""
    return datetime.fromtimestamp(3600 * number, UTC).isoformat()[:13]


def moment(text: str | None, otherwise: float) -> float:
    """The moment a judgement names, where it can be read."""
    try:
        return otherwise if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return otherwise
