"""`nikawa data hide`: a dataset folder whose labels are in a key file.

The folder is written whole or not at all, and only after ids, order, kept fields and the other
splits were tested for giving labels away. The key file is complete on disk before the folder
appears: labels are never in neither of the two.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_options
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.checks.giveaways import MIN_ITEMS, Giveaway, find_giveaways, find_published_labels
from nikawa.datasets import benchmarks, load
from nikawa.datasets.card import fill_card
from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.hide import META, Hiding, find_kept_fields, hide_labels
from nikawa.datasets.keys import (
    SECRET_BYTES,
    VERSION,
    HiddenNotice,
    HiddenSplit,
    KeyHeader,
    digest_items,
    encode_notice,
    read_header,
    read_keys,
    read_notice,
    write_keys,
)
from nikawa.datasets.lineage import INDEX, LINEAGE, Lineage, read_lineage, write_lineage
from nikawa.datasets.names import SPLIT_ALIASES, canonical_split, spec_of
from nikawa.errors import BadInput, list_names, unknown
from nikawa.io.atomic import atomic_folder, atomic_write, refuse_existing
from nikawa.io.folders import (
    CARD,
    HIDDEN_NOTICE,
    JUDGEMENTS,
    check_split_names,
    is_dataset_folder,
    split_files,
    write_card,
)
from nikawa.io.json import encode_json
from nikawa.io.lines import read_raw_lines
from nikawa.io.records import read_records, write_records
from nikawa.io.remote import real_path
from nikawa.records import Card, Dataset, Example, Judgement, Record, Task, reference

MAX_DRAWS = 10
"""Maximum number of secrets to draw until ids and order pass their test: one in a hundred fails by chance."""
MADE, SHUFFLED = "id", "order"
"""What giveaways call ids and order."""


@dataclass(frozen=True)
class HideOptions:
    """What to hide, and what may stay."""

    splits: tuple[str, ...] = ()
    """The splits whose labels are hidden; the one that the dataset's name has, where empty."""
    keep: tuple[str, ...] = ()
    """The fields that are kept with the inputs: `tags`, `group`, `origin`, `meta`, `meta.KEY` or KEY."""
    keep_ids: bool = False
    keep_order: bool = False
    allow: tuple[str, ...] = ()
    """Giveaways that are accepted, by the name of their field."""
    secret: Path | None = None
    """A key file whose secret is used again: the same items get the same ids and the same order."""
    hidden: bool = False
    """Move labels that are already marked as hidden: for the owner of the labels."""
    card: Mapping[str, str] = field(default_factory=dict)
    """The description of the dataset on its card."""
    overwrite: bool = False


class HideReport(Record, frozen=True, kw_only=True):
    """What was hidden."""

    dataset: str
    out: str
    keys: str
    hidden: dict[str, int]
    """Split to items whose labels are hidden."""
    carried: dict[str, int]
    """Split to examples that were carried over whole."""
    kept: tuple[str, ...]
    digests: dict[str, str]
    """Split to the digest of its ids and inputs."""
    seal: str
    giveaways: tuple[Giveaway, ...] = ()
    """The giveaways that were allowed."""
    untested: tuple[str, ...] = ()
    """Splits with too few items for a test."""
    judgements: int = 0
    """Judgements that went into the key file."""
    left_behind: tuple[str, ...] = ()
    """Files of the folder that were not carried over."""
    published: bool = False
    """Whether it is a registered dataset, whose labels anybody can look up."""


def hide(
    text: str,
    out: Path,
    keys: Path,
    *,
    data: Path | None = None,
    options: HideOptions | None = None,
) -> HideReport:
    """Write `text`, a dataset as `load` takes it, to the folder `out` without the labels of some
    splits, which go to the file `keys`.

    Raises `BadInput` where something gives labels away that is not allowed, and where the key file
    would be published with the folder.
    """
    options = options or HideOptions()
    spec = spec_of(text)
    source = spec.path if not spec.name else None
    refuse_places(out, keys, source, options.overwrite)
    old_secret = None if options.secret is None else read_keys(options.secret).secret
    dataset = load(text, data=data, hidden=True)
    folder = source if source is not None and source.is_dir() else None
    left_behind = find_left_behind(folder)  # before anything is written: it refuses shards
    splits = find_splits(dataset, options.splits or ((spec.split,) if spec.split else ()), text)
    refuse_hidden_labels(dataset, splits, options.hidden)
    tasks = list_tasks(text, dataset, splits)
    every = [example for split in splits for example in dataset.splits[split]]
    keep = find_kept_fields(options.keep, every)

    giveaways = list(find_published_labels(dataset.card.name, dataset.splits, splits))
    hiding = Hiding(old_secret or b"", keep, options.keep_ids, options.keep_order)
    for split in splits:
        giveaways += find_giveaways(
            split,
            list_kept(dataset.splits[split], hiding, tasks),
            [example.gold for example in dataset.splits[split]],
            ordered=(MADE, SHUFFLED),
        )
    giveaways += find_chance_giveaways(dataset, splits, hiding) if old_secret else ()
    refuse_giveaways(giveaways, options.allow)
    if old_secret is None:
        hiding = replace_options(hiding, secret=secrets.token_bytes(SECRET_BYTES))
        for _ in range(MAX_DRAWS):
            if not find_chance_giveaways(dataset, splits, hiding):
                break
            hiding = replace_options(hiding, secret=secrets.token_bytes(SECRET_BYTES))

    hidden, items = hide_labels(dataset, splits, hiding)
    judgements, shown_judgements = divide_judgements(folder, dataset, splits)
    lineages, shown_lineages = divide_lineage(folder, splits)
    items = [
        replace(
            item,
            judgements=tuple(judgements.get((item.split, item.was), ())),
            lineage=lineages.get((item.split, item.was)),
        )
        for item in items
    ]
    if len({(item.split, item.id) for item in items}) != len(items):
        raise BadInput("two items would get the same id", cure="leave --secret out")
    digests = {
        split: digest_items({item.id: item.inputs for item in items if item.split == split})
        for split in splits
    }
    header = KeyHeader(
        keys=VERSION,
        dataset=dataset.card.name,
        version=dataset.version,
        secret=hiding.secret.hex(),
        splits=digests,
        items=len(items),
    )
    before = None if folder is None else read_notice(folder)
    others = {} if before is None else {s: n for s, n in before.splits.items() if s not in splits}
    with atomic_write(keys, overwrite=options.overwrite, private=True) as stream:
        seal = write_keys(stream, header, items)
        stream.flush()
        notice = HiddenNotice(
            hidden=VERSION,
            tasks=tuple(tasks),
            splits=others
            | {
                split: HiddenSplit(
                    items=len(hidden.splits[split]), digest=digests[split], kept=keep, seal=seal
                )
                for split in splits
            },
        )
        card = describe_hiding(hidden, splits, hiding, notice, options.card)
        with atomic_folder(out, overwrite=options.overwrite or out.is_dir()) as target:
            for split, examples in hidden.splits.items():
                write_records(target / f"{split}.jsonl", examples)
            if shown_judgements:
                write_records(target / JUDGEMENTS, shown_judgements)
            if shown_lineages:
                write_lineage(target, shown_lineages)
            (target / HIDDEN_NOTICE).write_bytes(encode_notice(notice))
            write_card(card, target)
    return HideReport(
        dataset=dataset.card.name,
        out=str(out),
        keys=str(keys),
        hidden={split: len(hidden.splits[split]) for split in splits},
        carried={s: len(rows) for s, rows in hidden.splits.items() if s not in splits},
        kept=(*keep, *named_kept(hiding)),
        digests=digests,
        seal=seal,
        giveaways=tuple(replace(giveaway, allowed=True) for giveaway in giveaways),
        untested=tuple(s for s in splits if len(hidden.splits[s]) < MIN_ITEMS),
        judgements=sum(len(item.judgements) for item in items),
        left_behind=left_behind,
        published=bool(spec.name),
    )


# The request


def refuse_places(out: Path, keys: Path, source: Path | None, overwrite: bool) -> None:
    """Refuse to write keys where they would be published, and to replace what is not ours."""
    folder, file = real_path(out), real_path(keys)
    if file == folder or folder in file.parents:
        cure = "choose a path outside the folder: the labels must not be published with it"
        raise BadInput(f"is inside {out}", file=keys, cure=cure)
    if is_dataset_folder(file.parent):
        cure = "choose a path outside the dataset: the labels must not be published with it"
        raise BadInput("is in a dataset folder", file=keys, cure=cure)
    if source is not None and source.exists():
        origin = real_path(source)
        if origin in (folder, *folder.parents) or folder in origin.parents:
            cure = "choose a separate folder"
            raise BadInput("would overwrite the dataset or be inside it", file=out, cure=cure)
    if keys.exists() and not keys.is_dir():
        refuse_existing(keys, overwrite, [source] if source is not None else ())
        first = next((line for _, line in read_raw_lines(keys)), b"")
        read_header(first, keys)  # only a key file is replaced
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        refuse_existing(out, overwrite)
        if not out.is_dir() or not (out / HIDDEN_NOTICE).is_file():
            what = "was not written by nikawa data hide, and would be replaced"
            raise BadInput(what, file=out, cure="choose another folder")
        # Other files there would be deleted, and might be the only copy.
        known = {CARD, HIDDEN_NOTICE, JUDGEMENTS, LINEAGE, INDEX}
        known |= {path.name for path in split_files(out).values()}
        strange = sorted(path.name for path in out.iterdir() if path.name not in known)
        if strange:
            what = f"contains {strange[0]!r}, which nikawa data hide did not write"
            raise BadInput(what, file=out, cure="move it away, or choose another folder")


def find_splits(dataset: Dataset, names: Sequence[str], text: str) -> list[str]:
    """The splits that are named, under the names that the dataset has for them."""
    if not names:
        known = ", ".join(dataset.splits)
        raise BadInput("no split is named", cure=f"pass --split one or more times: {known}")
    benchmark = benchmarks()[name] if (name := spec_of(text).name) else None
    check_split_names(dataset.splits)
    splits = []
    for name in names:
        split = name if name in dataset.splits else SPLIT_ALIASES.get(name, name)
        if benchmark is not None and split not in dataset.splits:
            split = canonical_split(benchmark, name)
        if split not in dataset.splits:
            raise unknown(f"split of {text}", name, dataset.splits)
        if not any(example.gold for example in dataset.splits[split]):
            what = f"no item of {split} has a label"
            raise BadInput(what, file=text, cure="choose a split with labels")
        splits.append(split)
    return list(dict.fromkeys(splits))


def refuse_hidden_labels(dataset: Dataset, splits: Sequence[str], hidden: bool) -> None:
    """Refuse to carry over labels that are marked as hidden already, and to move them to a key file
    unless `hidden` is set.
    """
    for split, examples in dataset.splits.items():
        marked = [example.id for example in examples if example.hidden and example.gold]
        if split not in splits and marked:
            what = f"{len(marked):,} items of {split} have hidden labels, such as {marked[0]}"
            raise BadInput(what, cure=f"pass --split {split} to hide them too")
        if marked and not hidden:
            what = f"{len(marked):,} labels of {split} are already marked as hidden"
            raise BadInput(what, cure="if you own these labels, pass --hidden to move them")


def list_tasks(text: str, dataset: Dataset, splits: Sequence[str]) -> list[Task]:
    """The questions of the dataset, by all of its labels, including those marked as hidden."""
    spec = spec_of(text)
    if spec.name:
        tasks: Sequence[Task] = benchmarks()[spec.name].tasks
        examples = [example for split in splits for example in dataset.splits[split]]
        with_gold = [t for t in tasks if any(t.question in e.gold and t.asks(e) for e in examples)]
        return [replace(task, dataset=dataset.card.name) for task in with_gold]
    assert spec.path is not None
    shown = {
        split: tuple(replace(e, origin=None) if split in splits else e for e in examples)
        for split, examples in dataset.splits.items()
    }
    tasks = custom_tasks(str(spec.path), lambda _: replace(dataset, splits=shown))
    # Named after the question: the folder adds its own name when they are read.
    return [replace(t, name=t.question, dataset=dataset.card.name) for t in tasks]


# What gives labels away


def list_kept(
    examples: Sequence[Example], hiding: Hiding, tasks: Sequence[Task]
) -> dict[str, list[Any]]:
    """The fields of the examples that are kept with the inputs, one value per example."""
    fields: dict[str, list[Any]] = {}
    if hiding.keep_ids:
        fields[MADE] = [example.id for example in examples]
    if hiding.keep_order:
        fields[SHUFFLED] = list(range(len(examples)))
    keys = dict.fromkeys(key for example in examples for key in example.meta)
    for key in keys:
        if "meta" in hiding.keep or f"{META}{key}" in hiding.keep:
            fields[f"{META}{key}"] = [example.meta.get(key) for example in examples]
    if "tags" in hiding.keep:
        fields["tags"] = [example.tags for example in examples]
    if "group" in hiding.keep:
        fields["group"] = [example.group for example in examples]
    if "origin" in hiding.keep:
        origins = [example.origin for example in examples]
        fields["origin"] = [
            "" if origin is None else encode_json(replace(origin, gold="hidden")).decode()
            for origin in origins
        ]
    task_inputs = {name for task in tasks for name in task.inputs}
    for name in dict.fromkeys(name for example in examples for name in example.inputs):
        if name not in task_inputs:
            fields[f"inputs.{name}"] = [example.inputs.get(name) for example in examples]
    return fields


def find_chance_giveaways(
    dataset: Dataset, splits: Sequence[str], hiding: Hiding
) -> list[Giveaway]:
    """Labels given away by the ids and the order that a secret makes, which can happen by chance."""
    hidden, items = hide_labels(dataset, splits, hiding)
    giveaways: list[Giveaway] = []
    for split in splits:
        rows = [item for item in items if item.split == split]
        fields: dict[str, list[Any]] = {}
        if not hiding.keep_ids:
            fields[MADE] = [example.id for example in hidden.splits[split]]
        if not hiding.keep_order:
            fields[SHUFFLED] = list(range(len(rows)))
        golds = [row.gold for row in rows]
        giveaways += find_giveaways(split, fields, golds, ordered=(MADE, SHUFFLED))
    return giveaways


def refuse_giveaways(giveaways: Sequence[Giveaway], allow: Sequence[str]) -> None:
    """Raise where something gives labels away that is not allowed."""
    refused = [giveaway for giveaway in giveaways if giveaway.field not in allow]
    if not refused:
        return
    first, *others = refused
    what = f"{first.field} ({first.split}) would give labels away: {first.what}"
    if others:
        what += f"; so would {list_names(f'{each.field} ({each.split})' for each in others)}"
    names = list(dict.fromkeys(giveaway.field for giveaway in refused))
    allowed = " ".join(f"--allow-leak {name}" for name in names)
    cure = f"{CURES.get(names[0], 'leave it out')}, or accept it: {allowed}"
    raise BadInput(what, cure=cure)


CURES = {
    MADE: "drop --keep-ids",
    SHUFFLED: "drop --keep-order",
    "copies": "remove them from the other split, or hide that too",
    "parents": "remove them, or hide the examples they were made from too",
}
"""Field to what helps; of all others, leaving them out."""


# What is written


def named_kept(hiding: Hiding) -> list[str]:
    """Ids and order, where they were kept."""
    kept = {"ids": hiding.keep_ids, "order": hiding.keep_order}
    return [name for name, is_kept in kept.items() if is_kept]


def describe_hiding(
    dataset: Dataset,
    splits: Sequence[str],
    hiding: Hiding,
    notice: HiddenNotice,
    stated: Mapping[str, str],
) -> Card:
    """The card, with what is hidden, what was kept, and the digests."""
    kept = [*hiding.keep, *named_kept(hiding)]
    sizes = list_names(f"{split} ({notice.splits[split].items:,} items)" for split in splits)
    digests = ", ".join(f"{split} sha256:{notice.splits[split].digest}" for split in splits)
    note = (
        f"Labels are hidden by nikawa data hide: {sizes}. Kept with the inputs: "
        f"{', '.join(kept) or 'nothing'}. Digest of ids and inputs: {digests}. "
        f"Seal of the key file: {notice.splits[splits[0]].seal}."
    )
    description = dataset.card.description.rstrip()
    if description and not description.endswith((".", "。", "!", "?")):
        description = f"{description}."
    card = replace(
        dataset.card, version=dataset.version, description=f"{description} {note}".strip()
    )
    return fill_card(card, stated)


def divide_judgements(
    folder: Path | None, dataset: Dataset, splits: Sequence[str]
) -> tuple[dict[tuple[str, str], list[Judgement]], list[Judgement]]:
    """The judgements of a dataset: those of hidden items by split and id, and those that may be
    published.

    One whose example has an id alone, which a hidden item has too, counts as hidden. One of an
    example that is in no split is in neither.
    """
    hidden: dict[tuple[str, str], list[Judgement]] = {}
    shown: list[Judgement] = []
    if folder is None or not (folder / JUDGEMENTS).is_file():
        return hidden, shown
    names = {dataset.name, dataset.card.name}
    homes: dict[str, tuple[str, str]] = {}
    for split in sorted(dataset.splits, key=lambda split: split in splits):  # hidden ones win
        for example in dataset.splits[split]:
            refs = [reference(name, split, example.id) for name in names]
            homes |= dict.fromkeys(
                (example.id, f"{split}/{example.id}", *refs), (split, example.id)
            )
    for judgement in read_records(folder / JUDGEMENTS, Judgement):
        home = homes.get(judgement.example)
        if home is not None and home[0] in splits:
            hidden.setdefault(home, []).append(judgement)
        elif home is not None:
            shown.append(judgement)
    return hidden, shown


def divide_lineage(
    folder: Path | None, splits: Sequence[str]
) -> tuple[dict[tuple[str, str], dict[str, Any]], list[Lineage]]:
    """The lineage of a dataset: of hidden items by split and id, and the rest."""
    hidden: dict[tuple[str, str], dict[str, Any]] = {}
    shown: list[Lineage] = []
    if folder is None or not (folder / LINEAGE).is_file():
        return hidden, shown
    for entry in read_lineage(folder):
        name = entry.example.partition(":")[2].partition("/")[2] or entry.example
        if entry.split in splits:
            hidden[entry.split, name] = msgspec.to_builtins(entry)
        else:
            shown.append(entry)
    return hidden, shown


def find_left_behind(folder: Path | None) -> tuple[str, ...]:
    """Files of a dataset folder that are not part of the dataset."""
    if folder is None:
        return ()
    known = {CARD, HIDDEN_NOTICE, JUDGEMENTS, LINEAGE, INDEX}
    known |= {path.name for path in split_files(folder).values()}
    names = (path.name for path in folder.iterdir() if not path.name.startswith("."))
    return tuple(sorted(name for name in names if name not in known))
