"""Describe the tasks of a dataset for export: rows, rendered prompts, few-shot examples and the options of the prompt.

The prompts are those of `chat:` and `lm:` models. Few-shot examples are drawn from train by seed. A training example with the
inputs of an exported item is never drawn, so all items get the same few-shot examples, in every tool.

A row has the id and the inputs of the task under their own names, and in addition:

| field | content |
|---|---|
| `gold` | the gold answer as JSON text; missing if the label is hidden |
| `nikawa_prompt` | the question, rendered |
| `nikawa_answer` | the gold answer in the form that the prompt asks for; empty if hidden |
| `nikawa_choices`, `nikawa_target` | the keys to choose from and the place of the right one (-1 if hidden), for kinds with closed answers |
| `nikawa` | the options of the prompt as JSON text, from which `nikawa score` knows how to read the replies in the tool's log |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from nikawa.datasets.task_lookup import dataset_title
from nikawa.errors import BadInput
from nikawa.exchange.base import (
    ANSWER,
    CHOICES,
    NOTE,
    PROMPT,
    TARGET,
    Row,
    TaskExport,
    Tool,
    plain_name,
)
from nikawa.models.chat.conversation import detect_language
from nikawa.models.chat.prompts import Template, draw_shots, find_template
from nikawa.models.chat.questions import QUESTIONS, Questions
from nikawa.records import CLASS_KINDS, Dataset, Example, Task

TRAIN = "train"
NOTE_VERSION = 1
"""The version of the note in every row."""
RESERVED = ("id", "gold", PROMPT, ANSWER, CHOICES, TARGET, NOTE)


def describe_task(
    dataset: Dataset,
    task: Task,
    splits: Sequence[str],
    *,
    shots: int = 0,
    seed: int = 0,
    prompt: str = "",
    tool: Tool,
) -> TaskExport:
    """Render the items of some splits; raises BadInput if the tool cannot ask the task."""
    if task.kind not in tool.kinds:
        raise BadInput(f"{tool.name} cannot run {task.kind} tasks: {tool.refused[task.kind]}")
    if tool.metrics is not None and not tool.metrics.keys() & set(task.metrics):
        raise BadInput(
            f"{tool.name} cannot score {task.name}: it has none of its metrics ({', '.join(task.metrics)})"
        )
    if taken := [name for name in task.inputs if name in RESERVED]:
        raise BadInput(
            f"the input {taken[0]!r} has a name that exports use", cure="rename the input"
        )
    items = {
        split: [example for example in dataset.splits[split] if task.asks(example)]
        for split in splits
    }
    items = {split: examples for split, examples in items.items() if examples}
    if not items:
        raise BadInput(f"no split has items of the task {task.name}", cure="name another split")
    everything = [example for examples in items.values() for example in examples]
    pool = choose_pool(task, dataset.splits.get(TRAIN, ()), items)
    if shots > len(pool):
        where = f"{len(pool)} examples" if TRAIN in dataset.splits else "no train split"
        raise BadInput(
            f"{shots} few-shot examples were requested, but {dataset.name} has {where} to draw from",
            cure="pass a smaller --shots",
        )
    language, template = choose_prompt(dataset, task, everything, prompt)
    questions = QUESTIONS[task.kind](task, template, language, pool)
    offer = describe_offer(questions)
    note = json.dumps({"export": NOTE_VERSION, "offer": offer}, ensure_ascii=False, sort_keys=True)
    rows = {
        split: tuple(make_row(questions, example, note) for example in examples)
        for split, examples in items.items()
    }
    for split, own in rows.items():
        if tool.needs_gold and not all("gold" in row for row in own):
            raise BadInput(
                f"{tool.name} cannot run {split}, whose labels are hidden: it has no place for items without labels",
                cure="name a split with labels",
            )
    title = dataset_title(task.dataset)
    name = f"nikawa_{plain_name(task.name)}"
    return TaskExport(
        name=name,
        task=task,
        title=title,
        version=dataset.version,
        card=dataset.card,
        language=language,
        prompt=template.name,
        system=template.fill("system", questions.common_slots()),
        shots=tuple(
            make_row(questions, shot, note) for shot in draw_shots(task, pool, shots, seed)[:shots]
        ),
        seed=seed,
        splits=rows,
        offer=offer,
        max_tokens=questions.tokens,
    )


def choose_prompt(
    dataset: Dataset, task: Task, examples: Sequence[Example], path: str
) -> tuple[str, Template]:
    """The language of the prompt and the prompt: that of the texts, as `chat:` models choose it, else that of the dataset."""
    language = detect_language(task, examples)
    for name in (language, dataset.language):
        with suppress(BadInput):
            return name, find_template(task, name, path)
    if path:
        find_template(task, language, path)  # says what is wrong with the file
    raise BadInput(
        f"there is no prompt for {task.kind} tasks in {language!r}",
        cure="pass a prompt file with --prompt (in Python: prompt=FILE); see docs/chat.md",
    )


def choose_pool(
    task: Task, train: Sequence[Example], items: Mapping[str, Sequence[Example]]
) -> list[Example]:
    """The training examples with a label, without those whose inputs an exported item has."""

    def inputs(example: Example) -> bytes:
        return msgspec.json.encode([example.inputs.get(name) for name in task.inputs])

    evaluated = {inputs(example) for examples in items.values() for example in examples}
    return [
        example
        for example in train
        if task.asks(example) and task.question in example.gold and inputs(example) not in evaluated
    ]


def describe_offer(questions: Questions) -> dict[str, Any]:
    """The options of the prompt as JSON holds them, without empty fields."""
    offer = questions.offer()
    fields: dict[str, Any] = {
        "keys": list(offer.keys),
        "words": dict(offer.words),
        "scale": list(offer.scale) if offer.scale else None,
        "no_answer": offer.no_answer,
        "slots": list(offer.slots),
    }
    return {name: value for name, value in fields.items() if value}


def make_row(questions: Questions, example: Example, note: str) -> Row:
    """One item as the data files of tools hold it."""
    task = questions.task
    inputs = msgspec.to_builtins({name: example.inputs[name] for name in task.inputs})
    row: Row = {"id": example.id, **inputs}
    gold = example.gold.get(task.question)
    if gold is not None and not example.hidden:
        row["gold"] = json.dumps(msgspec.to_builtins(gold), ensure_ascii=False)
        row[ANSWER] = questions.format_gold(example, gold, as_json=False)
    else:
        gold, row[ANSWER] = None, ""
    row[PROMPT] = questions.template.fill("user", questions.slots(example))
    if task.kind in CLASS_KINDS:
        options = questions.options(example)
        assert options is not None, "a closed question has options"
        row[CHOICES] = list(options.keys)
        row[TARGET] = -1 if gold is None else options.values.index(gold)
    row[NOTE] = note
    return row
