"""Tasks for inspect: one Python file per task, with one `@task` per split.

A sample is the whole conversation: instruction, few-shot examples, question. The scorer judges the reply, and one metric computes
all official figures over the judged replies of the log, so `inspect score` can compute them again.
"""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.exchange.base import (
    ANSWER,
    PROMPT,
    TaskExport,
    Tool,
    ToolExport,
    data_file,
    write_module,
    write_rows,
)
from nikawa.exchange.readme import write_readme

IMPORTS = (
    "from inspect_ai import Task as InspectTask",
    "from inspect_ai import task",
    "from inspect_ai.dataset import MemoryDataset, Sample",
    "from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig",
    "from inspect_ai.scorer import SampleScore, Score, metric, scorer",
    "from inspect_ai.solver import generate",
)
GLUE = f'''
def read_rows(name):
    """The rows of a data file."""
    with open(FOLDER / name, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def make_samples(rows, shots, system):
    """The conversation of each row: instruction, few-shot examples, question."""
    before = [ChatMessageSystem(content=system)] if system else []
    for shot in read_rows(shots) if shots else ():
        before.append(ChatMessageUser(content=shot["{PROMPT}"]))
        before.append(ChatMessageAssistant(content=shot["{ANSWER}"]))
    return [
        Sample(
            id=row["id"],
            input=[*before, ChatMessageUser(content=row["{PROMPT}"])],
            target=row["{ANSWER}"],
            metadata=row,
        )
        for row in read_rows(rows)
    ]


@metric
def official():
    """The official metrics over all samples, and the share of unread replies."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return SCORER.summarise([one.score.metadata["item"] for one in scores])

    return compute


@scorer(metrics=[official()])
def judge_reply():
    """Reads the reply; the metrics are computed over all replies."""

    async def judge(state, target):
        item = SCORER.judge(state.metadata, state.output.completion)
        answer = item["answer"]
        return Score(
            value=SCORER.mark(item),
            answer=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
            explanation=item["why"],
            metadata={{"item": item}},
        )

    return judge
'''


def write(export: ToolExport) -> Iterator[tuple[str, str]]:
    """The files of an export."""
    commands = []
    for own in export.tasks:
        glue = GLUE
        shots = data_file(f"{own.name}_shots") if own.shots else ""
        if shots:
            yield shots, write_rows(own.shots)
        for split, rows in own.splits.items():
            name = own.split_name(split)
            yield data_file(name), write_rows(rows)
            glue += write_task(own, split, shots)
            commands.append((own, split, name))
        module = write_module(own, f"inspect {export.tool_version}", glue, IMPORTS)
        yield f"{own.name}.py", module
    yield "README.md", write_readme(export, "inspect", commands, run_lines, list_notes, "logs")


def write_task(own: TaskExport, split: str, shots: str) -> str:
    """The function of a split."""
    name = own.split_name(split)
    about: dict[str, object] = {"dataset": own.title, "split": split, "seed": own.seed}
    if own.is_hidden(split):
        about["labels"] = f"hidden; submit the log: {own.card.homepage}"
    return f'''

@task
def {name}():
    """{own.task.name} on {split}."""
    return InspectTask(
        dataset=MemoryDataset(
            make_samples({data_file(name)!r}, {shots!r}, {own.system!r}), name={name!r}
        ),
        solver=generate(),
        scorer=judge_reply(),
        config=GenerateConfig(temperature=0, max_tokens={own.max_tokens}),
        version={own.version!r},
        metadata={about!r},
    )
'''


def run_lines(own: TaskExport, split: str, name: str) -> list[str]:
    """The command that runs a task."""
    return [f"inspect eval {own.name}.py@{name} --model PROVIDER/MODEL"]


def list_notes(export: ToolExport) -> list[str]:
    """What a user of the tool must know in addition."""
    return [
        "Limits of tokens are for short answers. For a model that thinks before it answers, add `--max-tokens 8192`.",
        "Run one epoch. The metrics are over items, and inspect reduces several epochs to the first reply of an item.",
    ]


TOOL = Tool(
    name="inspect",
    about="tasks for inspect: Python, data, scorer",
    versions=("0.3.285",),
    write=write,
)
