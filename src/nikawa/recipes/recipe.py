"""Recipes declare how a dataset is made, stage by stage, from source text and people's
answers.

A recipe is the name `RECIPE` in a file of a folder below this package, found by scan, or an entry
point `nikawa.recipes` of another package:

    RECIPE = Recipe(name, title, config=MyConfig, card=card, stages=(Stage(...), Ask(...), ...), splits={...})

- `config` is a `Config` with the paper's numbers as defaults; a string below each field says where the number comes from.
- A `Stage` is a pure function `(inputs, config) -> Iterator[Kept | Dropped]`. It reads the sets named in `reads` (what
  other stages wrote, or a config field that names a file) and sees only the config fields named in `uses`, so that a change
  of another field does not run it again. Every item has an id of its own, the same in every set it passes through; an item
  made from others names them in `origin.parents`, one from a file says so in `meta["from"]` (see `found_in`).
- An `Ask` shows the items of a set to people: it writes a task sheet, waits, and gives the judgements under its own name.
- `splits` says which sets are released as which splits; `check` refuses settings before anybody is asked.
- What stages share is in `decide` (deciding by votes, drawing, splitting, tagging), what people answer in `forms`.

`build` runs it: each stage's files are written whole, named by a digest of inputs and config, and
never made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol

import msgspec

from nikawa.datasets.custom import BUILT_HERE
from nikawa.datasets.known import KnownFinding
from nikawa.records import Card, Example, Judgement
from nikawa.registry import Registry, collect_plugins

if TYPE_CHECKING:
    from nikawa.aggregation.decisions import DecisionBook

FROM = "from"
"""The meta value of an item that was read from a source file: file, line, and url and licence where
known."""


Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
One = Annotated[int, msgspec.Meta(ge=1, le=1)]
"""A number the recipe cannot do otherwise with; it stays a setting so that the config shows it."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Config(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Settings of every recipe.

    Each adds its own fields, with the paper's numbers as defaults.

    `nikawa build NAME --show-config` prints the string below each field as a comment.
    """

    name: str = ""
    """Name of the dataset; that of the recipe when empty."""
    version: str = "1.0"
    """Version of the release."""
    licence: str = "CC BY-SA 4.0"
    """Licence of the release."""
    seed: NotNegative = 0
    """Another seed draws other items."""
    answers: str = ""
    """A further folder of answers, such as people/ of another build."""
    decisions: Literal["", "override", "ties"] = ""
    """The effect of an owner's decisions: override makes them gold whatever the votes say, ties only if the votes give no gold; empty: as the
    project has it that took them, else override."""


class Kept(NamedTuple):
    """An item that a stage passes on, and the rule it met."""

    example: Example
    rule: str = ""
    """Why it passes, with details; stored in the lineage of the released example."""
    into: str = ""
    """The set it goes into; the first one the stage writes when empty."""


class Dropped(NamedTuple):
    """An item that a stage takes out, and why.

    Reasons are counted, so keep them few and put particulars in `detail`.
    """

    example: Example
    why: str
    detail: str = ""


Outcome = Kept | Dropped
Outcomes = Iterator[Outcome]
"""The output of a stage: every item it read or made, once."""
FURTHER_FILES = ("ontology.json",)
"""Names that files of a release may have in addition to those of every release."""
SPLITS = {"train": "train", "dev": "dev", "test": "test"}
"""The usual splits, each released from the set of its own name."""


class Inputs(Protocol):
    """The inputs of a stage."""

    def examples(self, name: str) -> Iterator[Example]:
        """The items of a set, in order."""

    def judgements(self, name: str) -> Iterator[Judgement]:
        """The answers of workers to an `Ask`, complete, item by item."""

    def decisions(self, name: str) -> DecisionBook:
        """What the owner decided about items of an `Ask`; see `aggregation.decisions` for the rule."""

    def file(self, name: str) -> Path:
        """The source file that the config field `name` names."""


@dataclass(frozen=True)
class Stage:
    """A step no person takes part in."""

    name: str
    title: str
    """What it does and by which rule, in one sentence; the dataset card prints it."""
    run: Callable[[Inputs, Any], Outcomes]
    reads: tuple[str, ...]
    """The sets it takes items or judgements from, and the config fields that name the files it
    reads."""
    uses: tuple[str, ...] = ()
    """The config fields it looks at; it cannot see others."""
    writes: tuple[str, ...] = ()
    """The sets it fills; one of its own name when empty."""
    edition: int = 1
    """Increased when the function changes its results, so that old results are computed again."""

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets it fills."""
        return self.writes or (self.name,)


Simulate = Callable[[Example, Any, Random], Any]
"""What a simulated worker answers about an item: (example, config, chance) -> answer."""


@dataclass(frozen=True)
class Ask:
    """A step where people answer: the items of `reads`, each judged by a number of workers."""

    name: str
    title: str
    """The question in a few words; sheets and the dataset card print it."""
    reads: tuple[str, ...]
    """The sets whose items are judged."""
    form: str
    """The form of the question: one of `ANSWER_SHAPES`, and of the annotation pages."""
    question: str
    """The name of the question in the judgements."""
    workers: str
    """The config field that says how many workers answer about an item."""
    prompt: str = ""
    """The prompt for workers, in the language of the data. Pages show it where the form has no words of its own for the
    question: name what can be answered as `names` does, not by the stored values."""
    heading: str = ""
    """The title of a worker's page, in the language of the data."""
    guideline: tuple[str, ...] = ()
    """The points of the guideline, in the language of the data; the form's own guideline when empty."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of labels, inputs and reports (`report_CODE`) on the page; the stored values stay the same."""
    anchors: Mapping[str, str] = field(default_factory=dict)
    """What the numbers of a scale stand for, by number; the form's own words when empty."""
    show: Callable[[Example], Mapping[str, Any]] | None = None
    """The inputs as workers see them, under the names that the form reads; as they are when None. What it leaves out is
    for the build alone."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the form that a config field decides: setting to field. Of a field that names a source file, the sheet
    has the content."""
    options: Callable[[Any], Mapping[str, Any]] | None = None
    """Further settings of the form, made of the config."""
    labels: tuple[str, ...] = ()
    """What may be answered, where the form is one of labels, or may be marked, where it is one of
    spans."""
    scale: tuple[float, float] | None = None
    """The lowest and the highest number that may be answered."""
    texts: str = ""
    """The config field that says how many texts a worker writes, or labels they may rank; one text
    when empty."""
    reports: tuple[str, ...] = ()
    """Codes of reports that are accepted instead of an answer, such as `personal` or
    `hate`."""
    apart: tuple[str, ...] = ()
    """Earlier `Ask`s about the same items or what they were made of: who answered there does not
    answer here."""
    enough: Callable[[Sequence[Any]], bool] | None = None
    """Whether the answers about an item will do though workers are missing, as where one wrote alone what two write
    together. None: they never do."""
    simulate: Simulate | None = None
    """Makes up an answer where a build is tried out without people."""
    uses: tuple[str, ...] = ()
    """The config fields `simulate` looks at."""

    @property
    def sets(self) -> tuple[str, ...]:
        """The judgements go by its own name."""
        return (self.name,)


@dataclass(frozen=True)
class Recipe:
    """How a dataset is made."""

    name: str
    """What `nikawa build` calls it: the name of the published dataset."""
    title: str
    """What is made, with the paper and its section, for the list of recipes."""
    language: str
    config: type[Config]
    """The settings, each with the paper's number as its default."""
    sources: tuple[str, ...]
    """The config fields that name source files."""
    stages: tuple[Stage | Ask, ...]
    card: Callable[[Any], Card]
    """The card but for what the build itself tells: languages, version, workers, known problems of
    the run."""
    question: str
    """The gold whose distribution the dataset card shows."""
    may_lack: tuple[str, ...] = ()
    """The sources that may be left empty."""
    splits: Mapping[str, str] = field(default_factory=lambda: SPLITS)
    """Split of the release to the set it is made of."""
    numbered: bool = False
    """Whether released examples are counted from 0 in each split, instead of keeping their working
    ids."""
    continued: bool = False
    """Whether the count goes on from split to split."""
    check: Callable[[Any], None] | None = None
    """Refuses a config that would fail later, when people have answered already; see
    `decide.check_split`."""
    by_design: Callable[[Any], tuple[KnownFinding, ...]] = lambda config: ()
    """What `nikawa data check` finds in a release with these settings and is as the paper has it;
    `known.toml` of the release lists it."""
    describe: Callable[[Mapping[str, Sequence[Example]]], tuple[str, ...]] = lambda splits: ()
    """Sentences about the released splits, which the card lists with its known problems."""
    files: Mapping[str, Callable[[Inputs], Any]] = field(default_factory=dict)
    """Further files of a release, each one of `FURTHER_FILES`, and what makes its content: plain values, written as JSON."""
    notes: tuple[str, ...] = field(default=())
    """Choices made here because the papers do not specify them; the card lists them."""

    def __post_init__(self) -> None:
        known = set(self.sources)
        for stage in self.stages:
            needed = (*stage.reads, *(stage.apart if isinstance(stage, Ask) else ()))
            if missing := [name for name in needed if name not in known]:
                raise ValueError(
                    f"{self.name}: {stage.name} reads {missing}, which no earlier stage writes"
                )
            if again := known & {*stage.sets}:
                raise ValueError(f"{self.name}: {stage.name} writes {again} a second time")
            known |= {*stage.sets}

    def stage(self, name: str) -> Stage | Ask:
        """The stage that fills the set `name`."""
        return next(stage for stage in self.stages if name in stage.sets)


def found_in(path: Path, line: int, **more: str) -> dict[str, Any]:
    """The meta value `from` of an item read from a source: file, line, and what else is known (url,
    licence).

    >>> found_in(Path("in/captions.jsonl"), 3, url="", licence="CC BY 4.0")
    {'from': {'file': 'captions.jsonl', 'line': 3, 'licence': 'CC BY 4.0'}}
    """
    return {
        FROM: {
            "file": path.name,
            "line": line,
            **{key: value for key, value in more.items() if value},
        }
    }


def splits_stage(
    title: str,
    run: Callable[[Inputs, Any], Outcomes],
    reads: tuple[str, ...],
    uses: tuple[str, ...],
) -> Stage:
    """The last stage of most recipes: it fills the sets of the usual splits."""
    return Stage("splits", title, run, reads, uses, tuple(SPLITS))


def built_card(published: Card, config: Config, **changes: Any) -> Card:
    """The card of a published dataset, with `changes`, for one that the recipe of the same name
    makes here.
    """
    return msgspec.structs.replace(
        published,
        name=config.name or published.name,
        homepage=f"{BUILT_HERE}{published.name}",
        **changes,
    )


def find_recipe(name: str) -> Recipe:
    """The recipe called `name`; an unknown name is bad input that names the nearest."""
    return recipes()[name]


@cache
def recipes() -> Registry[Recipe]:
    """All recipes by name."""
    table: Registry[Recipe] = Registry("recipe")
    package = import_module(__package__)
    for recipe in collect_plugins(Recipe, "RECIPE", "nikawa.recipes", package, in_subfolders=True):
        table.add(recipe.name, recipe)
    return table
