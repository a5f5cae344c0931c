"""Run the steps over one document: edit, split into sentences, and again on every part until
nothing changes.

Going on until nothing changes is what makes cleaning twice the same as cleaning once: taking a tag
out can open the end of a sentence, and splitting can bring a byline to the start of a line.
`Cleaner` is for callers that have texts in memory; `nikawa.cleaning.job` runs it over files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nikawa.cleaning.base import Edit, Settings, Step
from nikawa.text import sentences

MAX_ROUNDS = 100
"""Rounds after which a text is left as it is; each takes something away, so few ever need five."""
MAX_EXAMPLES = 3
"""Examples a step keeps of what it did."""
MAX_EXAMPLE_CHARS = 60
CONTEXT_CHARS = 12
"""Number of characters shown before and after an edit."""

SPLIT = Step("sentences", "split into sentences", 100)
"""Splits texts into sentences, by the rules of `nikawa.text`. `Cleaner` carries it out: it makes
several texts of one."""
STEPS = (SPLIT,)


class Passage(NamedTuple):
    """A stretch of a document that is being edited and still knows where each of its characters
    came from.

    Without `starts` and `ends`, its character i is character `base + i` of the document.
    """

    text: str
    base: int = 0
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    def cut(self, start: int, end: int) -> Passage:
        """Characters `start` to `end` as a passage of their own."""
        if self.starts is None or self.ends is None:
            return Passage(self.text[start:end], self.base + start)
        return Passage(self.text[start:end], 0, self.starts[start:end], self.ends[start:end])

    def apply(self, edits: list[Edit]) -> Passage:
        """The passage after the edits."""
        old_starts: Sequence[int]
        old_ends: Sequence[int]
        if self.starts is None or self.ends is None:
            first, last = self.base, self.base + len(self.text)
            old_starts, old_ends = range(first, last), range(first + 1, last + 1)
        else:
            old_starts, old_ends = self.starts, self.ends
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for start, end, new in edits:
            texts += (self.text[at:start], new)
            starts += old_starts[at:start]
            ends += old_ends[at:start]
            starts += [old_starts[start]] * len(new)
            ends += [old_ends[end - 1]] * len(new)
            at = end
        texts.append(self.text[at:])
        return Passage("".join(texts), 0, (*starts, *old_starts[at:]), (*ends, *old_ends[at:]))

    def locate(self) -> tuple[int, int]:
        """Its position in the document as (start, end); an empty passage is at its base."""
        if not self.text:
            return self.base, self.base
        if self.starts is None or self.ends is None:
            return self.base, self.base + len(self.text)
        return self.starts[0], self.ends[-1]


class Rejection(NamedTuple):
    """A passage that was dropped, the step that dropped it, and its reason."""

    passage: Passage
    step: str
    why: str


@dataclass
class StepCount:
    """The effect of one step."""

    changed: int = 0
    removed: int = 0
    examples: list[str] = field(default_factory=list)


class Tally:
    """Counts of what each step changed and removed, with the first few examples.

    Those of parts add up in order.
    """

    def __init__(self) -> None:
        self.counts: dict[str, StepCount] = {}

    def of(self, step: str) -> StepCount:
        """The count of a step; of one that did nothing, zeros."""
        return self.counts.get(step, StepCount())

    def count_change(self, step: str, text: str, edit: Edit | None = None) -> None:
        """Count one text that the step changed.

        `edit` becomes an example: `before⟦old→new⟧after`.
        """
        count = self.counts.setdefault(step, StepCount())
        count.changed += 1
        if edit is None or len(count.examples) >= MAX_EXAMPLES:
            return
        start, end, new = edit
        before = text[max(0, start - CONTEXT_CHARS) : start]
        after = text[end : end + CONTEXT_CHARS]
        example = f"{before}⟦{_shorten(text[start:end])}→{new}⟧{after}"
        count.examples.append(
            "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in example)
        )

    def count_removal(self, step: str, text: str) -> None:
        """Count one text that the step removed."""
        count = self.counts.setdefault(step, StepCount())
        count.removed += 1
        if len(count.examples) < MAX_EXAMPLES:
            count.examples.append(_shorten(text))

    def add(self, later: Tally) -> None:
        """Take over the counts of a later part."""
        for step, theirs in later.counts.items():
            ours = self.counts.setdefault(step, StepCount())
            ours.changed += theirs.changed
            ours.removed += theirs.removed
            ours.examples += theirs.examples[: MAX_EXAMPLES - len(ours.examples)]


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_EXAMPLE_CHARS else f"{text[: MAX_EXAMPLE_CHARS - 1]}…"


class Cleaner:
    """The steps that look at one text at a time, with the counts of what they did.

    >>> from nikawa.cleaning import choose_steps
    >>> cleaner = Cleaner(choose_steps(without=["length"]), Settings(language="ko"))
    >>> [passage.text for passage in cleaner.clean("눈이 <b>왔다</b>. 비도 왔다.")]
    ['눈이 왔다.', '비도 왔다.']
    """

    def __init__(self, steps: Sequence[Step], settings: Settings) -> None:
        self.settings = settings
        self.tally = Tally()
        replaces_pii = settings.pii == "replace"
        self._editors = [
            (s.name, s.edits) for s in steps if s.edits and (replaces_pii or not s.pii)
        ]
        self._pii_finders = [
            (s.name, s.edits) for s in steps if s.edits and s.pii and not replaces_pii
        ]
        self._judges = [(s.name, s.fault) for s in steps if s.fault]
        self._splits = SPLIT in steps

    def clean(self, text: str) -> Iterator[Passage | Rejection]:
        """The sentences of a text that pass, and those that do not, in their order."""
        for part in self._edit_and_split(Passage(text), 0):
            result = self._judge(part) if isinstance(part, Passage) else part
            if isinstance(result, Rejection):
                self.tally.count_removal(result.step, result.passage.text)
            yield result

    def _edit_and_split(self, passage: Passage, rounds: int) -> Iterator[Passage | Rejection]:
        """The parts of a passage that no step changes any more."""
        edited = self._edit(passage)
        if isinstance(edited, Rejection):
            yield edited
            return
        parts = [edited]
        if self._splits:
            spans = sentences(edited.text, self.settings.language)
            parts = [edited.cut(span.start, span.end) for span in spans]
        is_whole = len(parts) == 1 and len(parts[0].text) == len(passage.text)
        if (edited is passage and is_whole) or rounds >= MAX_ROUNDS:
            yield from parts
            return
        if len(parts) > 1:
            self.tally.count_change(SPLIT.name, edited.text)
        for part in parts:
            yield from self._edit_and_split(part, rounds + 1)

    def _edit(self, passage: Passage) -> Passage | Rejection:
        """The passage after each editing step; the same object where none had anything to do."""
        for name, find_edits in self._editors:
            edits = find_edits(passage.text, self.settings.language)
            if edits:
                after = passage.apply(edits)
                if not after.text.strip():
                    return Rejection(passage, name, "nothing is left")
                self.tally.count_change(name, passage.text, edits[0])
                passage = after
        return passage

    def _judge(self, passage: Passage) -> Passage | Rejection:
        for name, find_pii in self._pii_finders:
            if find_pii(passage.text, self.settings.language):
                return Rejection(passage, name, "personal data")
        for name, find_fault in self._judges:
            why = find_fault(passage.text, self.settings)
            if why:
                return Rejection(passage, name, why)
        return passage
