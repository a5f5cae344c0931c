"""The last step of a build: number the examples, write splits, lineage and cards together, the card last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.datasets.lineage import INDEX, LINEAGE, write_lineage
from nikawa.errors import BadInput
from nikawa.io.folders import CARD, split_files, write_card
from nikawa.io.json import encode_json, read_json
from nikawa.io.records import write_records
from nikawa.io.staged import recover, staged_files
from nikawa.recipes.build_lineage import lineages
from nikawa.recipes.figures import figures_of
from nikawa.recipes.recipe import FROM, Ask
from nikawa.recipes.store import Store, config_values, digest
from nikawa.records import Card, Example, Record
from nikawa.reporting.card import Figures, markdown
from nikawa.version import __version__

BUILT, PAGE = "build.json", "README.md"
CHANGES, CHANGELOG = "changelog.json", "CHANGELOG.md"
"""What corrected versions add; a build that replaces one takes them away."""
Splits = dict[str, list[tuple[str, Example]]]
"""Split to (working id, example as released)."""


class Released(Record, frozen=True, kw_only=True):
    """A release that is written."""

    name: str
    version: str
    key: str
    splits: dict[str, int]
    workers_are: str
    fresh: bool = True
    """False where it was there already."""


class Built(Record, frozen=True, kw_only=True):
    """`build.json`: what a release was made of, and its figures."""

    recipe: str
    version: str
    key: str
    nikawa: str
    config: dict[str, Any]
    figures: Figures


def release(store: Store, overwrite: bool) -> Released:
    """Write the release, unless the same is there; another one is replaced only where that is asked for."""
    recover(store.out, CARD)
    sets = {split: store.digest_of(name) for split, name in store.recipe.splits.items()}
    key = digest(
        store.recipe.name, sets, _settings(store), [store.digest_of(s.name) for s in _asks(store)]
    )
    built = released_before(store.out)
    if built is None or built.key != key:
        if built is not None and not overwrite:
            what = f"holds the release {built.version} of other items or settings"
            raise BadInput(what, file=store.out, cure="say --overwrite, or build in another folder")
        built = _write(store, key, built is not None)
        return _told(store, built, fresh=True)
    return _told(store, built, fresh=False)


def released_before(out: Path) -> Built | None:
    """The release a folder holds, if any; a dataset that no build made is refused."""
    if not (out / CARD).is_file():
        return None
    if (out / BUILT).is_file():
        return read_json(out / BUILT, Built)
    cure = "choose another folder: builds replace only releases of their own"
    raise BadInput("holds a dataset that no build made", file=out, cure=cure)


def _settings(store: Store) -> dict[str, Any]:
    """All settings but those that say where something lies: files count by what is in them."""
    places = (*store.recipe.sources, "answers")
    return {
        name: value for name, value in config_values(store.config).items() if name not in places
    }


def _asks(store: Store) -> Iterator[Ask]:
    return (stage for stage in store.recipe.stages if isinstance(stage, Ask))


def _told(store: Store, built: Built, *, fresh: bool) -> Released:
    labels = built.figures.labels
    counts = {
        split: sum(labels[split].values()) for split in store.recipe.splits if split in labels
    }
    return Released(
        name=read_json(store.out / CARD, Card).name,
        version=built.version,
        key=built.key,
        splits=counts,
        workers_are=built.figures.workers_are,
        fresh=fresh,
    )


def _write(store: Store, key: str, replaced: bool) -> Built:
    splits = _splits(store)
    figures = figures_of(
        store, {split: [example for _, example in pairs] for split, pairs in splits.items()}
    )
    card = _card(store, figures)
    built = Built(
        recipe=store.recipe.name,
        version=store.config.version,
        key=key,
        nikawa=__version__,
        config=dict(config_values(store.config)),
        figures=figures,
    )
    old = _old(store.out) if replaced else []
    with staged_files(store.out, old, CARD) as folder:
        for split, pairs in splits.items():
            write_records(folder / f"{split}.jsonl", (example for _, example in pairs))
        write_lineage(folder, lineages(store, card.name, splits))
        (folder / PAGE).write_text(markdown(card, figures), "utf-8")
        (folder / BUILT).write_bytes(msgspec.json.format(encode_json(built), indent=2) + b"\n")
        write_card(card, folder)
    return built


def _old(out: Path) -> list[str]:
    names = [
        CARD,
        BUILT,
        PAGE,
        LINEAGE,
        INDEX,
        CHANGES,
        CHANGELOG,
        *(path.name for path in split_files(out).values()),
    ]
    return [name for name in names if (out / name).exists()]


def _splits(store: Store) -> Splits:
    """The examples as they are released: numbered where the recipe says so, without what only the build needs."""
    recipe, number, found = store.recipe, 0, {}
    for split, name in recipe.splits.items():
        pairs, number = [], number if recipe.continued else 0
        for example in store.examples(name):
            meta = {key: value for key, value in example.meta.items() if key != FROM}
            public = str(number) if recipe.numbered else example.id
            pairs.append((example.id, replace(example, id=public, meta=meta)))
            number += 1
        found[split] = pairs
    if not any(found.values()):
        cure = "look at what the stages dropped, and loosen the settings or give more text"
        raise BadInput(f"nothing is left to release of {recipe.name}", file=store.out, cure=cure)
    return {split: pairs for split, pairs in found.items() if pairs}


def _card(store: Store, figures: Figures) -> Card:
    """The recipe's card with what the build tells."""
    card = store.recipe.card(store.config)
    said = "; ".join(f"{a.name}: {a.each} an item, {a.workers} in all" for a in figures.asks)
    made_up = (
        "The workers are simulated: no person judged these examples, and the labels mean nothing.",
    )
    unsaid = figures.licences.get("not stated", 0)
    lacking = (f"{unsaid:,} source items state no licence.",) if unsaid else ()
    return replace(
        card,
        version=store.config.version,
        licence=store.config.licence,
        languages=(store.recipe.language,),
        workers=f"{said} (simulated)" if figures.simulated else said,
        workers_are=figures.workers_are,
        problems=(made_up if figures.simulated else ()) + lacking + card.problems,
    )
