"""Pre-labels: a machine's answers, with which the pages of workers are filled in on a random part of what they get.

This module fills the table `prelabels` with the answer of the machine to each item; `assignment.draw_prelabel` draws who
sees it, and `export.read_answers` writes both with the judgement. A control item gets a wrong answer: who accepts what
a machine says without a look is found by it. Workers cannot tell it from others, as it is filled in as often as they are:
where the machine answered only a part of the items, only such a part of the control items gets one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nikawa.collect.form import Answer
from nikawa.collect.imports import fit_judgements, list_questions
from nikawa.collect.permutation import draw_number, draw_share
from nikawa.collect.project import SETTINGS, Project
from nikawa.collect.store import BY_MACHINE, Store, decode_example
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions, open_judgements
from nikawa.records import Example, Judgement, name_kind
from nikawa.serve.database import Connection
from nikawa.serve.store import get_value, set_value

CONTROL = "control"
"""Whose answer the wrong one of a control item is."""
VERSION = "pre-labels"
"""The key of the value that tells whether the source has changed."""


def sync_prelabels(db: Connection, project: Project) -> None:
    """Take in the answers of the machine that project.toml names, where they have changed.

    What a worker has seen is kept elsewhere, as it was. Raises `BadInput` where the source is neither a machine nor a file,
    or the file has answers that the form does not take.
    """
    source = project.settings.prelabels.source
    if not source:
        return
    path = None if name_kind(source) != "person" else find_file(project, source)
    control = project.settings.prelabels.control
    (items,) = db.required("SELECT count(*) FROM items")
    version = f"{source}:{_version(db, source, path)}:{control}:{items}"
    if get_value(db, VERSION) == version:
        return
    if path is None:
        name, answers = source, read_machine(db, source)
    else:
        name, answers = read_file(db, project, path)
    kinds: dict[int, str] = {
        int(item): kind
        for item, kind in db.rows("SELECT id, kind FROM items WHERE kind <> 'pilot'")
    }
    rows = {
        item: (name if kinds[item] == "main" else CONTROL, answer)
        for item, answer in answers.items()
        if item in kinds and (kinds[item] == "main" or control == "wrong")
    }
    if control == "wrong":
        for item, answer in make_wrong_answers(db, project, list(answers.values())).items():
            rows.setdefault(item, (CONTROL, answer))
    spared = spared_items(kinds, rows, project)
    rows = {item: row for item, row in rows.items() if item not in spared}
    db.execute("DELETE FROM prelabels")
    encode = msgspec.json.Encoder(order="deterministic").encode
    db.load(
        "prelabels",
        "item, source, body",
        [(item, who, encode(answer).decode()) for item, (who, answer) in sorted(rows.items())],
    )
    set_value(db, VERSION, version)


def describe_prelabels(store: Store, project: Project) -> str:
    """What the owner should know before workers come: that no page can be filled in; else empty."""
    source = project.settings.prelabels.source
    if not source:
        return ""
    (filled,) = store.read(
        lambda db: db.required(
            "SELECT count(*) FROM prelabels p JOIN items i ON i.id = p.item WHERE i.kind = 'main'"
        )
    )
    if filled:
        return ""
    cure = f"import its judgements: nikawa collect import {project.folder} judged/judgements.jsonl"
    return f"[prelabels] no item has an answer of {source}, so no page is filled in; {cure}"


def spared_items(kinds: Mapping[int, str], answered: Collection[int], project: Project) -> set[int]:
    """The control items without an answer of the machine: as large a part of them as of the main items, by chance."""
    main = [item for item, kind in kinds.items() if kind == "main"]
    covered = sum(item in answered for item in main) / max(1, len(main))
    key, seed = project.draw_key, project.settings.assign.seed
    return {
        item
        for item, kind in kinds.items()
        if kind != "main" and draw_share(seed, "covered", item, key=key) >= covered
    }


def find_file(project: Project, source: str) -> Path:
    """The file of judgements that the settings name."""
    path = project.folder / source
    if not path.is_file():
        what = f"[prelabels] takes the answers of {source!r}, which is neither a machine nor a file in the project"
        cure = "name a machine whose judgements were imported, such as model:NAME#1, or put the file into the folder"
        raise BadInput(what, file=project.folder / SETTINGS, cure=cure)
    return path


def _version(db: Connection, source: str, path: Path | None) -> str:
    """What changes when the answers do."""
    if path is not None:
        facts = path.stat()
        return f"{facts.st_size}:{facts.st_mtime_ns}"
    (last,) = db.required(
        "SELECT coalesce(max(a.seq), 0) FROM answers a JOIN workers w ON w.id = a.worker WHERE w.name = ?",
        source,
    )
    return str(last)


def read_machine(db: Connection, name: str) -> dict[int, Answer]:
    """The answers of a machine that were imported, by the item's id."""
    rows = db.rows(
        "SELECT a.item, a.body FROM answers a JOIN workers w ON w.id = a.worker"
        " WHERE w.name = ? AND a.surplus = ? ORDER BY a.seq",
        name,
        BY_MACHINE,
    )
    return {int(item): msgspec.json.decode(body) for item, body in rows}


def read_file(db: Connection, project: Project, path: Path) -> tuple[str, dict[int, Answer]]:
    """The machine's name and its answers in a file of judgements, about main and control items, by the item's id."""
    how = JudgementOptions(question=next(iter(list_questions(project.form, project.options))))
    reading = open_judgements(path, how)
    items: dict[str, int] = {}

    def find(names: Collection[str]) -> Mapping[str, Example]:
        examples: dict[str, Example] = {}
        for item, ref, body in db.stream(
            "SELECT i.id, i.ref, t.body FROM items i JOIN texts t ON t.item = i.id"
            " WHERE i.kind IN ('main', 'gold') ORDER BY i.kind"
        ):
            if ref in names:
                items[ref], examples[ref] = int(item), decode_example(body)
        return examples

    by_item: dict[str, list[Judgement]] = {}
    for _, judgement in fit_judgements(project, reading, find):
        by_item.setdefault(judgement.example, []).append(judgement)
    workers = {judgement.worker for rows in by_item.values() for judgement in rows}
    if len(workers) > 1:
        what = f"has answers of {len(workers)} workers: {', '.join(sorted(workers)[:3])}"
        raise BadInput(what, file=path, cure="keep the answers of one machine")
    worker = next(iter(workers), path.stem)
    name = worker if name_kind(worker) != "person" else f"model:{worker}"
    join = project.form.from_judgements
    return name, {
        items[ref]: join([(one.question, one.answer) for one in rows])
        for ref, rows in by_item.items()
    }


def make_wrong_answers(
    db: Connection, project: Project, answers: list[Answer]
) -> dict[int, Answer]:
    """A wrong answer to each control item for which the form knows one, by the item's id.

    `answers` are those of the machine: a question that it does not answer is not filled in here either, and one that the
    gold says nothing about gets its most frequent answer. Else a worker could tell control items by what is filled in.
    """
    usual: dict[str, Counter[str]] = {}
    for answer in answers:
        for question, value in answer.items():
            text = msgspec.json.encode(value, order="deterministic").decode()
            usual.setdefault(question, Counter())[text] += 1
    wrong: dict[int, Answer] = {}
    for item, ref, body, gold in db.rows(
        "SELECT i.id, i.ref, t.body, t.gold FROM items i JOIN texts t ON t.item = i.id"
        " WHERE i.kind = 'gold' ORDER BY i.id"
    ):
        made = make_wrong_answer(
            project, ref, decode_example(body), msgspec.json.decode(gold), usual
        )
        if made is not None:
            wrong[int(item)] = made
    return wrong


def make_wrong_answer(
    project: Project,
    ref: str,
    example: Example,
    gold: Mapping[str, Any],
    usual: Mapping[str, Counter[str]],
) -> Answer | None:
    """An answer that the form takes and that is wrong by the gold; None where the form has no way to make one."""
    form, options = project.form, project.options
    key, seed = project.draw_key, project.settings.assign.seed
    candidates: list[Answer | None]
    if form.mislead is not None:
        chance = draw_share(seed, "wrong", ref, key=key)
        candidates = [form.mislead(gold, example, options, chance)]
    elif form.offers is not None:
        candidates = []
        offers = form.offers(example, options)
        main = next((question for question in offers if question in gold), None)
        if main is None:
            return None
        rest = {
            question: msgspec.json.decode(usual[question].most_common(1)[0][0])
            for question in offers
            if question != main and question in usual
        }
        offer = offers[main]
        for value in sorted(
            offer.values, key=lambda one: draw_number(seed, "wrong", ref, one, key=key)
        ):
            candidates.append({main: [value] if offer.is_ranking else value, **rest})
    else:
        return None
    for answer in candidates:
        if answer is None or form.gold_matches(answer, gold, options):
            continue
        problems = form.validate(answer, example, options)
        if not any(not problem.warning and problem.where in answer for problem in problems):
            return answer
    return None
