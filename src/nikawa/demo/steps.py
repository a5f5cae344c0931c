"""What each step of the tour does: plain data comes out, how it is shown is the caller's affair."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from nikawa.datasets import benchmarks, load, read_judgements, suites, tasks_of
from nikawa.records import Dataset, Example, Record, Task, reference

DATASETS = suites()["demo"]
SENTENCES = {"ja": "祖母の庭では、もう梅が咲き始めていた。", "ko": "어젯밤부터 눈이 펑펑 쏟아졌다."}
PAGE = "report/index.html"
"""The page of the report, in the folder of the tour."""
LONGEST = 32
"""Characters of an input that are shown."""


class Table(Record, frozen=True, kw_only=True):
    """Rows to be shown under column names."""

    title: str = ""
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    numbers: tuple[str, ...] = ()
    """The columns that hold numbers."""


class Outcome(Record, frozen=True, kw_only=True):
    """What came of a step: tables and lines for people, figures for programs."""

    tables: tuple[Table, ...] = ()
    lines: tuple[str, ...] = ()
    figures: dict[str, Any] = msgspec.field(default_factory=dict)


def list_tasks() -> Outcome:
    """The tasks of the embedded datasets and how many examples each has."""
    data = {name: load(name) for name in DATASETS}
    tasks = tasks_of("demo")
    rows = tuple(
        (task.name, task.kind, *_sizes(task, data[task.dataset]), ", ".join(task.metrics))
        for task in tasks
    )
    table = Table(
        columns=("task", "kind", "train", "dev", "test", "metrics"),
        rows=rows,
        numbers=("train", "dev", "test"),
    )
    return Outcome(
        tables=(table,),
        figures={"tasks": len(tasks), "examples": sum(len(d) for d in data.values())},
    )


def _sizes(task: Task, dataset: Dataset) -> Iterator[int]:
    for split in ("train", "dev", "test"):
        yield sum(task.asks(example) for example in dataset.splits[split])


def show_examples() -> Outcome:
    """The first dev example of each task."""
    tables = tuple(_examples_table(name) for name in DATASETS)
    return Outcome(tables=tables, figures={"shown": sum(len(table.rows) for table in tables)})


def _examples_table(name: str) -> Table:
    dev = load(f"{name}:dev").splits["dev"]
    rows = []
    for task in benchmarks()[name].tasks:
        example = next(example for example in dev if task.asks(example))
        inputs = "\n".join(_shown(example.inputs[field]) for field in task.inputs)
        rows.append((task.kind, example.id, inputs, _gold(task, example)))
    return Table(title=name, columns=("kind", "id", "what a model sees", "gold"), rows=tuple(rows))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else " / ".join(map(str, value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _gold(task: Task, example: Example) -> str:
    gold = example.gold[task.question]
    match task.kind:
        case "choice":
            return str(example.inputs["choices"][gold])
        case "reading":
            return "\n".join(answer["text"] for answer in gold) or "(no answer)"
        case "tagging":
            text = example.inputs["text"]
            return "\n".join(f"{span.label} {text[span.start : span.end]}" for span in gold)
        case _:
            return str(gold)


def check_data() -> Outcome:
    """Check both datasets by themselves: whatever is in the user's data folder stays out of it."""
    from nikawa.checks.job import check

    with TemporaryDirectory(prefix="nikawa-demo-") as empty:
        reports = [check(name, Path(empty)) for name in DATASETS]
    rows = tuple(
        (r.dataset, sum(r.sizes.values()), len(r.findings), sum(not f.known for f in r.findings))
        for r in reports
    )
    found = sorted({finding.check for report in reports for finding in report.findings})
    columns = ("dataset", "examples", "findings", "of them new")
    return Outcome(
        tables=(Table(columns=columns, rows=rows, numbers=columns[1:]),),
        lines=(f"Found: {', '.join(found)}" if found else "Nothing to complain of.",),
        figures={"findings": {report.dataset: len(report.findings) for report in reports}},
    )


def weigh_judgements() -> Outcome:
    """How near each simulated worker is to gold, and whether gold follows from all of them."""
    tables, figures = [], {}
    for name in DATASETS:
        gold = _all_gold(name)
        rows, remade = _workers(name, gold)
        columns = ("worker", "inference: agrees with gold", "similarity: mean distance")
        tables.append(Table(title=name, columns=columns, rows=tuple(rows), numbers=columns[1:]))
        figures[name] = {"judged": remade[1], "gold_remade": remade[0]}
    told = ", ".join(
        f"{f['gold_remade']} of {f['judged']} in {name}" for name, f in figures.items()
    )
    lines = (
        "The workers are simulated; no person was asked.",
        f"Gold made again by majority and mean: {told}.",
    )
    return Outcome(tables=tuple(tables), lines=lines, figures=figures)


def _all_gold(name: str) -> dict[tuple[str, str], Any]:
    return {
        (reference(name, split, example.id), question): value
        for split, examples in load(name).splits.items()
        for example in examples
        for question, value in example.gold.items()
    }


def _workers(
    name: str, gold: dict[tuple[str, str], Any]
) -> tuple[list[tuple[str, str, str]], tuple[int, int]]:
    """A row a worker, and how many items' gold follows from the answers, of how many."""
    near: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    answers: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for judgement in read_judgements(name):
        key = (judgement.example, judgement.question)
        answers[key].append(judgement.answer)
        label = judgement.question == "label"
        value = judgement.answer == gold[key] if label else abs(judgement.answer - gold[key])
        near[judgement.worker][judgement.question].append(float(value))
    rows = [
        (w, f"{fmean(n['label']):.0%}", f"{fmean(n['score']):.2f}") for w, n in sorted(near.items())
    ]
    remade = sum(_aggregate(key[1], given) == gold[key] for key, given in answers.items())
    return rows, (remade, len(answers))


def _aggregate(question: str, answers: Iterable[Any]) -> Any:
    """The commonest label, or the mean score to one decimal."""
    if question == "label":
        return Counter(answers).most_common(1)[0][0]
    return round(fmean(answers), 1)


def analyse_sentences() -> Outcome:
    """A Japanese and a Korean sentence as morphemes."""
    from nikawa.text import analyser

    tables, figures = [], {}
    for language, sentence in SENTENCES.items():
        tool = analyser(language)
        tokens = tool.analyse(sentence)
        rows = tuple(
            (t.surface, t.base, " ".join(_fields(t.pos)), f"{t.start}–{t.end}") for t in tokens
        )
        tables.append(
            Table(
                title=sentence, columns=("surface", "base", "part of speech", "offsets"), rows=rows
            )
        )
        figures[language] = {"analyser": tool.name, "tokens": len(tokens)}
    told = ", ".join(f"{f['analyser']} for {language}" for language, f in figures.items())
    return Outcome(tables=tuple(tables), lines=(f"Analysed by {told}.",), figures=figures)


def _fields(pos: Iterable[str]) -> list[str]:
    return [field for field in pos if field not in ("", "*")][:2]


def write_and_read_back() -> Outcome:
    """Write a dataset folder, load it again, compare."""
    from nikawa.io.folders import write_folder

    dataset = load("mini-ja")
    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        copy = Path(folder) / "mini-ja-copy"
        write_folder(dataset, copy)
        rows = tuple((file.name, file.stat().st_size) for file in sorted(copy.iterdir()))
        same = load(str(copy)).splits == dataset.splits
    told = "Read back: every example is the same." if same else "Read back: the examples differ."
    table = Table(columns=("file", "bytes"), rows=rows, numbers=("bytes",))
    return Outcome(tables=(table,), lines=(told,), figures={"files": len(rows), "same": same})


def where_next(out: Path) -> Outcome:
    """What to type next, and what the tour leaves to open."""
    rows = (
        ("nikawa collect demo", "annotation pages for workers, served on the mini-benchmark"),
        ("nikawa data list", "what exists and what is on this machine"),
        ("nikawa data show mini-ko --card", "where a dataset comes from, and its known problems"),
        ("nikawa data fetch jnli", "get a published dataset"),
        ("nikawa reproduce jglue", "recompute the figures its paper prints"),
    )
    page = out / PAGE
    lines = (f"The report of this tour: {page}",) if page.is_file() else ()
    return Outcome(tables=(Table(columns=("type", "to see"), rows=rows),), lines=lines)
