"""The steps of a build where people answer: task sheets out, judgements in, checked for completeness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, listed
from nikawa.io.atomic import atomic_folder
from nikawa.io.fit import fit
from nikawa.io.json import encode_json
from nikawa.recipes.answers import Answers, answer_files, take_file
from nikawa.recipes.decide import chance
from nikawa.recipes.forms import Asked, read_answer
from nikawa.recipes.recipe import Ask
from nikawa.recipes.sheet import CELLS, TASKS, write_cells, write_sheet
from nikawa.recipes.store import PEOPLE, RECORD, Done, Store, counts_of, digest, digest_file
from nikawa.records import Example, Judgement, Record
from nikawa.version import __version__

SIMULATED = "simulated-"
"""How the name of a simulated worker begins."""
MISSING = "missing.csv"
SHOWN = 5
"""Ids a message names."""


class Waiting(Record, frozen=True, kw_only=True):
    """An `Ask` whose answers are not all in."""

    ask: str
    file: str
    """Where the answers are looked for."""
    tasks: str
    items: int
    workers: int
    lacking: int
    """Items that lack answers."""
    answers: int
    """Answers that are in."""
    wanted: int
    unknown: tuple[str, ...] = ()
    """Items answered about that are not among those asked: the first few."""

    def __str__(self) -> str:
        had = f"{self.answers:,} of {self.wanted:,} answers are in, {self.lacking:,} of {self.items:,} items lack some"
        said = f"waiting for judgements in {self.file} ({had}; the tasks are in {self.tasks})"
        return said + (f"; unknown items: {', '.join(self.unknown)}" if self.unknown else "")


def ask(store: Store, question: Ask, simulate: int | None) -> Done | Waiting:
    """Write the sheet of an `Ask` and take the answers, or make them where they are to be simulated."""
    asked = Asked(
        question, getattr(store.config, question.workers), getattr(store.config, question.texts, 1)
    )
    files = answer_files(store, question)
    source: Any = ["simulated", simulate] if simulate is not None and not files else _digests(files)
    others = [store.digest_of(name) for name in question.apart]
    key = store.key(question, asked.workers, asked.texts, source, *others)
    assert key is not None
    done = store.done(question)
    if done is not None and done.key == key:
        return done
    items = {example.id: example for name in question.reads for example in store.examples(name)}
    answers = Answers(items, asked.workers, barred=_barred(store, question, items))
    if simulate is not None and not files:
        _simulated(store, asked, answers, simulate)
    else:
        write_sheet(store, asked, list(items.values()))
        for path in files:
            take_file(path, asked, answers)
        if (lacking := answers.lacking()) or (answers.unknown and not answers.given):
            return _waiting(store, asked, answers, lacking, files)
        (store.out / PEOPLE / question.name / MISSING).unlink(missing_ok=True)
    return _finish(store, asked, answers, key)


def _barred(store: Store, question: Ask, items: Mapping[str, Example]) -> dict[str, set[str]]:
    """By item who answered the `Ask`s this one is kept apart from, about the item or what it was made of."""
    if not question.apart:
        return {}
    took: dict[str, set[str]] = {}
    for judgement in (judgement for name in question.apart for judgement in store.judgements(name)):
        took.setdefault(judgement.example, set()).add(judgement.worker)
    found = {}
    for name, example in items.items():
        line = (name, *(example.origin.parents if example.origin is not None else ()))
        found[name] = {worker for one in line for worker in took.get(one, ())}
    return found


def _digests(files: Sequence[Path]) -> list[str]:
    return [digest_file(path) for path in files]


def _simulated(store: Store, asked: Asked, answers: Answers, seed: int) -> None:
    """Answers of made-up workers, who are drawn anew for each item and named for what they are."""
    simulate = asked.ask.simulate
    if simulate is None:
        raise BadInput(f"{asked.ask.name} cannot be simulated", cure="give the answers of people")
    view = store.view(asked.ask)
    for example in answers.known.values():
        barred = answers.barred.get(example.id, set())
        names = [
            f"{SIMULATED}{number:03}" for number in range(1, 2 * asked.workers + len(barred) + 1)
        ]
        free = [name for name in names if name not in barred]
        for worker in chance(seed, asked.ask.name, example.id).sample(free, asked.workers):
            answer = simulate(example, view, chance(seed, asked.ask.name, example.id, worker))
            answer = read_answer(answer, asked, example)
            answers.add(
                Judgement(
                    example=example.id, worker=worker, question=asked.ask.question, answer=answer
                )
            )


def _waiting(
    store: Store, asked: Asked, answers: Answers, lacking: list[Example], files: Sequence[Path]
) -> Waiting:
    place = store.out / PEOPLE / asked.ask.name
    if answers.unknown and not answers.given:
        what = f"none of its items was asked about, such as {next(iter(answers.unknown))!r}"
        raise BadInput(what, file=files[0], cure=f"answer about the items of {place / TASKS}")
    if answers.given:
        write_cells(place / MISSING, lacking)
    return Waiting(
        ask=asked.ask.name,
        file=str(place / "answers.csv"),
        tasks=str(place / CELLS),
        items=len(answers.known),
        workers=asked.workers,
        lacking=len(lacking),
        answers=answers.given,
        wanted=len(answers.known) * asked.workers,
        unknown=tuple(list(answers.unknown)[:SHOWN]),
    )


def _finish(store: Store, asked: Asked, answers: Answers, key: str) -> Done:
    from nikawa.recipes.agreement import agreement

    question = asked.ask
    judged = list(answers.in_order())
    with atomic_folder(store.folder(question), overwrite=True) as folder:
        lines = b"".join(fit(judgement)[0] + b"\n" for judgement in judged)
        (folder / f"{question.name}.jsonl").write_bytes(lines)
        done = Done(
            stage=question.name,
            key=key,
            read=counts_of(store, question),
            wrote={question.name: len(judged)},
            digests={
                question.name: digest([judgement.example for judgement in judged], lines.decode())
            },
            nikawa=__version__,
            workers=len({judgement.worker for judgement in judged}),
            simulated=sum(judgement.worker.startswith(SIMULATED) for judgement in judged),
            columns=answers.columns,
            agreement=agreement(question, judged, answers.known),
            notes=tuple(_notes(answers, asked.workers)),
        )
        (folder / RECORD).write_bytes(encode_json(done))
    return done


def _notes(answers: Answers, workers: int) -> Iterator[str]:
    if answers.unknown:
        named = listed(list(answers.unknown)[:SHOWN])
        yield f"{sum(answers.unknown.values()):,} answers were about items not asked about and not counted: {named}"
    if answers.over:
        yield f"{answers.over:,} answers beyond {workers} an item were not counted"
