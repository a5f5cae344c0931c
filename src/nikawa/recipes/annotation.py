"""The steps of a build where people answer: they write task sheets, read judgements and check that they are complete."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.collect.writers import Authorship, read_writers, write_writers
from nikawa.errors import BadInput, list_names
from nikawa.io.atomic import atomic_folder
from nikawa.io.file_names import refuse_outside
from nikawa.io.json import encode_json, read_json
from nikawa.io.jsonl import encode_record
from nikawa.io.judgements import JudgementOptions, Reading, open_judgements
from nikawa.io.judgements.remarks import KIND_OF_WAY, name_decider, name_person
from nikawa.io.task_sheet import (
    ANSWER_SHAPES,
    CELLS,
    PEOPLE,
    SHEET,
    TASKS,
    Sheet,
    digest_items,
    unquote_cell,
    write_cells,
    write_task_sheet,
)
from nikawa.recipes.answer_readers import ANSWER_READERS, Question, read_answer, to_vote
from nikawa.recipes.decide import seeded_random
from nikawa.recipes.recipe import Ask
from nikawa.recipes.store import (
    RECORD,
    Done,
    Measured,
    Store,
    counts_of,
    digest,
    digest_file,
)
from nikawa.records import Example, Judgement, Record, find_answerer, is_person
from nikawa.version import __version__


def write_sheet(store: Store, question: Question, examples: list[Example]) -> None:
    """The tasks as records and as a sheet, and what is asked; written once for the same items.

    `tasks.writers.jsonl` next to the tasks, for the owner alone, names the workers who may not answer about an item: a
    project made from the sheet does not give it to them. A question without items or workers gets no sheet.
    """
    place, ask = store.out / PEOPLE / question.ask.name, question.ask
    if not (examples and question.workers) and not (place / SHEET).is_file():
        return
    shown = show_items(ask, examples)
    sheet = Sheet(
        recipe=store.recipe.name,
        name=ask.name,
        title=ask.title,
        form=ask.form,
        question=ask.question,
        prompt=ask.prompt,
        labels=ask.labels,
        scale=ask.scale,
        texts=question.texts,
        workers=question.workers,
        items=len(examples),
        answer=ANSWER_SHAPES[ask.form],
        language=store.recipe.language,
        tasks=digest_items(shown),
        reports=ask.reports,
        heading=ask.heading,
        guideline=ask.guideline,
        names=dict(ask.names),
        anchors=dict(ask.anchors),
        settings=form_settings(store, ask),
        simulated=has_simulated_answers(store, ask),
    )
    writers = place / WRITERS
    for name in (TASKS, CELLS, SHEET, MISSING, WRITERS):
        refuse_outside(place / name, store.out)
    if not (place / SHEET).is_file() or read_json(place / SHEET, Sheet) != sheet:
        write_task_sheet(place, sheet, shown, overwrite=True)
    barred = barred_workers(store, ask, {example.id: example for example in examples})
    people = {
        name: sorted(worker for worker in workers if not worker.startswith(SIMULATED))
        for name, workers in barred.items()
    }
    rows = [
        Authorship(example=name, writer="", others=tuple(workers))
        for name, workers in people.items()
        if workers
    ]
    if rows and list(read_writers(writers).values()) != rows:
        write_writers(writers, rows, overwrite=True)
    elif not rows:
        writers.unlink(missing_ok=True)


def form_settings(store: Store, ask: Ask) -> dict[str, Any]:
    """The settings of a question's form; of source files, what is in them."""
    settings = dict(ask.options(store.config)) if ask.options is not None else {}
    for name, of in ask.settings.items():
        is_file = of in store.recipe.sources
        settings[name] = read_json(store.file(of), Any) if is_file else getattr(store.config, of)
    return settings


WRITERS = "tasks.writers.jsonl"
"""The file next to the tasks that names who may not answer about an item; `nikawa collect new` looks for this name."""


def show_items(ask: Ask, examples: Iterable[Example]) -> list[Example]:
    """The items as workers see them: with the inputs that the form of the question reads."""
    show = ask.show
    if show is None:
        return list(examples)
    return [replace(example, inputs=dict(show(example))) for example in examples]


def has_simulated_answers(store: Store, question: Ask) -> bool:
    """Whether simulated workers answered an earlier question of the recipe, so that its items are made up in part."""
    for stage in store.recipe.stages:
        if stage is question:
            return False
        done = store.done(stage) if isinstance(stage, Ask) else None
        if done is not None and done.simulated:
            return True
    return False


ANSWERS = "answers*"
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".csv", ".tsv", ".json", ".parquet")
REFERENCE = re.compile(r"\A[^/:]+:[^/:]+/(.+)\Z")
"""`tasks:all/7`, as other commands call the items of a file."""
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


@dataclass
class Answers:
    """The answers received, by item and worker."""

    known: Mapping[str, Example]
    workers: int
    """Number of answers needed per item."""
    held: dict[str, dict[str, Judgement]] = field(default_factory=dict)
    """By item and worker the answers that count."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Answered items that are not part of the question, and how often."""
    machines: list[Judgement] = field(default_factory=list)
    """Answers of models and simulations, which are not counted."""
    over: int = 0
    """Answers beyond the number asked for, which are not counted."""
    given: int = 0
    columns: bool = False
    """Whether a worker is only a column of a sheet."""
    enough: Callable[[Sequence[Any]], bool] | None = None
    """Whether the answers about an item will do though there are fewer (`Ask.enough`)."""
    barred: Mapping[str, set[str]] = field(default_factory=dict)
    """By item the workers who may not answer about it."""
    decisions: dict[str, list[Judgement]] = field(default_factory=dict)
    """By item what the owner decided: no answers of workers, and beyond their number."""
    passed_reports: Counter[str] = field(default_factory=Counter)
    """Reports of workers by a word that the question does not take, and how many there are."""
    reported: set[str] = field(default_factory=set)
    """The items of these reports."""

    def add(self, judgement: Judgement) -> bool:
        """Take an answer; False where its worker gave another before.

        The same again (of an overlapping batch) counts once.
        """
        if judgement.example not in self.known:
            self.unknown[judgement.example] = self.unknown.get(judgement.example, 0) + 1
            return True
        mine = self.held.setdefault(judgement.example, {})
        if judgement.worker in mine:
            return bool(mine[judgement.worker].answer == judgement.answer)
        if len(mine) >= self.workers:
            self.over += 1
            return True
        mine[judgement.worker] = judgement
        self.given += 1
        return True

    def lacking(self) -> list[Example]:
        """The items with too few answers."""
        return [
            example
            for name, example in self.known.items()
            if len(self.held.get(name, ())) < self.workers
            and not self.is_decided(name)
            and not self.is_enough(name)
        ]

    def is_decided(self, item: str) -> bool:
        """Whether a decision is the gold of an item whatever further answers would say."""
        return any(decision.kind == "decision" for decision in self.decisions.get(item, ()))

    def is_enough(self, item: str) -> bool:
        """Whether the answers about an item will do."""
        given = [judgement.answer for judgement in self.held.get(item, {}).values()]
        return self.enough is not None and bool(given) and self.enough(given)

    def in_order(self) -> Iterator[Judgement]:
        """All answers, item by item."""
        for name in self.known:
            yield from self.held.get(name, {}).values()


def answer_files(store: Store, question: Ask) -> list[Path]:
    """The files of answers to an `Ask`, and folders with one file per worker: next to its tasks, and in
    the further folder the config names.
    """
    places = [store.out / PEOPLE / question.name]
    if store.config.answers:
        places.append(store.base / store.config.answers / question.name)
    files = [path for place in places for path in sorted(place.glob(ANSWERS))]
    for path in files:
        if path.suffix.lower() in WORKBOOKS:
            raise BadInput(
                "is a workbook, which cannot be read", file=path, cure="save its sheet as CSV UTF-8"
            )
    return [path for path in files if path.is_dir() or path.name.endswith(SUFFIXES)]


def read_answer_file(path: Path, question: Question, answers: Answers, way: str = "") -> None:
    """Take the answers of a file, and with them reports and the owner's decisions.

    One that is not valid, or given twice, is refused with its place. `way` says how decisions count; empty: as each of
    them says.
    """
    how = JudgementOptions(question=question.ask.question)
    with _without_options():
        first = open_judgements(path, how)
        questions = {judgement.question for _, judgement in first.rows}
        questions = questions or {judgement.question for _, judgement in first.decisions}
    for (
        place,
        judgement,
    ) in first.reports:  # before the answers: none of them takes a report's place
        if judgement.answer not in question.ask.reports:
            answers.passed_reports[str(judgement.answer)] += 1
            answers.reported.add(find_item(judgement.example, answers.known))
        elif not answers.add(
            replace(
                judgement,
                example=find_item(judgement.example, answers.known),
                question=question.ask.question,
                kind="person",  # to the question it is the worker's answer
            )
        ):
            what = f"worker {judgement.worker} reports {judgement.example!r} twice, with different reasons"
            raise first.fault(place, what, "keep one report per worker and item")
    # a file may answer further questions, or call this one otherwise
    mine = questions & {question.ask.question} or questions
    reading = open_judgements(path, how)
    answers.columns |= reading.workers_are == "columns"
    for place, judgement in reading.rows:
        if judgement.answer is None or judgement.question not in mine:
            continue
        item = find_item(judgement.example, answers.known)
        if not is_person(judgement):
            answers.machines.append(
                replace(judgement, example=item, question=question.ask.question)
            )
            continue
        example, answer = answers.known.get(item), judgement.answer
        if example is not None:
            answer = unquote_cell(answer) if isinstance(answer, str) else answer
            try:
                answer = read_answer(answer, question, example)
            except ValueError as problem:
                ask = question.ask
                what = f"the answer about {example.id!r} does not fit: {problem}"
                words = f", or {list_names(ask.reports)}" if ask.reports else ""
                cure = f"the form {ask.form} accepts {ANSWER_SHAPES[ask.form]}{words}"
                raise reading.fault(place, what, cure) from None
            if (
                judgement.worker in answers.barred.get(item, ())
                and reading.workers_are != "columns"
            ):
                what = f"worker {judgement.worker} answered {list_names(question.ask.apart)} for {item!r} and may not judge it"
                raise reading.fault(place, what, "remove the answer and ask another worker")
        kept = msgspec.structs.replace(
            judgement, example=item, question=question.ask.question, answer=answer
        )
        if not answers.add(kept):
            what = f"worker {judgement.worker} answers {item!r} twice, with different answers"
            raise reading.fault(place, what, "keep one answer per worker and item")
    add_decisions(reading, question, answers, mine, way)


def add_decisions(
    reading: Reading, question: Question, answers: Answers, mine: Collection[str], way: str
) -> None:
    """Take the owner's decisions of a file, once its answers are read.

    `way` says how they count; empty: as each of them says.
    """
    ask = question.ask
    for place, judgement in reading.decisions:
        item = find_item(judgement.example, answers.known)
        if judgement.question not in (ask.question, *mine):
            continue
        if item not in answers.known:
            answers.unknown[item] = answers.unknown.get(item, 0) + 1
            continue
        try:
            answer = read_answer(judgement.answer, question, answers.known[item])
        except ValueError as problem:
            what = f"the decision about {item!r} does not fit: {problem}"
            cure = f"the form {ask.form} accepts {ANSWER_SHAPES[ask.form]}"
            raise reading.fault(place, what, cure) from None
        kind = KIND_OF_WAY[way] if way else judgement.kind
        decided = replace(
            judgement,
            example=item,
            question=ask.question,
            answer=answer,
            kind=kind,
            worker=name_decider(kind, name_person(judgement)),
        )
        chain = answers.decisions.setdefault(item, [])
        if decided not in chain:  # of an overlapping batch
            chain.append(decided)


def find_item(name: str, known: Container[str]) -> str:
    """The id of the item that a file calls by a name, which may be a guarded cell or a full reference."""
    plain = unquote_cell(name)
    names = (name, plain, REFERENCE.sub(r"\1", plain))
    return next((one for one in names if one in known), plain)


@contextmanager
def _without_options() -> Iterator[None]:
    """Let faults of a file speak of what can be done here: a build has no options for how files are
    read.
    """
    try:
        yield
    except BadInput as problem:
        if "--map" in problem.cure:
            cure = "name the columns example, worker and answer"
        elif "--encoding" in problem.cure:
            cure = "save it as UTF-8"
        else:
            raise
        raise BadInput(problem.what, file=problem.file, line=problem.line, cure=cure) from None


SIMULATED = "simulated-"
"""How the name of a simulated worker begins."""
MISSING = "missing.csv"
MAX_IDS_SHOWN = 5
"""Ids a message names."""


class Waiting(Record, frozen=True, kw_only=True):
    """An `Ask` whose answers are not all in."""

    ask: str
    file: str
    """Where the answers are looked for."""
    tasks: str
    """The task sheet that people fill in."""
    items: int
    workers: int
    """Number of answers needed per item."""
    lacking: int
    """Items that lack answers."""
    answers: int
    """Answers that are in."""
    wanted: int
    """Answers that are needed in all."""
    unknown: tuple[str, ...] = ()
    """Items answered about that are not among those asked: the first few."""
    reported: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Items that lack answers and that workers reported, so that a project may have set them aside: the first few; not
    present if there are no such items."""

    def __str__(self) -> str:
        had = f"{self.answers:,} of {self.wanted:,} answers received, {self.lacking:,} of {self.items:,} items are incomplete"
        sentence = f"waiting for judgements in {self.file} ({had}; the tasks are in {self.tasks})"
        if self.unknown:
            sentence += f"; unknown items: {', '.join(self.unknown)}"
        if self.reported:
            sentence += (
                f"; workers reported {', '.join(self.reported)}:"
                " decide or reopen the items that the project set aside, on the owner's pages"
            )
        return sentence


def collect_answers(store: Store, question: Ask, simulate: int | None) -> Done | Waiting:
    """Write the sheet of an `Ask` and take the answers, or make them where they are to be
    simulated.

    A build tried out with simulated workers has the sheets of a real one: they can be looked at before people are asked.

    Args:
        simulate: the seed of simulated workers, who answer where there is no file of answers; None for people alone.

    Returns:
        The answers if they are complete, else what is missing.

    Raises:
        BadInput: an answer does not fit, is given twice, or is by a worker who may not give it.
    """
    configured = Question(
        question,
        getattr(store.config, question.workers),
        getattr(store.config, question.texts, 1),
        getattr(store.config, question.settings.get("root_label", ""), ""),
    )
    files = answer_files(store, question)
    source: Any = (
        ["simulated", simulate]
        if simulate is not None and not files
        else [
            digest_file(part)
            for path in files
            for part in ([path] if path.is_file() else sorted(path.rglob("*")))
            if part.is_file()
        ]
    )
    others = [store.digest_of(name) for name in question.apart]
    way = store.config.decisions
    more = [way] if way and files else []
    key = store.key(question, configured.workers, configured.texts, source, *others, *more)
    assert key is not None
    done = store.done(question)
    has_sheet = (store.out / PEOPLE / question.name / SHEET).is_file()
    if done is not None and done.key == key and (has_sheet or not sum(done.read.values())):
        return done
    items = {example.id: example for name in question.reads for example in store.examples(name)}
    barred = barred_workers(store, question, items)
    answers = Answers(items, configured.workers, enough=question.enough, barred=barred)
    write_sheet(store, configured, list(items.values()))
    if done is not None and done.key == key:
        return done
    if simulate is not None and not files:
        simulate_answers(store, configured, answers, simulate)
    else:
        for path in files:
            read_answer_file(path, configured, answers, way)
        if (lacking := answers.lacking()) or (answers.unknown and not answers.given):
            return wait_for_answers(store, configured, answers, lacking, files)
        (store.out / PEOPLE / question.name / MISSING).unlink(missing_ok=True)
    return write_answers(store, configured, answers, key)


def barred_workers(
    store: Store, question: Ask, items: Mapping[str, Example]
) -> dict[str, set[str]]:
    """By item who answered the `Ask`s this one is kept apart from, about the item or what it was
    made of.
    """
    if not question.apart:
        return {}
    workers: dict[str, set[str]] = defaultdict(set)
    for ask in question.apart:
        for judgement in store.judgements(ask):
            workers[judgement.example].add(judgement.worker)
    barred = {}
    for name, example in items.items():
        parents = example.origin.parents if example.origin is not None else ()
        barred[name] = workers[name].union(*(workers[parent] for parent in parents))
    return barred


def simulate_answers(store: Store, question: Question, answers: Answers, seed: int) -> None:
    """Answers of simulated workers, who are drawn again for each item and have names that say so."""
    simulate = question.ask.simulate
    if simulate is None:
        raise BadInput(f"{question.ask.name} cannot be simulated", cure="provide answers of people")
    view = store.view(question.ask)
    for example in answers.known.values():
        barred = answers.barred.get(example.id, set())
        count = 2 * question.workers + len(barred)
        names = [f"{SIMULATED}{number:03}" for number in range(1, count + 1)]
        free = [name for name in names if name not in barred]
        for worker in seeded_random(seed, question.ask.name, example.id).sample(
            free, question.workers
        ):
            answer = simulate(
                example, view, seeded_random(seed, question.ask.name, example.id, worker)
            )
            answer = read_answer(answer, question, example)
            answers.add(
                Judgement(
                    example=example.id, worker=worker, question=question.ask.question, answer=answer
                )
            )


def wait_for_answers(
    store: Store,
    question: Question,
    answers: Answers,
    lacking: list[Example],
    files: Sequence[Path],
) -> Waiting:
    """Write a sheet of the items that lack answers, and say how far the work is.

    Raises:
        BadInput: no answer is about an item of the `Ask`.
    """
    place = store.out / PEOPLE / question.ask.name
    if answers.unknown and not answers.given:
        what = f"contains no item of this question, for example {next(iter(answers.unknown))!r}"
        raise BadInput(what, file=files[0], cure=f"answer about the items of {place / TASKS}")
    if answers.given:
        write_cells(place / MISSING, show_items(question.ask, lacking))
    reported = tuple(one.id for one in lacking if one.id in answers.reported)[:MAX_IDS_SHOWN]
    return Waiting(
        ask=question.ask.name,
        file=str(place / "answers.csv"),
        tasks=str(place / CELLS),
        items=len(answers.known),
        workers=question.workers,
        lacking=len(lacking),
        answers=answers.given,
        wanted=len(answers.known) * question.workers,
        unknown=tuple(list(answers.unknown)[:MAX_IDS_SHOWN]),
        reported=reported or msgspec.UNSET,
    )


def write_answers(store: Store, configured: Question, answers: Answers, key: str) -> Done:
    """Write the judgements into the folder of their stage, with the agreement of the workers."""
    question = configured.ask
    judged = list(answers.in_order())
    notes = []
    if answers.unknown:
        items = list_names(list(answers.unknown)[:MAX_IDS_SHOWN])
        notes.append(
            f"{sum(answers.unknown.values()):,} answers were about other items and were not counted: {items}"
        )
    if answers.decisions:
        notes.append(f"{len(answers.decisions):,} items were decided by the owner")
    if answers.machines:
        notes.append(f"{len(answers.machines):,} answers of models or simulations were not counted")
    if answers.over:
        notes.append(
            f"{answers.over:,} answers beyond {configured.workers} per item were not counted"
        )
    if answers.passed_reports:
        words = list_names([f"{word} x{n}" for word, n in sorted(answers.passed_reports.items())])
        takes = list_names(question.reports) if question.reports else "none"
        notes.append(
            f"reports of workers that were not counted: {words} (the question accepts {takes})"
        )
    with atomic_folder(store.folder(question), overwrite=True, inside=store.out) as folder:
        decisions = [one for chain in answers.decisions.values() for one in chain]
        lines = b"".join(encode_record(judgement) + b"\n" for judgement in (*judged, *decisions))
        (folder / f"{question.name}.jsonl").write_bytes(lines)
        done = Done(
            stage=question.name,
            key=key,
            read=counts_of(store, question),
            wrote={question.name: len(judged) or len(decisions)},
            digests={
                question.name: digest([judgement.example for judgement in judged], lines.decode())
            },
            nikawa=__version__,
            workers=len({judgement.worker for judgement in judged}),
            simulated=sum(judgement.worker.startswith(SIMULATED) for judgement in judged),
            columns=answers.columns,
            agreement=measure_agreement(question, judged, answers.known),
            machines=judge_machines(question, judged, answers),
            notes=tuple(notes),
        )
        (folder / RECORD).write_bytes(encode_json(done))
    return done


STRUCTURES = ("span-tagging", "tree", "dialogue-states", "reading-answers", "multiple-selection")
"""Forms whose answers have measures of their own."""
PLACES = 6
"""Decimals that are kept."""


def judge_machines(question: Ask, judged: Sequence[Judgement], answers: Answers) -> str:
    """A paragraph on models that answered the question too; empty where they cannot be compared with the workers."""
    from nikawa.aggregation.job import judge_machines as judge
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.trees import freeze_answers

    models = [row for row in answers.machines if find_answerer(row) == "machine"]
    if not models or not (ANSWER_READERS[question.form].votes or question.form in STRUCTURES):
        return ""
    votes, theirs = (
        [
            replace(row, answer=to_vote(row.answer, question))
            for row in rows
            if row.answer is not None and not is_report(row.answer, question)
        ]
        for rows in (judged, models)
    )
    if not votes:
        return ""
    table = Table.from_judgements(freeze_answers(votes))
    return judge(table, theirs, "columns" if answers.columns else "persons", votes)


def is_report(answer: Any, question: Ask) -> bool:
    """Whether an answer is a report that the question takes."""
    return isinstance(answer, str) and answer in question.reports


def measure_agreement(
    question: Ask, judged: Sequence[Judgement], items: Mapping[str, Example]
) -> tuple[Measured, ...]:
    """What can be measured of what several workers answered.

    For items that a worker reported, the other answers count.
    """
    from nikawa.aggregation.agree_job import AgreeOptions, measure_rows, text_lengths
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.trees import freeze_answers

    if not (ANSWER_READERS[question.form].votes or question.form in STRUCTURES):
        return ()
    votes = [replace(judgement, answer=to_vote(judgement.answer, question)) for judgement in judged]
    votes = [judgement for judgement in votes if judgement.answer is not None]
    table = Table.from_judgements(freeze_answers(votes)) if votes else None
    if table is None or not (table.per_item() > 1).any():
        return ()
    options = AgreeOptions(level=None if question.form == "scale" else "nominal")
    measures = []
    for row in measure_rows(table, options, text_lengths(table, items)):
        if row.value is None:
            continue
        measured = Measured(name=row.name, level=row.level, value=round(row.value, PLACES))
        low, high = (math.nan if n is None else round(n, PLACES) for n in (row.low, row.high))
        if math.isfinite(low) and math.isfinite(high):
            measured = replace(measured, low=low, high=high)
        measures.append(measured)
    return tuple(measures)
