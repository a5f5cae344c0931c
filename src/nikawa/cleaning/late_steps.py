"""The late steps: those that see sentences in their order, many at a time. Toxicity first, then near-duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nikawa.cleaning import Settings, Step
from nikawa.cleaning.duplicates import Duplicates
from nikawa.cleaning.early_steps import Part
from nikawa.cleaning.minhash import Signatures
from nikawa.cleaning.toxicity import BATCH, Scorer, toxic


class Late:
    """The late steps that were chosen."""

    def __init__(self, steps: Sequence[Step], settings: Settings, scorer: Scorer | None) -> None:
        names = {step.name for step in steps}
        self.settings = settings
        self.scorer = scorer if "toxicity" in names else None
        self.needs_signatures = "duplicates" in names

    def apply(self, parts: Iterator[Part]) -> Iterator[Part]:
        """The parts without what the late steps remove."""
        if self.scorer is not None:
            parts = _scored(parts, self.scorer, self.settings.toxic)
        if self.needs_signatures:
            parts = _distinct(parts, Duplicates(self.settings.similar, self.settings.window))
        return parts


def _scored(parts: Iterator[Part], scorer: Scorer, threshold: float) -> Iterator[Part]:
    held: list[Part] = []
    for part in parts:
        held.append(part)
        if sum(len(p.kept) for p in held) >= BATCH:
            yield from _score(held, scorer, threshold)
            held = []
    yield from _score(held, scorer, threshold)


def _score(held: list[Part], scorer: Scorer, threshold: float) -> Iterator[Part]:
    texts = [sentence.text for part in held for sentence in part.kept]
    whys = iter(toxic(texts, scorer, threshold) if texts else [])
    for part in held:
        _drop(part, "toxicity", [next(whys) for _ in part.kept])
        yield part


def _distinct(parts: Iterator[Part], seen: Duplicates) -> Iterator[Part]:
    for part in parts:
        assert part.signatures is not None
        twins = seen.twins(part.signatures)
        _drop(part, "duplicates", [f"repeats candidate {twin}" if twin else "" for twin in twins])
        yield part


def _drop(part: Part, step: str, whys: list[str]) -> None:
    """Take out the kept sentences that have a reason to go."""
    if not any(whys):
        return
    pairs = list(zip(part.kept, whys, strict=True))
    part.kept = [sentence for sentence, why in pairs if not why]
    for sentence, why in pairs:
        if why:
            part.gone.append((sentence, step, why))
            part.tally.remove(step, sentence.text)
    if part.signatures is not None:
        stay = [not why for why in whys]
        part.signatures = Signatures(part.signatures.values[stay], part.signatures.bands[stay])
