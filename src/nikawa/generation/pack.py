"""A pack: a folder with `pack.toml` (see `pack_head`) and template files. Everything a generator needs but the words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.generation.mistakes import At, Mistake, Trouble
from nikawa.generation.pack_head import HEAD, Head, Rule, notation_of, read_head, rules_of, spans_of
from nikawa.generation.reading import read_file
from nikawa.generation.spans import Span
from nikawa.generation.template import Template
from nikawa.generation.time import Format
from nikawa.generation.times import Cell, cells_of, unreachable_cells

__all__ = ["HEAD", "PACKS", "Find", "Head", "Pack", "Rule", "load_pack", "pack_names", "survey"]

PACKS = Path(__file__).parent / "packs"
DATA = "data:"
Find = Callable[[str], Path]
"""Where a file of the published data lies: `jamp/dataset/…` to a path."""


@dataclass(frozen=True)
class Pack:
    """A pack once read."""

    head: Head
    folder: Path
    templates: tuple[Template, ...]
    sources: tuple[Path, ...]
    """The file of each template."""
    spans: tuple[Span, ...]
    rules: Mapping[str, Rule]

    @property
    def name(self) -> str:
        """Its name."""
        return self.head.name

    @property
    def language(self) -> str:
        """The language of its templates."""
        return self.head.language

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of its templates, in order of appearance."""
        return tuple(dict.fromkeys(template.category for template in self.templates))

    def __getitem__(self, id: str) -> Template:
        for template in self.templates:
            if template.id == id:
                return template
        raise unknown(f"template of {self.name}", id, [template.id for template in self.templates])

    def cells(self, split: str = "train") -> tuple[Cell, ...]:
        """The cells a split is made of, in template order."""
        return tuple(
            cell
            for t in self.templates
            for cell in cells_of(t, self._formats(t, split), self.spans)
        )

    def unreachable(self, split: str = "train") -> tuple[Cell, ...]:
        """Cells of a label the template has elsewhere, but not in this format and span."""
        return tuple(
            cell
            for t in self.templates
            for cell in unreachable_cells(t, self._formats(t, split), self.spans)
        )

    def _formats(self, template: Template, split: str) -> tuple[Format, ...] | None:
        if split not in self.head.cells:
            raise unknown(f"split of {self.name}", split, self.head.cells)
        if self.head.cells[split].formats == "all":
            return None
        return (template.test_format,) if template.test_format else template.formats[-1:]

    def seen(self, split: str, meta: Mapping[str, Any]) -> bool:
        """Whether problems of this kind are in the training data of a split of `[split.…]`."""
        if split not in self.rules:
            raise unknown(f"training split of {self.name}", split, self.rules)
        return not any(
            str(meta.get(column)) in words for column, words in self.rules[split].items()
        )


def pack_names() -> tuple[str, ...]:
    """The packs that ship."""
    return tuple(sorted(head.parent.name for head in PACKS.glob(f"*/{HEAD}")))


def load_pack(spec: str | Path, *, find: Find | None = None) -> Pack:
    """A shipped pack by name, a pack folder, or a template file alone (the authors' .tsv or the native notation)."""
    pack, troubles = survey(spec, find=find)
    for path, trouble in troubles:
        raise Mistake(
            trouble.check, trouble.what, At(trouble.line, trouble.column), trouble.cure, path
        )
    return pack


def survey(
    spec: str | Path, *, find: Find | None = None
) -> tuple[Pack, list[tuple[Path, Trouble]]]:
    """The pack as far as it can be read, and every fault met on the way."""
    root, head = _head_of(_folder(spec))
    notation = notation_of(head, root / HEAD)
    templates: list[Template] = []
    sources: list[Path] = []
    troubles: list[tuple[Path, Trouble]] = []
    for name in head.templates:
        path = _located(name, root, find)
        read, bad = read_file(path, notation, {template.id for template in templates})
        templates += read
        sources += [path] * len(read)
        troubles += [(path, trouble) for trouble in bad]
    spans, rules = spans_of(head, root / HEAD), rules_of(head, root / HEAD)
    return Pack(head, root, tuple(templates), tuple(sources), spans, rules), troubles


def _folder(spec: str | Path) -> Path:
    shipped = PACKS / spec
    named = isinstance(spec, str) and (shipped / HEAD).is_file()
    if (
        named and not (Path(spec) / HEAD).is_file()
    ):  # a dataset made from a pack may lie in a folder of its name
        return shipped
    if Path(spec).exists():
        return Path(spec)
    if "/" in str(spec) or Path(spec).suffix:
        raise BadInput("no such file or folder", file=spec, cure="check the path")
    raise unknown("pack", str(spec), pack_names())


def _head_of(path: Path) -> tuple[Path, Head]:
    """The folder and head of a pack; a template file takes the head of the pack it belongs to, if any."""
    if path.is_dir() or path.name == HEAD:
        folder = path if path.is_dir() else path.parent
        return folder, read_head(folder / HEAD)
    if (path.parent / HEAD).is_file():
        head = read_head(path.parent / HEAD)
        if path.name in head.templates:
            return path.parent, msgspec.structs.replace(head, templates=(path.name,))
    return path.parent, Head(
        name=path.stem,
        language="ja",
        title=path.name,
        licence="not stated",
        templates=(path.name,),
        lexicon="ja",
    )


def _located(name: str, root: Path, find: Find | None) -> Path:
    if not name.startswith(DATA):
        return root / name
    if find is None:
        raise BadInput(
            f"{name} lies with the published data", file=root / HEAD, cure="say where the data is"
        )
    return find(name.removeprefix(DATA))
