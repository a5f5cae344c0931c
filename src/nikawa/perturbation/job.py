"""Perturb a dataset: changed examples linked to their parents, as a file, a dataset folder, or training additions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from nikawa.datasets.names import spec_of
from nikawa.datasets.stream import ExampleStream, open_stream, refuse_missing_inputs
from nikawa.errors import BadInput
from nikawa.io.atomic import refuse_existing
from nikawa.io.folders import CARD, write_folder
from nikawa.io.records import SUFFIXES, write_records
from nikawa.perturbation import Perturbation, apply, perturbations
from nikawa.perturbation.augmentation import draw_additions
from nikawa.perturbation.selection import choose_perturbations, restrict_inputs
from nikawa.records import Card, Dataset, Example, Record
from nikawa.text import Analyser, analyser
from nikawa.text.analysers import DEFAULTS

SAMPLES = 3
"""Rewritten texts kept for a person to look at, an operation."""
UNABLE = "the parts that would change are not there"
"""Why an example is skipped that was taken for eligible."""


class Sample(Record, frozen=True, kw_only=True):
    """One rewritten text."""

    example: str
    before: str
    after: str


class OperationReport(Record, frozen=True, kw_only=True):
    """What one operation did."""

    operation: str
    effect: str
    examples: int
    eligible: int
    """All of them where eligibility was assumed."""
    rewritten: int
    skipped: int
    reasons: dict[str, int]
    """Why examples were skipped, the most frequent first."""
    samples: tuple[Sample, ...]


@dataclass
class Tally:
    """Counts of one operation, filled while its examples pass."""

    perturbation: Perturbation
    examples: int = 0
    eligible: int = 0
    rewritten: int = 0
    samples: tuple[Sample, ...] = ()
    reasons: Counter[str] = field(default_factory=Counter)

    def counted(self) -> Perturbation:
        """The operation, counting what it finds eligible and why the others are not."""
        why = self.perturbation.why or _untold(self.perturbation)

        def eligible(example: Example, analyser: Analyser) -> bool:
            reason = why(example, analyser)
            self.eligible += not reason
            self.reasons.update([reason] if reason else [])
            return not reason

        return replace(self.perturbation, eligible=eligible)

    def saw(self, child: Example) -> None:
        """Count a rewritten example."""
        self.rewritten += 1
        if len(self.samples) < SAMPLES:
            name = str(child.meta["changed_inputs"]).partition("+")[0]
            before, after = str(child.meta[f"original_{name}"]), str(child.inputs[name])
            if all(before != sample.before for sample in self.samples):
                self.samples += (Sample(example=child.id, before=before, after=after),)

    def report(self, assumed: bool) -> OperationReport:
        """The counts."""
        skipped = self.examples - self.rewritten
        unable = skipped - self.reasons.total()
        reasons = self.reasons + Counter({UNABLE: unable})
        return OperationReport(
            operation=self.perturbation.name,
            effect=self.perturbation.effect,
            examples=self.examples,
            eligible=self.examples if assumed else self.eligible,
            rewritten=self.rewritten,
            skipped=skipped,
            reasons=dict(reasons.most_common()),
            samples=self.samples,
        )


def _untold(perturbation: Perturbation) -> Callable[[Example, Analyser], str]:
    return lambda example, analyser: (
        "" if perturbation.eligible(example, analyser) else "not eligible"
    )


EVERY = 500
"""Examples between two words about progress."""

Progress = Callable[[str, int, int | None], None]
"""Called with the operation, how many examples are done, and how many there are or None."""


class PerturbReport(Record, frozen=True, kw_only=True):
    """What was done to a dataset."""

    dataset: str
    operations: tuple[OperationReport, ...]
    written: int
    out: str | None


@dataclass(frozen=True)
class PerturbOptions:
    """How to perturb."""

    cases: tuple[str, ...] = ()
    """`o`, `ni`, `de` (Korean: `eul`, `e`, `eseo`); every case when empty."""
    split: str | None = None
    inputs: tuple[str, ...] = ()
    """The inputs to change; the operation's own choice when empty."""
    assume_eligible: bool = False
    seed: int = 0
    augment: int | None = None
    """So many training additions of each kind instead of everything."""
    augment_gold: Literal["random", "neutral"] = "random"
    out: Path | None = None
    """A records file, or a dataset folder with a split an operation."""
    overwrite: bool = False


class _Job:
    """One call: the dataset, the operations, and their tallies."""

    def __init__(
        self, spec: str, data: Path | None, how: PerturbOptions, progress: Progress | None
    ) -> None:
        self.spec, self.data, self.how = str(spec_of(spec, how.split)), data, how
        self.tell = progress or (lambda *_: None)
        self.dataset = open_stream(self.spec, data).dataset

    def choose(self, names: Iterable[str]) -> None:
        """Fix the operations; each is checked before any work."""
        known = perturbations(self.dataset.language).values()
        found = choose_perturbations(names, self.how.cases, known)
        if not found:
            raise BadInput("no operation is named", cure="nikawa perturb lists them")
        self.tallies = [Tally(restrict_inputs(one, self.how.inputs)) for one in found]

    def check_inputs(self) -> None:
        """Refuse an input that no example has."""
        if self.how.inputs:
            refuse_missing_inputs(open_stream(self.spec, self.data).pairs, self.how.inputs, _texts)

    def run(self, tally: Tally) -> Iterator[tuple[str, Example]]:
        """Split and child of everything one operation rewrites, as a stream."""
        source = open_stream(self.spec, self.data)
        tool = _tool(tally.perturbation, self.dataset.language)
        for split, examples in _by_split(self._passing(source, tally)):
            children = apply(
                tally.counted(),
                examples,
                tool,
                seed=self.how.seed,
                source=f"{self.dataset.name}:{split}",
                assume_eligible=self.how.assume_eligible,
            )
            for child in children:
                tally.saw(child)
                yield split, child

    def _passing(self, source: ExampleStream, tally: Tally) -> Iterator[tuple[str, Example]]:
        for pair in source.pairs:
            tally.examples += 1
            if tally.examples % EVERY == 0:
                self.tell(tally.perturbation.name, tally.examples, source.total)
            yield pair

    def write(self) -> int:
        """Run every operation and write what comes of it; how many records were written."""
        out = self.how.out
        if self.how.augment is not None:
            added = draw_additions(
                [(t.perturbation, self.run(t)) for t in self.tallies],
                self.how.augment,
                self.how.augment_gold,
                self.how.seed,
            )
            return 0 if out is None else write_records(out, added, overwrite=self.how.overwrite)
        if out is None:
            for tally in self.tallies:
                for _ in self.run(tally):
                    pass
            return 0
        if out.name.endswith(SUFFIXES):
            return write_records(out, self._one_file(out), overwrite=self.how.overwrite)
        return self._folder(out)

    def _one_file(self, out: Path) -> Iterator[Example]:
        """Ids are those of the parents: what would bring one twice does not fit into one file."""
        if len(self.tallies) > 1:
            what = f"{len(self.tallies)} operations do not fit into one file"
            raise BadInput(
                what, file=out, cure="name one operation and case, or a folder to write to"
            )
        splits: dict[str, str] = {}
        for split, child in self.run(self.tallies[0]):
            if splits.setdefault(child.id, split) != split:
                what = f"id {child.id!r} is in {splits[child.id]} and in {split}"
                raise BadInput(what, file=out, cure="name one split: --split test")
            yield child
        if not splits:
            raise self._nothing(out)

    def _nothing(self, out: Path) -> BadInput:
        """What to say where no example was rewritten: the most frequent reason, and where all are told."""
        reasons = [tally.report(self.how.assume_eligible).reasons for tally in self.tallies]
        counts = sum(map(Counter, reasons), Counter[str]())
        main = "".join(f": {why} ({n:,} of {counts.total():,})" for why, n in counts.most_common(1))
        cure = "leave --out away to see all reasons"
        return BadInput(f"nothing was rewritten{main}", file=out, cure=cure)

    def _folder(self, out: Path) -> int:
        """A dataset whose splits are the operations, as those of jsick-stress are."""
        splits: dict[str, list[Example]] = {}
        for tally in self.tallies:
            for split, child in self.run(tally):
                name = tally.perturbation.name
                several = len(self.dataset.splits) > 1
                splits.setdefault(f"{split}-{name}" if several else name, []).append(child)
        if not splits:
            raise self._nothing(out)
        kept = {name: tuple(children) for name, children in splits.items()}
        write_folder(_perturbed(self.dataset, kept), out, overwrite=self.how.overwrite)
        return sum(map(len, kept.values()))


def perturb(
    operations: str | Iterable[str],
    spec: str,
    *,
    data: Path | None = None,
    options: PerturbOptions | None = None,
    progress: Progress | None = None,
) -> PerturbReport:
    """Apply operations (`swap-o`, `scramble`, `particles`, `width-full`, …) to a dataset given as `load` takes it."""
    how = options or PerturbOptions()
    job = _Job(spec, data, how, progress)
    job.choose(operations.split(",") if isinstance(operations, str) else operations)
    job.check_inputs()
    if how.out is not None:
        file = how.out.name.endswith(SUFFIXES)
        refuse_existing(how.out if file else how.out / CARD, how.overwrite)
        if how.augment is not None and not file:
            raise BadInput(
                "is no records file",
                file=how.out,
                cure=f"training additions go into one: {SUFFIXES[0]}",
            )
    written = job.write()
    done = tuple(tally.report(how.assume_eligible) for tally in job.tallies)
    out = None if how.out is None else str(how.out)
    return PerturbReport(dataset=job.dataset.name, operations=done, written=written, out=out)


def _texts(example: Example) -> set[str]:
    return {name for name, value in example.inputs.items() if isinstance(value, str)}


def _tool(perturbation: Perturbation, language: str) -> Analyser:
    """The analyser the operation reads; one that costs nothing where it reads none."""
    reads = perturbation.analysers
    if not reads:
        return analyser("characters")
    default = DEFAULTS.get(language, "")
    return analyser(default if default in reads else reads[0])


def _by_split(pairs: Iterator[tuple[str, Example]]) -> Iterator[tuple[str, Iterator[Example]]]:
    for split, part in groupby(pairs, itemgetter(0)):
        yield split, (example for _, example in part)


def _perturbed(dataset: Dataset, splits: dict[str, tuple[Example, ...]]) -> Dataset:
    name = f"{dataset.name}-perturbed"
    card: Card = replace(
        dataset.card,
        name=name,
        title=f"{dataset.card.title}, perturbed",
        languages=(dataset.language,),
        description=f"Examples of {dataset.name} rewritten by nikawa perturb, a split an operation, each linked to its parent.",
        labels="Inherited from the parents; where the effect is neutral, nobody has judged the changed text yet.",
        workers="no answers of their own",
        workers_are="none",
        problems=(
            *dataset.card.problems,
            "Labels are inherited: compare predictions, do not score them.",
        ),
    )
    return replace(dataset, name=name, card=card, splits=splits)
