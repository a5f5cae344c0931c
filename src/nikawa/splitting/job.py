"""Split a dataset: a dataset folder with a card, the sizes and labels of its parts, and what leaks
between them.

Where `nikawa aggregate` made the gold, the card says how, and the lineage is written: every
judgement, the rule that made the gold, and the way of splitting. The lineage of a dataset folder
goes on with its examples into their new splits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_settings
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from nikawa.checks.label_balance import label_findings
from nikawa.checks.leaks import group_by_premise, split_leaks
from nikawa.checks.quality import distribution, tops
from nikawa.datasets import load
from nikawa.datasets.aggregated import read_aggregation_facts
from nikawa.datasets.card import fill_card
from nikawa.datasets.compact import Compactor
from nikawa.datasets.hidden import refuse_label_loss
from nikawa.datasets.keys import find_notice
from nikawa.datasets.known import forget_on_card
from nikawa.datasets.lineage import (
    INDEX,
    LINEAGE,
    Lineage,
    Step,
    hide_lineage,
    read_lineage,
    write_lineage,
)
from nikawa.datasets.names import custom_path, find_benchmark, spec_of
from nikawa.datasets.views import source_of, views_of
from nikawa.errors import BadInput, list_names, name_faulty_file
from nikawa.io.atomic import private_files, refuse_existing, staged_files
from nikawa.io.folders import CARD, JUDGEMENTS, check_split_names, write_folder
from nikawa.io.json import read_json_lines
from nikawa.io.records import read_records
from nikawa.io.remote import to_path
from nikawa.models import Trainable, model
from nikawa.models.folds import DEFAULT_FOLDS, predict_out_of_fold
from nikawa.records import Dataset, Example, Finding, Judgement, Record, Task, reference
from nikawa.splitting import SplitterSettings, parse_sizes, splitters
from nikawa.splitting.base import Signal, Splitter, Words, find_question
from nikawa.tables import ShownAsTables
from nikawa.text import analyser
from nikawa.version import __version__

MODEL = "char-linear"
"""The hypothesis-only model where none is named."""
EXAMPLES, ITEMS, SUMMARY = "examples.jsonl", "items.jsonl", "summary.json"
"""Files in a folder of `nikawa aggregate`."""
_REFERENCE = re.compile(r"[^/:]+:[^/:]+/(.+)")
Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much, where that is known."""


@dataclass(frozen=True)
class SplitOptions:
    """How to split."""

    by: str = ""
    """The name of a way to split; see `choose_way` for what is done when it is empty."""
    sizes: str = "0.8,0.1,0.1"
    """Shares or counts of the parts, commas between; see `parse_sizes`."""
    names: tuple[str, ...] = ()
    """Of the parts, as many as sizes; train, dev and test when empty."""
    settings: SplitterSettings = field(default_factory=SplitterSettings)
    analyser: str = ""
    """How texts are split into words: an analyser, or blanks when empty."""
    model: str = MODEL
    """The hypothesis-only model, for ways to split that need one."""
    out: Path | None = None
    overwrite: bool = False
    card: Mapping[str, str] = field(default_factory=dict)
    """Values for the card of the dataset."""
    hidden: bool = False
    """Look at hidden labels and copy them, still hidden, into files of mode 0600; only for owners of
    them. Otherwise items are copied without their hidden labels."""


class SplitReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """The result of a split."""

    main_table: ClassVar[str] = "sizes"

    dataset: str
    by: str
    seed: int
    asked: dict[str, int]
    """Part to the number of examples that was asked for."""
    sizes: dict[str, int]
    """Part to how many it got: groups that stay whole make a difference."""
    labels: dict[str, dict[str, dict[str, float]]]
    """Part to question to label to share."""
    measured: dict[str, dict[str, float]]
    """Part to what the way of splitting is about: unseen terms, word overlap, unseen entities, …"""
    leaks: tuple[Finding, ...]
    """Leaks between the parts."""
    uneven: tuple[Finding, ...] | msgspec.UnsetType = msgspec.UNSET
    """Parts that lack a label or contain only one label; omitted if there are no such parts."""
    views: dict[str, str] = msgspec.field(default_factory=dict)
    """Splits that were skipped, each with the split that contains it."""
    renamed: int | msgspec.UnsetType = msgspec.UNSET
    """Examples whose id was used in several splits, and now begins with the name of its split; not
    present if there are no such parts."""
    out: str | None


def split(
    text: str,
    *,
    data: Path | None = None,
    options: SplitOptions | None = None,
    on_progress: Progress | None = None,
) -> SplitReport:
    """Split a dataset given as `load` takes it.

    The splits it has are thrown together first, less those that repeat others.
    """
    options = options or SplitOptions()
    on_progress = on_progress or (lambda what, done, total: None)
    named = splitters()[options.by] if options.by else None
    if options.out is not None:
        refuse_existing(options.out / CARD, options.overwrite)
    on_progress(f"reading {text}", 0, None)
    whole = load(text, data=data, hidden=options.hidden, compactor=Compactor())
    refuse_withheld_labels(whole, text)
    dataset, views = drop_repeating_splits(whole, text)
    examples = pool_splits(dataset)
    splitter = named or splitters()[choose_way(examples)]
    options = replace_settings(options, by=splitter.name)
    if not options.hidden:
        refuse_hidden_labels(splitter, examples)
        if options.out is not None:
            refuse_label_loss(text, options.out, examples)
    with name_faulty_file(text):
        sizes = parse_sizes(options.sizes, len(examples), options.names)
    check_split_names(sizes)

    on_progress(f"splitting {text}", 0, None)
    settings = replace_settings(options.settings, words=word_function(options.analyser))
    if splitter.needs_signal:
        task = hypothesis_task(text, dataset, examples, settings)
        signal = hypothesis_signal(task, options.model, settings.seed, on_progress)
        settings = replace_settings(settings, signal=signal)
    with name_faulty_file(text):
        parts = splitter.split(examples, sizes, settings)
    refuse_empty_parts(parts, sizes, options)
    splits = {}
    for name, part in parts.items():
        chosen = {example.id for example in part}
        splits[name] = tuple(example for example in examples if example.id in chosen)
    made = _describe(replace(dataset, splits=splits), text, options)
    if options.out is not None:
        with private_files(options.hidden):
            write_folder(made, options.out, overwrite=options.overwrite)
            how = f"{options.by}, seed {settings.seed}"
            old = [name for name in (LINEAGE, INDEX) if (options.out / name).exists()]
            before = None if spec_of(text).name else custom_path(text)[0]
            lineages: Iterator[Lineage] | None = None
            if _is_aggregated(text):
                lineages = trace_lineages(made, to_path(text).parent, how, hidden=options.hidden)
            elif before is not None and (before / LINEAGE).is_file():
                lineages = carry_lineages(before, dataset, made, how, hidden=options.hidden)
            if lineages is not None:
                with staged_files(options.out, old, INDEX) as staging:
                    write_lineage(staging, lineages)
            elif old:  # the file of an earlier dataset in this folder describes other examples
                with staged_files(options.out, old, INDEX):
                    pass  # nothing takes their place

    on_progress("looking for leaks", 0, 1)
    bins = tops(made.splits)
    return SplitReport(
        dataset=made.name,
        by=options.by,
        seed=settings.seed,
        asked=dict(sizes),
        sizes={name: len(part) for name, part in made.splits.items()},
        labels={name: _label_shares(part, bins) for name, part in made.splits.items()},
        measured=splitter.measure(made.splits, settings) if splitter.measure else {},
        leaks=tuple(split_leaks(made.name, group_by_premise(made.splits))),
        uneven=tuple(label_findings(made.splits)) or msgspec.UNSET,
        views=views,
        renamed=sum(e.id != old for (_, old), e in zip(list_places(dataset), examples, strict=True))
        or msgspec.UNSET,
        out=None if options.out is None else str(options.out),
    )


def refuse_withheld_labels(dataset: Dataset, text: str) -> None:
    """Refuse splits whose labels are in a key file, which names their items by split."""
    notice = find_notice(text)
    withheld = [split for split in dataset.splits if notice is not None and split in notice.splits]
    if withheld:
        what = (
            f"the labels of {list_names(withheld)} are in a key file, which would no longer match"
        )
        others = [split for split in dataset.splits if split not in withheld]
        name = f"{text}:{others[0]}" if others else "the dataset that nikawa data hide was run on"
        raise BadInput(what, file=text, cure=f"split {name}")


def choose_way(examples: Sequence[Example]) -> str:
    """The way to split where none is named: what belongs together stays together.

    Labels are balanced as well where they are here and none is hidden.
    """
    if all(example.group is None for example in examples):
        return "random"
    is_open = any(e.gold for e in examples) and not any(e.hidden for e in examples)
    return "stratified-groups" if is_open else "group"


def refuse_hidden_labels(splitter: Splitter, examples: Sequence[Example]) -> None:
    """Refuse a way to split by labels where labels are hidden: the parts would reveal them."""
    needs_gold = splitter.needs_gold
    if needs_gold is None:
        return
    count = sum(example.hidden and needs_gold(example) for example in examples)
    if count:
        what = f"--by {splitter.name} uses labels, and those of {count:,} examples are hidden"
        cure = (
            "split by something else, such as random or group; if you own the labels, pass --hidden"
        )
        raise BadInput(what, cure=cure)


def drop_repeating_splits(dataset: Dataset, text: str) -> tuple[Dataset, dict[str, str]]:
    """The dataset without splits that are parts of others, and those with what they are parts of.

    Parts of a published split that is not here are refused: they overlap, and none of them stands
    for all.
    """
    benchmark = find_benchmark(text)
    views = views_of(dataset.splits, benchmark)
    for name, other in views.items():
        if benchmark is None or other not in benchmark.views:
            continue
        ids = {example.id for example in dataset.splits[other]}
        if any(example.id not in ids for example in dataset.splits[name]):
            source = source_of(name, benchmark.views)
            what = f"{name} and {other} are parts of {source}, which is not here"
            cure = f"run: nikawa data fetch {benchmark.name}, or split one of them: {benchmark.name}:{other}"
            raise BadInput(what, cure=cure)
    kept = {name: examples for name, examples in dataset.splits.items() if name not in views}
    return replace(dataset, splits=kept), views


def pool_splits(dataset: Dataset) -> list[Example]:
    """The examples of all splits; an id that two of them use gets the split's name before it."""
    met: set[str] = set()
    repeated: set[str] = set()
    for examples in dataset.splits.values():
        for example in examples:
            (repeated if example.id in met else met).add(example.id)
    pool = [
        replace(example, id=f"{split}-{example.id}") if example.id in repeated else example
        for split, examples in dataset.splits.items()
        for example in examples
    ]
    if not pool:
        raise BadInput(
            f"{dataset.name} contains no examples", cure="pass a dataset that contains examples"
        )
    if len({example.id for example in pool}) != len(pool):
        raise BadInput(
            f"{dataset.name} uses ids more than once", cure="give each example a unique id"
        )
    return pool


def list_places(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Split and id of every example, in the order of `pool_splits`."""
    return ((split, example.id) for split, part in dataset.splits.items() for example in part)


def word_function(name: str) -> Words:
    """How texts are cut into words: by an analyser, or at blanks."""
    if not name:
        return str.split
    tool = analyser(name)
    return lambda text: [token.surface for token in tool.analyse(text)]


def hypothesis_signal(task: Task, name: str, seed: int, on_progress: Progress) -> Signal:
    """Probabilities from a model that sees the hypothesis alone and never the premise set it is
    asked about.
    """
    if not isinstance(model(name), Trainable):
        raise BadInput(f"the model {name} does not learn", cure=f"use {MODEL}")

    def signal(examples: Sequence[Example], groups: Sequence[str]) -> list[dict[str, float]]:
        begun = 0

        def next_model() -> Trainable:
            nonlocal begun
            begun += 1
            what = f"{name}, model {begun} of {DEFAULT_FOLDS}"
            on_progress(what, begun - 1, DEFAULT_FOLDS)
            made = model(
                name,
                progress=lambda step, done, total: on_progress(f"{what}: {step}", done, total),
            )
            assert isinstance(made, Trainable)
            return made

        predictions = predict_out_of_fold(next_model, task, examples, groups, seed=seed)
        if any(prediction.scores is None for prediction in predictions):
            raise BadInput(f"the model {name} gives no probabilities", cure=f"use {MODEL}")
        return [prediction.scores or {} for prediction in predictions]

    return signal


def hypothesis_task(
    text: str, dataset: Dataset, examples: Sequence[Example], settings: SplitterSettings
) -> Task:
    """The inference task with the hypothesis as its only input."""
    question = find_question(examples, settings)
    benchmark = find_benchmark(text)
    for task in benchmark.tasks if benchmark else ():
        if task.question == question:
            return replace(task, inputs=("hypothesis",))
    return Task(
        name=f"{dataset.name}, hypothesis only",
        dataset=dataset.name,
        kind="inference",
        question=question,
        inputs=("hypothesis",),
        labels=tuple(sorted({str(example.gold[question]) for example in examples})),
        metrics=(),
    )


def refuse_empty_parts(
    parts: Mapping[str, Sequence[Example]], sizes: Mapping[str, int], options: SplitOptions
) -> None:
    """A part that nothing came into is not a split, unless 0 was asked for."""
    words = zip(sizes, options.sizes.split(","), strict=True)
    zero = {name for name, word in words if word.strip() == "0"}
    empty = [name for name, part in parts.items() if not part and name not in zero]
    if not empty:
        return
    if splitters()[options.by].keeps_groups:
        why = "groups stay whole"
        cure = "ask for larger parts, choose smaller groups with --field, or split groups with --by random"
    else:
        why, cure = "the part is too small", "ask for larger parts"
    total = sum(map(len, parts.values()))
    raise BadInput(
        f"{list_names(empty)} would be empty: {why} ({total:,} examples in total)", cure=cure
    )


def _label_shares(
    examples: Sequence[Example], bins: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Question to label to share."""
    shares = {}
    for question, counts in distribution(examples, bins).items():
        total = max(sum(counts.values()), 1)
        shares[question] = {label: count / total for label, count in counts.items()}
    return shares


def _describe(dataset: Dataset, text: str, options: SplitOptions) -> Dataset:
    """The dataset with its card filled: how it was split, how its gold was aggregated, what the
    user says of it.
    """
    way = "" if options.by == "random" else f" ({splitters()[options.by].title})"
    split_note = f"Split again by nikawa split --by {options.by} --sizes {options.sizes} --seed {options.settings.seed}{way}."
    description = f"{dataset.card.description.rstrip('. ')}. {split_note}"
    facts = read_aggregation_facts(to_path(text).parent / SUMMARY) if _is_aggregated(text) else {}
    source = to_path(text) / CARD if to_path(text).is_dir() else to_path(text)
    with name_faulty_file(None if "name" in options.card else source):
        # What was accepted of the splits of before is no finding of these.
        before = replace(forget_on_card(dataset.card), description=description)
        card = fill_card(before, options.card, facts)
    return replace(dataset, name=card.name, version=card.version, card=card)


def _is_aggregated(text: str) -> bool:
    """Whether a file of examples is in a folder that `nikawa aggregate` wrote."""
    path = to_path(text)
    return path.name == EXAMPLES and all(
        (path.parent / name).is_file() for name in (ITEMS, SUMMARY)
    )


def trace_lineages(
    dataset: Dataset, folder: Path, how: str, *, hidden: bool = False
) -> Iterator[Lineage]:
    """The lineage of each example, from what `nikawa aggregate` left in `folder`.

    What workers answered about a hidden example would tell its label: unless `hidden` is set it is
    left out.
    """
    ids = {example.id for examples in dataset.splits.values() for example in examples}

    def id_of(name: str) -> str:
        """The id of an example that may be called by its full reference."""
        match = _REFERENCE.fullmatch(name)
        return match[1] if name not in ids and match and match[1] in ids else name

    steps: dict[str, list[Step]] = {}
    for _, line in read_json_lines(folder / ITEMS, dict[str, Any]):
        rule = f"{line['question']}: {line['by']} ({line['why']})"
        by, why = line.get("decided_by"), line.get("reason")
        if by or why:
            rule += f"; decided{f' by {by}' if by else ''}{f': {why}' if why else ''}"
        if part := line.get("machines"):
            given = ", ".join(
                f"{worker} {answer}" for worker, answer in line.get("machine_answers", {}).items()
            )
            rule += f"; machines: {part} ({given})"
        if effort := line.get("effort"):
            rule += f"; {effort}"
        item = id_of(line["example"])
        steps.setdefault(item, []).append(Step(stage="aggregate", item=item, rule=rule))
    judgements: dict[str, list[Judgement]] = {}
    path = folder / JUDGEMENTS
    for judgement in read_records(path, Judgement) if path.is_file() else ():
        judgements.setdefault(id_of(judgement.example), []).append(judgement)

    for name, examples in dataset.splits.items():
        for example in examples:
            split_step = Step(stage="split", item=example.id, rule=how)
            lineage = Lineage(
                example=reference(dataset.name, name, example.id),
                item=example.id,
                split=name,
                recipe="aggregate",
                version=dataset.version,
                nikawa=__version__,
                inputs=example.inputs,
                gold=example.gold,
                tags=tuple(sorted(example.tags)),
                judgements=tuple(judgements.get(example.id, ())),
                steps=(*steps.get(example.id, ()), split_step),
            )
            yield hide_lineage(lineage) if example.hidden and not hidden else lineage


def carry_lineages(
    folder: Path, before: Dataset, made: Dataset, how: str, *, hidden: bool = False
) -> Iterator[Lineage]:
    """The lineage that the folder of a dataset has of its examples, under the names they have in
    the new splits, with the way of splitting as a further step.

    That of a hidden example comes without what may tell its label, unless `hidden` is set.
    """
    new = {example.id: (split, example) for split, part in made.splits.items() for example in part}
    places = {
        reference(before.name, split, old): new[example.id]
        for (split, old), example in zip(list_places(before), pool_splits(before), strict=True)
    }
    for entry in read_lineage(folder):
        if entry.example not in places:
            continue  # of a split that was not asked for, or repeats another
        split, example = places[entry.example]
        carried = replace(
            entry,
            example=reference(made.name, split, example.id),
            split=split,
            version=made.version,
            steps=(*entry.steps, Step(stage="split", item=example.id, rule=how)),
        )
        yield hide_lineage(carried) if example.hidden and not hidden else carried
