"""What is counted while tagged examples pass by, and the report of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nikawa.records import Record, reference
from nikawa.tagging import Pack, Tagged

NO_PACK = "none"
"""The pack that finds nothing: only the tags the data carries are counted."""


class Skipped(Record, frozen=True, kw_only=True):
    """An example that could not be analysed; it keeps the tags it carries."""

    example: str
    why: str


class Difference(Record, frozen=True, kw_only=True):
    """An example whose carried tags are not the ones found."""

    example: str
    carried_only: tuple[str, ...]
    found_only: tuple[str, ...]
    known: str = ""
    """Why, where the pack says so."""


class Agreement(Record, frozen=True, kw_only=True):
    """How often a tag is carried, found, and both."""

    carried: int
    found: int
    both: int


class Comparison(Record, frozen=True, kw_only=True):
    """What the pack finds against what the data carries, over the tags of the pack."""

    n: int
    equal: int
    """Examples whose two sets of tags are the same."""
    tags: dict[str, Agreement]
    differences: tuple[Difference, ...]


class TagReport(Record, frozen=True, kw_only=True):
    """The tags of a dataset, counted."""

    dataset: str
    version: str
    pack: str
    analyser: str
    sizes: dict[str, int]
    tagged: dict[str, int]
    """Split to the number of examples with at least one tag."""
    found: dict[str, dict[str, int]]
    """Tag of the pack to split to the number of examples it was found in."""
    carried: dict[str, dict[str, int]]
    """The same for tags of the data that the pack does not know."""
    aliases: dict[str, str]
    skipped: tuple[Skipped, ...] = ()
    comparison: Comparison | None = None


@dataclass
class Tally:
    """What is counted while the examples pass by."""

    dataset: str
    pack: Pack | None
    compare: bool = False
    sizes: Counter[str] = field(default_factory=Counter)
    tagged: Counter[str] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    carried: Counter[tuple[str, str]] = field(default_factory=Counter)
    both: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def watch(self, tagged: Iterable[tuple[str, Tagged]]) -> Iterator[tuple[str, Tagged]]:
        """Pass everything on, counting."""
        names = self.pack.names if self.pack else {}
        for split, found in tagged:
            self._count(split, found, names)
            yield split, found

    def _count(self, split: str, found: Tagged, names: dict[str, str]) -> None:
        carried = found.example.tags
        self.sizes[split] += 1
        self.tagged[split] += bool(found.tags or carried)
        self.found.update((tag, split) for tag in found.tags)
        self.carried.update((tag, split) for tag in carried if tag not in names)
        where = reference(self.dataset, split, found.example.id)
        if found.why:
            self.skipped.append(Skipped(example=where, why=found.why))
        elif self.compare:
            self._compare(
                where, frozenset(names[tag] for tag in carried if tag in names), found.tags
            )

    def _compare(self, where: str, carried: frozenset[str], found: frozenset[str]) -> None:
        self.known.update(carried)
        self.both.update(carried & found)
        if carried != found:
            why = self.pack.known.get(where, "") if self.pack else ""
            difference = Difference(
                example=where,
                carried_only=tuple(sorted(carried - found)),
                found_only=tuple(sorted(found - carried)),
                known=why,
            )
            self.differences.append(difference)

    def report(self, version: str) -> TagReport:
        """Everything counted."""
        tags = list(self.pack.tags) if self.pack else []
        others = sorted({tag for tag, _ in self.carried})
        return TagReport(
            dataset=self.dataset,
            version=version,
            pack=self.pack.name if self.pack else NO_PACK,
            analyser=self.pack.analyser if self.pack else "",
            sizes=dict(self.sizes),
            tagged={split: self.tagged[split] for split in self.sizes},
            found={tag: {split: self.found[tag, split] for split in self.sizes} for tag in tags},
            carried={
                tag: {split: self.carried[tag, split] for split in self.sizes} for tag in others
            },
            aliases={tag: self.pack.tags[tag].alias for tag in tags} if self.pack else {},
            skipped=tuple(self.skipped),
            comparison=self._comparison(tags) if self.compare else None,
        )

    def _comparison(self, tags: Iterable[str]) -> Comparison:
        n = sum(self.sizes.values()) - len(self.skipped)
        totals = {tag: sum(self.found[tag, split] for split in self.sizes) for tag in tags}
        return Comparison(
            n=n,
            equal=n - len(self.differences),
            tags={
                tag: Agreement(carried=self.known[tag], found=found, both=self.both[tag])
                for tag, found in totals.items()
            },
            differences=tuple(self.differences),
        )
