"""Findings of `nikawa data check` that are known: by design, or accepted by the owner of a dataset.

A dataset folder lists them in `known.toml`, one table each:

    [[known]]
    check = "leaked-sentences"
    where = "dev in train"
    ids = ["dev/17", "dev/31"]
    reason = "captions of one image; the pairs are split as those of JSTS"

`check` and `where` are what the check prints; `where` may hold `*` for anything, and without it the
entry is of every place. `ids` name the examples concerned (split/id), or `count` says how many there
are: a finding with another example, or with more, is new again. An entry with neither is by design,
however large the finding: `nikawa generate` and `nikawa build` write those that a pack or a recipe
declares. `reason` is for the next reader, and must be there.

Registered datasets declare theirs in `Benchmark.by_design`, and measured counts in the `known.toml`
with their readers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.folders import KNOWN
from nikawa.io.json import plain_fault
from nikawa.io.toml import read_toml
from nikawa.records import Card, Finding, Record

NOTE = "Known to nikawa data check: "
"""The prefix of card lines with findings that the owner accepted."""
MAX_IDS_LISTED = 50
"""Maximum examples of an accepted finding to list; for more, only the count is stored."""
_ENTRY = 'write [[known]] tables with check, where, ids or count, and reason; see "Known findings" in docs/data.md'


def fits_pattern(text: str, pattern: str) -> bool:
    """Whether a text matches a pattern, in which `*` means anything.

    Each part is searched once, from left to right: a regular expression with many `*` could take for ever.

    >>> fits_pattern("dev in train", "dev in *"), fits_pattern("dev in train", "*dev")
    (True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last):
        return False
    place = len(first)
    for part in middle:
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return place <= len(text) - len(last)


class KnownFinding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A finding that is known, as a plug-in declares it or `known.toml` of a folder lists it."""

    check: str
    """The name of the check, such as `leaked-sentences`."""
    where: str = ""
    """The place that the check names; `*` stands for anything, and nothing for every place."""
    count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The maximum count; None: any."""
    ids: tuple[str, ...] = ()
    """The affected examples, as split/id, if they are listed."""
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    """Why it is as it should be, or why it stays."""

    def is_about(self, finding: Finding) -> bool:
        """Whether check and place are those of a finding."""
        if self.check != finding.check:
            return False
        return not self.where or fits_pattern(finding.where, self.where)

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is known by this entry: it has not grown."""
        if not self.is_about(finding):
            return False
        if self.ids:
            return set(map(_local_id, finding.ids)) <= set(self.ids)
        return self.count is None or finding.count <= self.count

    @property
    def is_by_design(self) -> bool:
        """Whether it is known however large it is."""
        return self.count is None and not self.ids


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """`known.toml` of a dataset folder."""

    known: tuple[KnownFinding, ...] = ()


def read_known(folder: Path) -> tuple[KnownFinding, ...]:
    """The known findings that a dataset folder lists; none without a file."""
    path = folder / KNOWN
    if not path.is_file():
        return ()
    try:
        return msgspec.convert(read_toml(path, _ENTRY), _File).known
    except msgspec.ValidationError as problem:
        what = f"is not a list of known findings: {plain_fault(str(problem))}"
        raise BadInput(what, file=path, cure=_ENTRY) from None


def format_known(entries: Iterable[KnownFinding]) -> str:
    """Format the entries for `known.toml`.

    >>> print(format_known([KnownFinding(check="broken-groups", reason="one template each")]))
    # Findings of nikawa data check that are known; docs/data.md describes the entries.
    <BLANKLINE>
    [[known]]
    check = "broken-groups"
    reason = "one template each"
    <BLANKLINE>
    """
    blocks = ["# Findings of nikawa data check that are known; docs/data.md describes the entries."]
    for entry in entries:
        lines = ["[[known]]"]
        for name, value in msgspec.to_builtins(entry).items():
            # JSON strings, numbers and lists of strings are TOML as well, but for one character.
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            lines.append(f"{name} = {text}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def write_known(folder: Path, entries: Iterable[KnownFinding]) -> None:
    """Write `known.toml`, in place of one that is there."""
    with atomic_write(folder / KNOWN, overwrite=True, inside=folder) as stream:
        stream.write(format_known(entries).encode())


def merge_known(
    declared: Sequence[KnownFinding], before: Sequence[KnownFinding]
) -> tuple[KnownFinding, ...]:
    """Return what a plug-in declares, and what the owner of a folder accepted before it was made again."""
    return (*declared, *(entry for entry in before if entry not in declared))


def accept_finding(finding: Finding, reason: str) -> KnownFinding:
    """Return the entry that makes a finding known in its current state."""
    ids = tuple(dict.fromkeys(map(_local_id, finding.ids)))
    if not ids or len(ids) > MAX_IDS_LISTED:
        return KnownFinding(
            check=finding.check, where=finding.where, count=finding.count, reason=reason
        )
    return KnownFinding(check=finding.check, where=finding.where, ids=ids, reason=reason)


def describe_on_card(card: Card, entries: Iterable[KnownFinding]) -> Card:
    """Return the card with one line per accepted finding, in place of its previous lines.

    Findings by design belong to the pack or recipe, whose card already has them.
    """
    lines = []
    for entry in entries:
        if not entry.is_by_design:
            count = len(entry.ids) or entry.count
            lines.append(
                f"{NOTE}{entry.check}, {entry.where or 'anywhere'}, {count:,}: {entry.reason}"
            )
    return replace(forget_on_card(card), problems=(*forget_on_card(card).problems, *lines))


def forget_on_card(card: Card) -> Card:
    """The card without the lines of accepted findings: those of other splits are other findings."""
    problems = tuple(problem for problem in card.problems if not problem.startswith(NOTE))
    return replace(card, problems=problems)


def _local_id(ref: str) -> str:
    """`dev/17` of the reference `mine:dev/17`: a folder may be renamed."""
    return ref.partition(":")[2] or ref
