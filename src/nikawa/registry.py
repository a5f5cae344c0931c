"""Name tables, and the discovery of plug-ins: datasets, metrics, models, forms, recipes and so on.

A plug-in is one file that declares a value under an agreed name, such as `METRICS` (a tuple) or `DATASET` (one value). Nikawa finds
its own files by scanning their folder. Another package lists its files as entry points in its pyproject.toml:

    [project.entry-points."nikawa.metrics"]
    mine = "my_package.my_metrics"           # a module that declares METRICS
    other = "my_package.more:OTHER_METRIC"   # or the value itself

Nikawa reads entry points when it first uses a registry, never at start-up.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nikawa.errors import BadInput, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """A table from names to things of one kind; a wrong name raises UnknownName with suggestions."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Register `thing`; each name can be used once."""
        if name in self._things:
            cure = "rename one of them, or uninstall the package that provides it"
            raise BadInput(f"the {self.kind} {name!r} is registered twice", cure=cure)
        self._things[name] = thing
        return thing

    @contextmanager
    def lend(self, name: str, thing: T) -> Iterator[None]:
        """Register `thing` for the duration of a `with` block."""
        self.add(name, thing)
        try:
            yield
        finally:
            del self._things[name]

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
        """Return the registered things in the order they were added."""
        return list(self._things.values())


def scan(package: ModuleType, skip: tuple[str, ...] = ()) -> Iterator[ModuleType]:
    """Import the modules directly inside `package`, by name; skip names that start with `_` or a word of `skip`."""
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if not module.name.startswith(("_", *skip)):
            yield import_module(f"{package.__name__}.{module.name}")


def collect_plugins(
    kind: type[T],
    attribute: str,
    group: str,
    package: ModuleType | None = None,
    *,
    in_subfolders: bool = False,
) -> list[T]:
    """Collect every `kind` that a file declares under `attribute`: from `package` by file name, then from entry points.

    - `attribute` holds one value or a tuple of values. A file of the package without it is not a plug-in and is skipped.
    - `group` is the group of entry points: `nikawa.metrics`.
    - `in_subfolders` scans the files in the package's folders (one folder per paper) instead of its own files.

    Raises BadInput with the name of an entry point that cannot be loaded or declares something else.
    """
    from importlib.metadata import entry_points  # takes about 20 ms, so not at start-up

    plugins: list[T] = []
    packages = [] if package is None else [package]
    if in_subfolders:
        packages = [folder for each in packages for folder in _subfolders(each)]
    for each in packages:
        for module in scan(each):
            for plugin in _as_tuple(getattr(module, attribute, ()), kind):
                if not any(plugin is other for other in plugins):  # a sibling may import it
                    plugins.append(plugin)
    for entry_point in sorted(entry_points(group=group), key=lambda e: e.name):
        plugins += load_entry_point(entry_point, kind, attribute)
    return plugins


def _subfolders(package: ModuleType) -> list[ModuleType]:
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.ispkg)
    return [import_module(f"{package.__name__}.{name}") for name in names]


def load_entry_point(entry_point: EntryPoint, kind: type[T], attribute: str) -> list[T]:
    """Load the plug-ins of one entry point; if that fails, the `BadInput` names the entry point and its package."""
    package = entry_point.dist.name if entry_point.dist is not None else "?"
    title = f"the plug-in {entry_point.name!r} ({entry_point.group}) of the package {package!r}"
    cure = f"correct or uninstall {package}"
    try:
        value = entry_point.load()
        if isinstance(value, ModuleType):
            value = getattr(value, attribute)
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise BadInput(f"{title} cannot be loaded ({reason})", cure=cure) from problem
    plugins = _as_tuple(value, kind)
    for plugin in plugins:
        if not isinstance(plugin, kind):
            what = f"{title} declares a {type(plugin).__name__}, not a {kind.__name__}"
            raise BadInput(what, cure=cure)
    return list(plugins)


def _as_tuple(value: Any, kind: type[Any]) -> tuple[Any, ...]:
    several = isinstance(value, tuple | list) and not isinstance(value, kind)
    return tuple(value) if several else (value,)
