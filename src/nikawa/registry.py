"""One generic name table, filled by a folder scan; a wrong name gets suggestions."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar

from nikawa.errors import unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to things of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Register `thing`; a name can be taken once."""
        if name in self._things:
            raise ValueError(f"the {self.kind} {name!r} is registered twice")
        self._things[name] = thing
        return thing

    def __getitem__(self, name: str) -> T:
        try:
            return self._things[name]
        except KeyError:
            raise unknown(self.kind, name, self._things) from None

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def values(self) -> list[T]:
        """The registered things, in the order they were added."""
        return list(self._things.values())


def scan(package: ModuleType, skip: tuple[str, ...] = ()) -> Iterator[ModuleType]:
    """Import every module directly inside `package` in name order, but those starting with `_` or a word of `skip`."""
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if not found.name.startswith(("_", *skip)):
            yield import_module(f"{package.__name__}.{found.name}")
