"""The last step of a build: number the examples, write splits, lineage and cards together, the card
last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.datasets.known import describe_on_card, merge_known, read_known, write_known
from nikawa.datasets.lineage import INDEX, LINEAGE, Lineage, Sibling, Step, write_lineage
from nikawa.datasets.subsets import group_by
from nikawa.errors import BadInput, list_names
from nikawa.io.atomic import recover, staged_files
from nikawa.io.folders import CARD, KNOWN, split_files, write_card
from nikawa.io.json import encode_json, read_json
from nikawa.io.records import write_records
from nikawa.recipes.decide import NOT_DRAWN
from nikawa.recipes.figures import figures_of
from nikawa.recipes.recipe import FROM, FURTHER_FILES, Ask
from nikawa.recipes.store import Store, Trace, config_values, digest
from nikawa.records import Card, Example, Judgement, Record, reference
from nikawa.reporting.card import BUILT, Built, Figures, format_card
from nikawa.version import __version__

MAX_SIBLINGS = 20
"""Dropped siblings an entry lists."""


@dataclass
class History:
    """The history of every item of a build."""

    upstream: Mapping[str, frozenset[str]]
    """By stage all it rests on, and itself."""
    born: dict[str, str] = field(default_factory=dict)
    """By item the stage that made it of its parents."""
    steps: dict[str, list[Step]] = field(default_factory=dict)
    """By item the stages that passed it on."""
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By item the place of a source file it was read from."""
    judged: dict[str, list[tuple[str, Judgement]]] = field(default_factory=dict)
    """By item the answers, each with the `Ask` it was given to."""
    dropped: dict[str, list[Sibling]] = field(default_factory=dict)
    """By each of the parents that the dropped items were made of."""
    lost: dict[str, list[Sibling]] = field(default_factory=dict)
    """By the dropped item itself: it may live on in what was made of it, such as the opposite
    direction."""

    @classmethod
    def of(cls, store: Store) -> History:
        """Read the traces of all stages, in order."""
        upstream: dict[str, frozenset[str]] = {}
        for stage in store.recipe.stages:
            sets = (name for name in stage.reads if name not in store.recipe.sources)
            before = (upstream[store.recipe.stage(name).name] for name in sets)
            upstream[stage.name] = frozenset({stage.name}).union(*before)
        history = cls(upstream)
        for stage in store.recipe.stages:
            if isinstance(stage, Ask):
                for judgement in store.remarked(stage.name):
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
        """The item and all it was made from, the sources first, each with the stages that led to
        it.

        A caption may also have been drawn for something else: of a parent only what came before its
        child was made counts.
        """
        ancestors: dict[str, frozenset[str]] = {}

        def visit(name: str, stages: frozenset[str]) -> None:
            for parent in self.parents.get(name, ()):
                visit(parent, self.upstream[self.born[name]])
            ancestors[name] = ancestors.pop(name, frozenset()) | stages

        visit(item, self.upstream[last])
        return ancestors

    def siblings(self, line: Iterable[str]) -> list[Sibling]:
        """What was dropped of all that was made from the items of a line, and those of them dropped
        later, each once.
        """
        siblings: dict[tuple[str, str], Sibling] = {}
        for item in line:
            for gone in (*self.lost.get(item, ()), *self.dropped.get(item, ())):
                siblings[gone.item, gone.stage] = gone
        return list(siblings.values())


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
                    judgement
                    for one, stages in line.items()
                    for ask, judgement in history.judged.get(one, ())
                    if ask in stages
                ),
                siblings=tuple(siblings[:MAX_SIBLINGS]),
                siblings_more=max(0, len(siblings) - MAX_SIBLINGS),
            )


PAGE = "README.md"
CHANGES, CHANGELOG = "changelog.json", "CHANGELOG.md"
"""What corrected versions add; a build that replaces one takes them away."""
Splits = dict[str, list[tuple[str, Example]]]
"""Split to (working id, example as released)."""


class Released(Record, frozen=True, kw_only=True):
    """A release that is written."""

    name: str
    version: str
    key: str
    """A digest of all that it is made of."""
    splits: dict[str, int]
    """Examples of each split."""
    workers_are: str
    """Who judged: persons, columns of a sheet, simulated workers, or none."""
    fresh: bool = True
    """False where it was there already."""
    warnings: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What to look at before it is published: splits that are empty, lack a label or contain only one, and fields
    that give labels away, also those that are known. Not there where there is nothing."""


def release(store: Store, overwrite: bool) -> Released:
    """Write the release, unless the same is there.

    Another one is replaced only where that is asked for.
    """
    recover(store.out, CARD)
    sets = {split: store.digest_of(name) for split, name in store.recipe.splits.items()}
    places = (*store.recipe.sources, "answers")  # files count by what is in them
    values = config_values(store.config)
    settings = {name: value for name, value in values.items() if name not in places}
    asks = [store.digest_of(s.name) for s in store.recipe.stages if isinstance(s, Ask)]
    sources = [store.digest_of(name) for name in store.recipe.sources if store.recipe.files]
    key = digest(store.recipe.name, sets, settings, asks, *sources)
    built = released_before(store.out)
    fresh = built is None or built.key != key
    if built is None or fresh:
        if built is not None and not overwrite:
            what = f"contains the release {built.version} of other items or settings"
            raise BadInput(
                what, file=store.out, cure="pass --overwrite, or build in another folder"
            )
        built = write_release(store, key)
    labels = built.figures.labels
    return Released(
        name=read_json(store.out / CARD, Card).name,
        version=built.version,
        key=built.key,
        splits={s: sum(labels[s].values()) for s in store.recipe.splits if s in labels},
        workers_are=built.figures.workers_are,
        fresh=fresh,
        warnings=tuple(warn_of_labels(store)) or msgspec.UNSET,
    )


def warn_of_labels(store: Store) -> Iterator[str]:
    """Splits that were asked for and got nothing, and what `nikawa data check` would find of the
    labels of a release, a sentence each.
    """
    from nikawa.checks.giveaways import find_open_giveaways
    from nikawa.checks.label_balance import label_findings

    numbered = number_examples(store)
    splits = {split: [example for _, example in pairs] for split, pairs in numbered.items()}
    shares = str(getattr(store.config, "split", "")).split(",")
    if len(shares) == len(store.recipe.splits):  # else the source says what is in which split
        asked_for = zip(store.recipe.splits, shares, strict=True)
        empty = [name for name, share in asked_for if name not in splits and share.strip() != "0"]
        if empty:
            total = sum(map(len, splits.values()))
            yield f"no example is in {list_names(empty)}: {total:,} examples are too few for split = {','.join(shares)}; provide more text, or split the release with `nikawa split`"
    uneven = list(label_findings(splits))
    for finding in uneven:
        yield f"{finding.where}: {finding.note}"
    if uneven:
        yield "try another seed or split, or balance the parts with `nikawa split --by stratified-groups`"
    by_field = group_by(find_open_giveaways(splits), lambda giveaway: giveaway.field)
    for name, giveaways in by_field.items():
        worst = max(giveaways, key=lambda giveaway: giveaway.strength)
        where = list_names(giveaway.split for giveaway in giveaways)
        yield f"{name} gives labels of {where} away; {worst.split}: {worst.what}"


def released_before(out: Path) -> Built | None:
    """The release a folder holds, if any; a dataset that no build made is refused."""
    if not (out / CARD).is_file():
        return None
    if (out / BUILT).is_file():
        return read_json(out / BUILT, Built)
    cure = "choose another folder: a build replaces only its own releases"
    raise BadInput("contains a dataset that no build made", file=out, cure=cure)


def write_release(store: Store, key: str) -> Built:
    """Write all files of the release in place of those of an earlier one.

    `key` is what it is made of.
    """
    splits = number_examples(store)
    examples = {split: [example for _, example in pairs] for split, pairs in splits.items()}
    figures = figures_of(store, examples)
    card = complete_card(store, figures)
    card = replace(card, problems=(*card.problems, *store.recipe.describe(examples)))
    built = Built(
        recipe=store.recipe.name,
        version=store.config.version,
        key=key,
        nikawa=__version__,
        config=config_values(store.config),
        figures=figures,
    )
    # What the owner accepted of an earlier release stays known as long as it does not grow.
    accepted = [entry for entry in read_known(store.out) if not entry.is_by_design]
    card = describe_on_card(card, accepted)
    with staged_files(store.out, release_files(store.out), CARD) as folder:
        for split, released in examples.items():
            write_records(folder / f"{split}.jsonl", released)
        write_lineage(folder, lineages(store, card.name, splits))
        entries = merge_known(store.recipe.by_design(store.config), accepted)
        if entries:
            write_known(folder, entries)
        for name, make in store.recipe.files.items():
            content = msgspec.json.encode(make(store))  # in its own order
            (folder / name).write_bytes(msgspec.json.format(content, indent=2) + b"\n")
        (folder / PAGE).write_text(format_card(card, figures), "utf-8")
        (folder / BUILT).write_bytes(msgspec.json.format(encode_json(built), indent=2) + b"\n")
        write_card(card, folder)
    return built


def release_files(out: Path) -> list[str]:
    """The files of the release a folder holds, none without a card.

    Other files are not ours to replace.
    """
    if not (out / CARD).exists():
        return []
    names = (CARD, BUILT, PAGE, LINEAGE, INDEX, CHANGES, CHANGELOG, KNOWN, *FURTHER_FILES)
    splits = [path.name for path in split_files(out).values()]
    return [*(name for name in names if (out / name).exists()), *splits]


def number_examples(store: Store) -> Splits:
    """The examples as they are released: numbered where the recipe says so, without what only the
    build needs.
    """
    recipe, number, splits = store.recipe, 0, {}
    for split, name in recipe.splits.items():
        pairs, number = [], number if recipe.continued else 0
        for example in store.examples(name):
            meta = {key: value for key, value in example.meta.items() if key != FROM}
            public = str(number) if recipe.numbered else example.id
            pairs.append((example.id, replace(example, id=public, meta=meta)))
            number += 1
        splits[split] = pairs
    if not any(splits.values()):
        cure = "check what the stages dropped, then relax the settings or provide more text"
        raise BadInput(f"nothing is left to release of {recipe.name}", file=store.out, cure=cure)
    return {split: pairs for split, pairs in splits.items() if pairs}


def complete_card(store: Store, figures: Figures) -> Card:
    """The recipe's card with what the build tells: version, workers, and problems that the figures
    show.
    """
    card = store.recipe.card(store.config)
    workers = "; ".join(f"{a.name}: {a.each} per item, {a.workers} in total" for a in figures.asks)
    machines = "".join(
        f" Models that answered {ask.name} too are not counted. {ask.machines}"
        for ask in figures.asks
        if ask.machines
    )
    problems = []
    if figures.simulated:
        workers += " (simulated)"
        problems.append(
            "The workers are simulated: no person judged these examples, and the labels mean nothing."
        )
    if unsaid := figures.licences.get("not stated", 0):
        problems.append(f"{unsaid:,} source items state no licence.")
    return replace(
        card,
        version=store.config.version,
        licence=store.config.licence,
        languages=(store.recipe.language,),
        labels=card.labels + machines,
        workers=workers,
        workers_are=figures.workers_are,
        problems=(*problems, *card.problems),
    )
