"""Parse how users name a dataset. The rules are the same in every command and in Python.

1. A registered name, alone or with a split: `jnli`, `jnli:dev`. Registered names win over files and folders of the same
   name in the working directory; write `./jnli` for those.
2. A registered name and a file for that dataset's reader: `jnli@my.json`, `jnli:dev@my.json`.
3. Anything else is a path to a dataset folder or a records file: `mine`, `./jnli`, `data/mine.jsonl`. A split follows the
   last colon: `mine:dev`. If the whole text is an existing path, it is that path, colons included. A path may be an address:
   `s3://lab/mine:dev`.

Names of sets inside stored runs are simpler, see `name_and_split`.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, replace
from pathlib import Path

from nikawa.errors import BadInput, unknown
from nikawa.io.records import SUFFIXES
from nikawa.io.remote import RemotePath, is_address, to_path


@dataclass(frozen=True)
class Spec:
    """A dataset, or a part of one, as a user named it; made by `parse_spec`."""

    text: str
    """The text that the user wrote; parsing it again gives the same spec."""
    name: str = ""
    """The registered dataset; empty for a custom dataset, whose place is `path`."""
    split: str | None = None
    """The split; None means all splits."""
    path: Path | None = None
    """The file or folder of a custom dataset, or the file that the registered dataset's reader reads."""

    def __str__(self) -> str:
        return self.text

    @property
    def reader(self) -> str:
        """The registered dataset whose reader reads `path`, or an empty text.

        >>> parse_spec("jnli@my.json", {"jnli"}).reader
        'jnli'
        """
        return self.name if self.path is not None else ""

    @property
    def is_part(self) -> bool:
        """Whether it names less than a whole registered dataset: one split, or one file."""
        return bool(self.name) and (self.split is not None or self.path is not None)

    def with_split(self, split: str | None) -> Spec:
        """Return the same spec with a split; None changes nothing.

        >>> str(parse_spec("jnli@my.json", {"jnli"}).with_split("dev"))
        'jnli:dev@my.json'

        Raises `BadInput` if the spec already names another split.
        """
        if split is None or split == self.split:
            return self
        if self.split is not None:
            what = f"{self.text} and --split {split} name different splits"
            raise BadInput(what, cure="pass one of them")
        if self.reader:
            return replace(self, text=f"{self.name}:{split}@{self.path}", split=split)
        return replace(self, text=f"{self.text}:{split}", split=split)

    def existing_path(self, known: Collection[str]) -> Path:
        """Return the file or folder of a custom dataset; `known` are the registered names.

        Raises `BadInput` if it does not exist: the path may be wrong, or the name misspelt.
        """
        if self.path is not None and self.text.strip() and self.path.exists():
            return self.path
        if isinstance(self.path, RemotePath):
            self.path.refuse_missing_bucket()
            raise BadInput("no such file or folder", file=self.path, cure="check the address")
        head, at, _ = self.text.partition("@")
        name, _ = name_and_split(head)
        if not name.strip():
            what = f"{self.text!r} is not a dataset"
            cure = "write NAME (nikawa data list shows the names), NAME:SPLIT, NAME@FILE, a folder or a records file"
            raise BadInput(what, cure=cure)
        if "/" in name or (not at and ("/" in self.text or self.text.endswith(SUFFIXES))):
            raise BadInput("no such file or folder", file=self.text, cure="check the path")
        raise unknown("dataset", name, known)


def parse_spec(text: str, known: Container[str]) -> Spec:
    """Parse the name of a dataset as users write it; `known` are the registered names.

    >>> parse_spec("jnli:dev", {"jnli"})
    Spec(text='jnli:dev', name='jnli', split='dev', path=None)
    >>> parse_spec("./jnli", {"jnli"}).name
    ''
    >>> parse_spec("klue@a.json", {"jnli"}).name
    ''

    A path need not exist; `Spec.existing_path` checks that. Raises `BadInput` for a registered name that ends
    with `:` or `@`.
    """
    head, at, file = text.partition("@")
    name, colon, split = head.partition(":")
    if name in known:
        if (at and not file) or (colon and not split):
            what = "file after @" if at else "split after :"
            raise BadInput(f"{text!r} has no {what}", cure="write NAME, NAME:SPLIT or NAME@FILE")
        return Spec(text, name, split or None, to_path(file) if at else None)
    before, _, after = text.rpartition(":")
    if is_address(text) and "/" in after:  # the colon is not before a split
        before = ""
    if before.strip() and not to_path(text).exists() and to_path(before).exists():
        return Spec(text, split=after or None, path=to_path(before))
    return Spec(text, path=to_path(text))


def name_and_split(text: str) -> tuple[str, str]:
    """Return the name before the first colon and the split after it; without a colon, the split is empty.

    It is for names of tasks (`jnli:dev`) and of the sets of stored runs (`jsick:train`, `data/mine:train`): no task and no
    dataset of a run has a colon in its name.

    >>> name_and_split("jsick:train")
    ('jsick', 'train')
    >>> name_and_split("jsick")
    ('jsick', '')
    >>> name_and_split("s3://lab/mine:train")
    ('s3://lab/mine', 'train')
    """
    if is_address(text):
        folder, _, last = text.rpartition("/")
        name, _, split = last.partition(":")
        return f"{folder}/{name}", split
    name, _, split = text.partition(":")
    return name, split
