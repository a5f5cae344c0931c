"""Build a dataset by its recipe: run what is not done yet, pause where people must answer, release
at the end.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec

from nikawa.errors import BadInput, list_names, suggest, unknown
from nikawa.io.atomic import recover
from nikawa.io.folders import CARD
from nikawa.io.json import plain_fault
from nikawa.io.judgements.remarks import WAYS
from nikawa.io.locks import lock_file
from nikawa.io.toml import read_toml
from nikawa.recipes.annotation import Waiting, collect_answers
from nikawa.recipes.recipe import Ask, Config, Recipe, Stage, find_recipe
from nikawa.recipes.release import Released, release, released_before
from nikawa.recipes.store import WORK, Done, Store, run_stage
from nikawa.records import Record

Progress = Callable[[str, int, int], None]
"""Called with the stage that begins, its number from 0, and how many there are."""


@dataclass(frozen=True)
class BuildOptions:
    """How to build."""

    config: Path | None = None
    """A TOML file; without one, the paper's numbers alone."""
    simulate: int | None = None
    """A seed of simulated workers, who answer questions without answers of people."""
    overwrite: bool = False
    """Replace an earlier release that was made of something else."""
    decisions: str | None = None
    """`override` or `ties`, in place of the config: what an owner's decisions do."""


class StageReport(Record, frozen=True, kw_only=True):
    """The result of a stage."""

    name: str
    title: str
    people: bool
    """Whether people answer in it."""
    state: str
    """`made` now, `kept` from before, `waiting` for people, `blocked` behind those."""
    read: dict[str, int] = msgspec.field(default_factory=dict)
    """Items or answers in each set it read; empty where it is not done, as are the next two."""
    wrote: dict[str, int] = msgspec.field(default_factory=dict)
    """Items or answers in each set it filled."""
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    """Items it took out, by reason."""
    notes: tuple[str, ...] = ()


class BuildReport(Record, frozen=True, kw_only=True):
    """The result of a build."""

    recipe: str
    out: str
    stages: tuple[StageReport, ...]
    waiting: tuple[Waiting, ...] = ()
    """The steps at which people must answer before the build can go on."""
    released: Released | None = None
    """The release; None while a step waits."""


class NothingLeft(BadInput):
    """The stages took out so much that the build cannot go on; `report` says what each of them dropped and why."""

    report: BuildReport


def build(
    recipe: str | Recipe,
    out: Path,
    options: BuildOptions | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Build the dataset of a recipe in the folder `out`; called again, it continues where it stopped.

    Args:
        recipe: a recipe, or the name of a registered one.
        out: the dataset folder; the work is in `build/` and the task sheets in `people/` inside it.
        progress: called when a stage begins.

    Raises:
        BadInput: a setting, a source or an answer is wrong, another process builds in `out`, or `out` holds
            something else that would be lost.
        NothingLeft: no item is left to release, or too few for a stage.
    """
    how, recipe = (
        options or BuildOptions(),
        find_recipe(recipe) if isinstance(recipe, str) else recipe,
    )
    base = how.config.parent if how.config else Path()
    config = read_config(recipe, how.config)
    if how.decisions is not None:
        if how.decisions not in WAYS:
            raise unknown("way to take decisions", how.decisions, WAYS)
        config = msgspec.structs.replace(config, decisions=how.decisions)
    store = Store(out, recipe, config, base, config_file=how.config)
    if out.exists() and not out.is_dir():
        raise BadInput("is a file, not a folder", file=out, cure="choose another name")
    if recipe.check is not None:
        try:
            recipe.check(store.config)
        except BadInput as problem:
            place = problem.file or how.config
            raise BadInput(problem.what, file=place, cure=problem.cure) from None
    for source in recipe.sources:
        if source not in recipe.may_lack or getattr(store.config, source):
            store.file(source)
    reports: list[StageReport] = []
    waiting: list[Waiting] = []
    with _alone(out, recipe.name):
        recover(out, CARD)
        released_before(out)  # refused now, not when people have answered
        for number, stage in enumerate(recipe.stages):
            if progress is not None:
                progress(stage.name, number, len(recipe.stages))
            try:
                report, outcome = _step(store, stage, how.simulate)
            except BadInput as problem:
                # A fault of a file is the file's own; another one is about what earlier stages left.
                if problem.file is not None or not any(report.dropped for report in reports):
                    raise
                what = f"the stage {stage.name} failed: {problem.what}"
                raise _stop(recipe, out, reports, what, problem.cure) from None
            reports.append(report)
            waiting += [outcome] if outcome is not None else []
        open_ = any(report.state in ("waiting", "blocked") for report in reports)
        wrote = {name: count for report in reports for name, count in report.wrote.items()}
        if not open_ and not any(wrote[name] for name in recipe.splits.values()):
            what, cure = explain_loss(recipe, reports)
            raise _stop(recipe, out, reports, what, cure)
        released = None if open_ else release(store, how.overwrite)
    return BuildReport(
        recipe=recipe.name,
        out=str(out),
        stages=tuple(reports),
        waiting=tuple(waiting),
        released=released,
    )


def _stop(
    recipe: Recipe, out: Path, reports: Sequence[StageReport], what: str, cure: str
) -> NothingLeft:
    problem = NothingLeft(what, file=out, cure=cure)
    problem.report = BuildReport(recipe=recipe.name, out=str(out), stages=tuple(reports))
    return problem


def explain_loss(recipe: Recipe, reports: Sequence[StageReport]) -> tuple[str, str]:
    """Where all items of a build were lost that has nothing to release, and what can be done about it.

    From the sets of the release it goes back to the stages that had items and passed none on: a side branch, such as
    reported items that were all discarded, is no cause.
    """
    by_name = {report.name: report for report in reports}
    causes: dict[str, StageReport] = {}
    waiting = list(recipe.splits.values())
    seen: set[str] = set()
    while waiting:
        stage = recipe.stage(waiting.pop(0))
        report = by_name[stage.name]
        if stage.name in seen:
            continue
        seen.add(stage.name)
        sets = [name for name in stage.reads if name not in recipe.sources]
        if isinstance(stage, Stage) and (not sets or any(report.read.values())):
            causes[stage.name] = report
        else:
            waiting += sets
    lossy = [report for report in reports if report.name in causes] or [reports[-1]]
    losses: list[str] = []
    settings: list[str] = []
    for report in lossy:
        reasons = ", ".join(f"{why} {count:,}" for why, count in report.dropped.items())
        lost = sum(report.dropped.values())
        how = f"dropped all {lost:,} ({reasons})" if lost else "found no item"
        losses.append(f"the stage {report.name} {how}")
        settings += recipe.stage(next(iter(report.wrote))).uses
    names = list(dict.fromkeys(name for name in settings if name != "seed"))
    change = f"change {list_names(names)} in the config, or provide" if names else "give"
    cure = f"{change} more or other text; nikawa build {recipe.name} --show-config explains the settings"
    return f"nothing is left to release of {recipe.name}: {'; '.join(losses)}", cure


def _step(
    store: Store, stage: Stage | Ask, simulate: int | None
) -> tuple[StageReport, Waiting | None]:
    edition = stage.edition if isinstance(stage, Stage) else 1
    key, before = store.key(stage, edition), store.done(stage)
    if key is None:
        return _report(stage, "blocked", None), None
    if isinstance(stage, Ask):
        done = collect_answers(store, stage, simulate)
        if isinstance(done, Waiting):
            return _report(stage, "waiting", None), done
    else:
        done = before if before is not None and before.key == key else run_stage(store, stage, key)
    store.settle(done)
    kept = before is not None and before.key == done.key
    return _report(stage, "kept" if kept else "made", done), None


def _report(stage: Stage | Ask, state: str, done: Done | None) -> StageReport:
    report = StageReport(
        name=stage.name, title=stage.title, people=isinstance(stage, Ask), state=state
    )
    if done is None:
        return report
    wrote = {name: done.wrote[name] for name in stage.sets if name in done.wrote}
    return msgspec.structs.replace(
        report, read=done.read, wrote=wrote, dropped=done.dropped, notes=done.notes
    )


@contextmanager
def _alone(out: Path, recipe: str) -> Iterator[None]:
    """Hold the folder for this process and this recipe: two builds into one would undo each other's
    work.
    """
    place = out / WORK
    busy = BadInput(
        "is being built by another process", file=out, cure="wait until it has finished"
    )
    with lock_file(place / ".lock", busy=busy) as descriptor:
        other = os.read(descriptor, 999).decode("utf-8", "replace").strip()
        begun = len(list(place.iterdir())) > 1  # more than the lock
        if other not in ("", recipe) and begun:
            cure = (
                f"choose another folder for {recipe}; the setting answers lets builds share answers"
            )
            raise BadInput(f"is where {other} is built", file=out, cure=cure)
        if other != recipe:
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, recipe.encode(), 0)
        yield


def read_config(recipe: Recipe, path: Path | None) -> Config:
    """The config of a recipe: the paper's numbers, and what a TOML file says instead.

    Raises:
        BadInput: the file is not TOML, or has a setting that the recipe has not or that is out of bounds.
    """
    if path is None:
        return recipe.config()
    given = read_toml(path)
    known = [field.name for field in msgspec.structs.fields(recipe.config)]
    for name in given:
        if name not in known:
            what = f"{recipe.name} has no setting {name!r}"
            raise BadInput(what, file=path, cure=suggest(name, known))
    try:
        return msgspec.convert(given, recipe.config)
    except msgspec.ValidationError as problem:
        raise BadInput(
            plain_fault(str(problem)), file=path, cure="--show-config prints the settings"
        ) from None


def show_config(recipe: Recipe) -> str:
    """The settings of a recipe as a TOML file, with the paper's numbers and where each comes from."""
    return "\n".join(
        f"# {one['about']}\n{one['name']} = {toml_of(one['default'])}\n"
        for one in settings_of(recipe)
    )


def settings_of(recipe: Recipe) -> list[dict[str, Any]]:
    """Name, default and meaning of every setting; those of the recipe itself first."""
    shared = {field.name for field in msgspec.structs.fields(Config)}
    notes = {
        name: text for cls in reversed(recipe.config.__mro__) for name, text in _field_notes(cls)
    }
    schema = msgspec.json.schema(recipe.config)["$defs"][recipe.config.__name__]["properties"]
    rows = [
        {
            "name": field.name,
            "default": msgspec.to_builtins(field.default),
            "about": schema[field.name].get("description") or notes.get(field.name, ""),
        }
        for field in msgspec.structs.fields(recipe.config)
    ]
    return sorted(rows, key=lambda row: row["name"] in shared)


def _field_notes(config: type) -> Iterator[tuple[str, str]]:
    """The string below each field of a class, by field; empty if its source is not available."""
    try:
        source = ast.parse(dedent(inspect.getsource(config))).body[0]
    except (OSError, TypeError):  # typed in at a prompt, or a class of C
        return
    assert isinstance(source, ast.ClassDef)
    for field, below in pairwise(source.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(ast.Constant(str(text))):
                    yield field.target.id, " ".join(text.split())


def toml_of(value: Any) -> str:
    """A plain value as TOML writes it.

    >>> toml_of(["a", 1, True])
    '["a", 1, true]'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_of, value))}]"
    return msgspec.json.encode(value).decode() if isinstance(value, str) else repr(value)
