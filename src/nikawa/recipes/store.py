"""The working folder of a build: one folder per stage, written whole, with the digest of what it was
made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder
from nikawa.io.json import encode_json, read_json, read_json_lines
from nikawa.io.jsonl import encode_record
from nikawa.io.judgements.remarks import is_remark, kind_of
from nikawa.io.lines import open_packed
from nikawa.io.records import read_examples, read_records
from nikawa.io.task_sheet import digest_values
from nikawa.recipes.recipe import FROM, Ask, Config, Kept, Recipe, Stage
from nikawa.records import DECISION_KINDS, Example, Judgement, Record
from nikawa.version import __version__

if TYPE_CHECKING:
    from nikawa.aggregation.decisions import DecisionBook

WORK = "build"
RECORD, TRACE = "stage.json", "trace.jsonl"
_BLOCK = 1 << 20


class Measured(Record, frozen=True, kw_only=True):
    """A measure of agreement with its 95% interval."""

    name: str
    """The coefficient, as `nikawa agree` calls it."""
    level: str
    """The level of measurement: nominal, ordinal, interval ..."""
    value: float
    low: float | None = None
    high: float | None = None


class Done(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The output of a finished stage, and its inputs."""

    stage: str
    key: str
    """A digest of all that the result depends on: another key, and the stage runs again."""
    read: dict[str, int] = msgspec.field(default_factory=dict)
    """Items or answers in each set it read; source files are not counted."""
    wrote: dict[str, int] = msgspec.field(default_factory=dict)
    """Items or answers in each set it filled."""
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    """Items it took out, by reason."""
    digests: dict[str, str] = msgspec.field(default_factory=dict)
    """A digest of each set it filled, which the keys of later stages hold."""
    nikawa: str = ""
    """The version that ran it."""
    workers: int = 0
    """Who answered, where people did."""
    simulated: int = 0
    """Answers by simulated workers."""
    columns: bool = False
    """Whether a worker is only a column of a sheet."""
    agreement: tuple[Measured, ...] = ()
    notes: tuple[str, ...] = ()
    """Further notes, such as answers that were not counted."""
    machines: str = ""
    """Models compared with the workers, where both answered."""


class Trace(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a stage did with an item: into which set and by which rule, or why it was dropped."""

    item: str
    into: str = ""
    """The set it went into; empty where it was dropped."""
    rule: str = ""
    why: str = ""
    """The reason it was dropped for; empty where it was kept."""
    detail: str = ""
    parents: tuple[str, ...] = ()
    """The items it was made of."""
    source: dict[str, Any] | None = None
    """Where it was read: file, line, and url and licence where known."""


digest = digest_values


def digest_file(path: Path) -> str:
    """A digest of a file's bytes."""
    hasher = blake2b(digest_size=16)
    with open_packed(path) as stream:
        while block := stream.read(_BLOCK):
            hasher.update(block)
    return hasher.hexdigest()


@dataclass
class Store:
    """The work of one build."""

    out: Path
    recipe: Recipe
    config: Config
    base: Path
    """The folder that file names of the config are relative to."""
    config_file: Path | None = None
    """Where the config was read, for errors."""
    _files: dict[str, str] = field(default_factory=dict)

    def folder(self, stage: Stage | Ask) -> Path:
        """Where a stage's files lie."""
        return self.out / WORK / stage.name

    def done(self, stage: Stage | Ask) -> Done | None:
        """What is known of a stage that was finished, be it of other inputs; None where a file of
        it is gone.
        """
        needed = [RECORD, *(f"{name}.jsonl" for name in stage.sets)]
        folder = self.folder(stage)
        whole = all((folder / name).is_file() for name in needed)
        return read_json(folder / RECORD, Done) if whole else None

    def file(self, name: str) -> Path:
        """The source file a config field names.

        Raises:
            BadInput: the field is empty, or the file does not exist.
        """
        given = getattr(self.config, name)
        if not given:
            what = f"the config of {self.recipe.name} does not set {name}"
            cure = f'add {name} = "FILE"; --show-config prints a template'
            raise BadInput(what, file=self.config_file, cure=cure)
        path = self.base / str(given)
        try:
            is_there = path.is_file()
        except OSError:  # a name that is too long, say
            is_there = False
        if not is_there:
            cure = f"correct {name} in {self.config_file or 'the config'}"
            raise BadInput("no such file", file=path, cure=cure)
        return path

    def digest_of(self, name: str) -> str | None:
        """The digest of a set or a source; None where the set is not there yet."""
        if name in self.recipe.sources:
            if name in self.recipe.may_lack and not getattr(self.config, name):
                return digest("no file")
            if name not in self._files:
                self._files[name] = digest_file(self.file(name))
            return self._files[name]
        return self._files.get(name)

    def settle(self, done: Done) -> None:
        """Take a stage's sets for current."""
        self._files.update(done.digests)

    def key(self, stage: Stage | Ask, *more: Any) -> str | None:
        """What a stage's result depends on, as a digest; None where an input is not there yet."""
        reads = {name: self.digest_of(name) for name in stage.reads}
        if None in reads.values():
            return None
        used = {name: getattr(self.config, name) for name in stage.uses}
        return digest(self.recipe.name, stage.name, used, reads, *more)

    def view(self, stage: Stage | Ask) -> Any:
        """The config as a stage may see it: the fields it names, so that no dependence goes unsaid."""
        return SimpleNamespace(**{name: getattr(self.config, name) for name in stage.uses})

    def examples(self, name: str) -> Iterator[Example]:
        """The items of a set."""
        return read_examples(self._set_file(name)) if self._has_items(name) else iter(())

    def judgements(self, name: str) -> Iterator[Judgement]:
        """The answers of workers to an `Ask`."""
        return (judgement for judgement in self.remarked(name) if not is_remark(judgement))

    def decisions(self, name: str) -> DecisionBook:
        """What the owner decided about items of an `Ask`; each decision says how it counts."""
        from nikawa.aggregation.decisions import Decision, DecisionBook

        book = DecisionBook()
        remarks = (judgement for judgement in self.remarked(name) if is_remark(judgement))
        book.add(Decision.of(one) for one in remarks if kind_of(one) in DECISION_KINDS)
        return book

    def remarked(self, name: str) -> Iterator[Judgement]:
        """Everything about the items of an `Ask`: answers, decisions and reports."""
        return read_records(self._set_file(name), Judgement) if self._has_items(name) else iter(())

    def _set_file(self, name: str) -> Path:
        return self.folder(self.recipe.stage(name)) / f"{name}.jsonl"

    def _has_items(self, name: str) -> bool:
        """Whether a set may be read: the readers refuse files without a line."""
        done = self.done(self.recipe.stage(name))
        return done is None or bool(done.wrote.get(name))

    def trace(self, stage: Stage | Ask) -> Iterator[Trace]:
        """What a stage did with each item."""
        path = self.folder(stage) / TRACE
        if path.is_file() and path.stat().st_size:
            yield from (line for _, line in read_json_lines(path, Trace))


class _Sink:
    """A file that is digested and counted while it is written."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name, self.hash, self.count = stream, name, blake2b(digest_size=16), 0
        self.ids: set[str] = set()

    def add(self, example: Example) -> None:
        """One more item; an id may come once."""
        if example.id in self.ids:
            cure = "give every item of the source a unique id"
            place = example.meta.get(FROM, {})
            what = f"the id {example.id!r} is repeated in the set {self.name!r}"
            raise BadInput(what, file=place.get("file"), line=place.get("line"), cure=cure)
        self.ids.add(example.id)
        line = encode_record(example) + b"\n"
        self.stream.write(line)
        self.hash.update(line)
        self.count += 1


def run_stage(store: Store, stage: Stage, key: str) -> Done:
    """Run a stage into its folder, which appears when all is written."""
    target = atomic_folder(store.folder(stage), overwrite=True, inside=store.out)
    with target as folder, ExitStack() as files:
        sinks = {
            name: _Sink(files.enter_context((folder / f"{name}.jsonl").open("wb")), name)
            for name in stage.sets
        }
        dropped: Counter[str] = Counter()
        with (folder / TRACE).open("wb") as trace:
            for outcome in stage.run(store, store.view(stage)):
                example = outcome.example
                line = Trace(
                    item=example.id,
                    parents=example.origin.parents if example.origin is not None else (),
                    source=example.meta.get(FROM),
                )
                if isinstance(outcome, Kept):
                    into = outcome.into or stage.sets[0]
                    line = replace(line, into=into, rule=outcome.rule)
                    sinks[into].add(example)
                else:
                    line = replace(line, why=outcome.why, detail=outcome.detail)
                    dropped[outcome.why] += 1
                trace.write(encode_json(line) + b"\n")
        done = Done(
            stage=stage.name,
            key=key,
            read=counts_of(store, stage),
            wrote={name: sink.count for name, sink in sinks.items()},
            dropped=dict(sorted(dropped.items())),
            digests={name: sink.hash.hexdigest() for name, sink in sinks.items()},
            nikawa=__version__,
        )
        (folder / RECORD).write_bytes(encode_json(done))
    return done


def counts_of(store: Store, stage: Stage | Ask) -> dict[str, int]:
    """The number of items or answers in the sets that a stage reads."""
    counts = {}
    for name in stage.reads:
        if name not in store.recipe.sources:
            done = store.done(store.recipe.stage(name))
            counts[name] = done.wrote.get(name, 0) if done is not None else 0
    return counts


def config_values(config: Config) -> dict[str, Any]:
    """The config as plain values; how decisions count is among them only where it says so, as releases of before have none."""
    values: dict[str, Any] = msgspec.to_builtins(config)
    if not config.decisions:
        del values["decisions"]
    return values
