"""Group texts into chunks of about the same size, based only on their content, so that the chunks do not depend on the
number of workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class HasText(Protocol):
    """Anything with a text."""

    @property
    def text(self) -> str:
        """The text."""
        ...


T = TypeVar("T", bound=HasText)


def by_characters(texts: Iterable[T], most: int) -> Iterator[list[T]]:
    """Lists that end with the text that brings them to so many characters."""
    chunk: list[T] = []
    size = 0
    for one in texts:
        chunk.append(one)
        size += len(one.text)
        if size >= most:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
