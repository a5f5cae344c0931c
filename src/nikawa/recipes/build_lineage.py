"""Join what the stages of a build wrote down into the lineage of every released example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nikawa.datasets.lineage import Lineage, Sibling, Step
from nikawa.recipes.decide import NOT_DRAWN
from nikawa.recipes.recipe import Ask
from nikawa.recipes.store import Store, Trace
from nikawa.records import Example, Judgement, reference
from nikawa.version import __version__

LISTED = 20
"""Dropped siblings an entry lists."""


@dataclass
class History:
    """What happened to every item of a build."""

    upstream: Mapping[str, frozenset[str]]
    """By stage all it rests on, and itself."""
    born: dict[str, str] = field(default_factory=dict)
    """By item the stage that made it of its parents."""
    steps: dict[str, list[Step]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    judged: dict[str, list[tuple[str, Judgement]]] = field(default_factory=dict)
    """By item the answers, each with the `Ask` it was given to."""
    dropped: dict[str, list[Sibling]] = field(default_factory=dict)
    """By each of the parents that the dropped items were made of."""
    lost: dict[str, list[Sibling]] = field(default_factory=dict)
    """By the dropped item itself: it may live on in what was made of it, such as the opposite direction."""

    @classmethod
    def of(cls, store: Store) -> History:
        """Read the traces of all stages, in order."""
        history = cls(_upstream(store))
        for stage in store.recipe.stages:
            if isinstance(stage, Ask):
                for judgement in store.judgements(stage.name):
                    history.judged.setdefault(judgement.example, []).append((stage.name, judgement))
            else:
                for trace in store.trace(stage):
                    history._add(stage.name, trace)
        return history

    def _add(self, stage: str, trace: Trace) -> None:
        if trace.source is not None:
            self.sources[trace.item] = {"item": trace.item, **trace.source}
        if trace.parents and trace.item not in self.parents:
            self.parents[trace.item], self.born[trace.item] = trace.parents, stage
        if not trace.why:
            step = Step(stage=stage, item=trace.item, rule=trace.rule, parents=trace.parents)
            self.steps.setdefault(trace.item, []).append(step)
        elif trace.why != NOT_DRAWN:
            gone = Sibling(item=trace.item, stage=stage, why=trace.why, detail=trace.detail)
            self.lost.setdefault(trace.item, []).append(gone)
            for parent in trace.parents:
                self.dropped.setdefault(parent, []).append(gone)

    def ancestry(self, item: str, last: str) -> dict[str, frozenset[str]]:
        """The item and all it was made from, the sources first, each with the stages that led to it.

        A caption may also have been drawn for something else: of a parent only what came before its child was made counts.
        """
        found: dict[str, frozenset[str]] = {}

        def visit(name: str, stages: frozenset[str]) -> None:
            for parent in self.parents.get(name, ()):
                visit(parent, self.upstream[self.born[name]])
            found[name] = found.pop(name, frozenset()) | stages

        visit(item, self.upstream[last])
        return found

    def siblings(self, line: Iterable[str]) -> list[Sibling]:
        """What was dropped of all that was made from the items of a line, and those of them dropped later, each once."""
        found: dict[tuple[str, str], Sibling] = {}
        for item in line:
            for gone in (*self.lost.get(item, ()), *self.dropped.get(item, ())):
                found[gone.item, gone.stage] = gone
        return list(found.values())


def _upstream(store: Store) -> dict[str, frozenset[str]]:
    """By stage the stages it rests on, and itself."""
    found: dict[str, frozenset[str]] = {}
    for stage in store.recipe.stages:
        before = {
            store.recipe.stage(name).name
            for name in stage.reads
            if name not in store.recipe.sources
        }
        found[stage.name] = frozenset({stage.name}).union(*(found[name] for name in before))
    return found


def lineages(
    store: Store, name: str, splits: Mapping[str, list[tuple[str, Example]]]
) -> Iterator[Lineage]:
    """The lineage of each released example; `splits` holds (working id, example as released)."""
    history = History.of(store)
    for split, pairs in splits.items():
        last = store.recipe.stage(store.recipe.splits[split]).name
        for item, example in pairs:
            line = history.ancestry(item, last)
            siblings = history.siblings(line)
            yield Lineage(
                example=reference(name, split, example.id),
                item=item,
                split=split,
                recipe=store.recipe.name,
                version=store.config.version,
                nikawa=__version__,
                inputs=example.inputs,
                gold=example.gold,
                tags=tuple(sorted(example.tags)),
                sources=tuple(history.sources[one] for one in line if one in history.sources),
                steps=tuple(
                    step
                    for one, stages in line.items()
                    for step in history.steps.get(one, ())
                    if step.stage in stages
                ),
                judgements=tuple(
                    said
                    for one, stages in line.items()
                    for asked, said in history.judged.get(one, ())
                    if asked in stages
                ),
                siblings=tuple(siblings[:LISTED]),
                siblings_more=max(0, len(siblings) - LISTED),
            )
