"""The steps of the tour: each returns plain data, and the caller shows it.

A step is a function that returns an `Outcome`. One that leaves something behind takes the folder of
the tour, in which it finds what earlier steps left: the generated benchmark in `temporal/`, the
runs on it in `runs/`.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace as restruct

from nikawa.datasets import benchmarks, load, read_judgements, suites, tasks, tasks_of
from nikawa.io.atomic import atomic_write
from nikawa.io.folders import JUDGEMENTS, is_dataset_folder, write_card
from nikawa.io.json import encode_json
from nikawa.records import Example, Judgement, Record, Task, reference
from nikawa.runs.store import PREDICTIONS

if TYPE_CHECKING:
    from nikawa.generation.job import GenerateReport
    from nikawa.runs.summary import RunCell


DATASETS = suites()["demo"]
"""The embedded datasets, one a language."""
SENTENCES = {"ja": "祖母の庭では、もう梅が咲き始めていた。", "ko": "어젯밤부터 눈이 펑펑 쏟아졌다."}
PAGE = "report/index.html"
"""The page of the report, in the folder of the tour."""
MAX_INPUT_CHARS = 32
"""Characters of an input that are shown."""


class Table(Record, frozen=True, kw_only=True):
    """Rows to be shown under column names."""

    title: str = ""
    """Shown above it, where there is one."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """A cell a column, in their order; a cell may have several lines."""
    numbers: tuple[str, ...] = ()
    """The columns that hold numbers."""


def tabulate(
    columns: Sequence[str],
    rows: Iterable[tuple[Any, ...]],
    numbers: Sequence[str] = (),
    title: str = "",
) -> Table:
    """A table of rows in whatever they were gathered."""
    return Table(title=title, columns=tuple(columns), rows=tuple(rows), numbers=tuple(numbers))


class Outcome(Record, frozen=True, kw_only=True):
    """The result of a step: tables and lines for people, figures for programs."""

    tables: tuple[Table, ...] = ()
    lines: tuple[str, ...] = ()
    """Sentences shown below the tables."""
    figures: dict[str, Any] = msgspec.field(default_factory=dict)
    """Plain values that `nikawa demo --json` prints."""


def list_tasks() -> Outcome:
    """The tasks of the embedded datasets and how many examples each has."""
    data = {name: load(name) for name in DATASETS}
    tasks = tasks_of("demo")
    splits = ("train", "dev", "test")
    rows = []
    for task in tasks:
        examples = data[task.dataset].splits
        sizes = [sum(map(task.asks, examples[split])) for split in splits]
        rows.append((task.name, task.kind, *sizes, ", ".join(task.metrics)))
    table = tabulate(("task", "kind", *splits, "metrics"), rows, splits)
    count = sum(len(dataset) for dataset in data.values())
    return Outcome(tables=(table,), figures={"tasks": len(tasks), "examples": count})


def show_examples() -> Outcome:
    """The first dev example of each task."""
    columns = ("kind", "id", "what a model sees", "gold")
    tables = []
    for name in DATASETS:
        dev = load(f"{name}:dev").splits["dev"]
        rows = []
        for task in benchmarks()[name].tasks:
            example = next(example for example in dev if task.asks(example))
            inputs = "\n".join(shorten(example.inputs[field]) for field in task.inputs)
            rows.append((task.kind, example.id, inputs, format_gold(task, example)))
        tables.append(tabulate(columns, rows, title=name))
    count = sum(len(table.rows) for table in tables)
    return Outcome(tables=tuple(tables), figures={"shown": count})


def shorten(value: Any) -> str:
    """An input on one short line; the parts of a list with slashes between them."""
    text = value if isinstance(value, str) else " / ".join(map(str, value))
    return text if len(text) <= MAX_INPUT_CHARS else f"{text[: MAX_INPUT_CHARS - 1]}…"


def format_gold(task: Task, example: Example) -> str:
    """The gold answer as a reader sees it: the text of a choice, the words of spans, one a line."""
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
    rows, counts, checks = [], {}, set()
    for report in reports:
        new = sum(not finding.known for finding in report.findings)
        counts[report.dataset] = len(report.findings)
        rows.append((report.dataset, sum(report.sizes.values()), len(report.findings), new))
        checks |= {finding.check for finding in report.findings}
    line = f"Found: {', '.join(sorted(checks))}" if checks else "No problems found."
    columns = ("dataset", "examples", "findings", "of them new")
    table = tabulate(columns, rows, columns[1:])
    return Outcome(tables=(table,), lines=(line,), figures={"findings": counts})


def weigh_judgements() -> Outcome:
    """How near each simulated worker is to gold, and whether gold follows from all of them."""
    columns = ("worker", "inference: agrees with gold", "similarity: mean distance")
    tables, figures, remade = [], {}, []
    for name in DATASETS:
        gold = {
            (reference(name, split, example.id), question): value
            for split, examples in load(name).splits.items()
            for example in examples
            for question, value in example.gold.items()
        }
        near: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        answers: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for judgement in read_judgements(name):
            key = (judgement.example, judgement.question)
            answers[key].append(judgement.answer)
            near_here = near[judgement.worker][judgement.question]
            if judgement.question == "label":
                near_here.append(float(judgement.answer == gold[key]))
            else:
                near_here.append(abs(judgement.answer - gold[key]))
        rows = []
        for worker, values in sorted(near.items()):
            agreement, distance = fmean(values["label"]), fmean(values["score"])
            rows.append((worker, f"{agreement:.0%}", f"{distance:.2f}"))
        tables.append(tabulate(columns, rows, columns[1:], title=name))
        same = sum(aggregate_answers(key[1], each) == gold[key] for key, each in answers.items())
        figures[name] = {"judged": len(answers), "gold_remade": same}
        remade.append(f"{same} of {len(answers)} in {name}")
    lines = (
        "The workers are simulated; no person was asked.",
        f"Gold computed again by majority and mean: {', '.join(remade)}.",
    )
    return Outcome(tables=tuple(tables), lines=lines, figures=figures)


def aggregate_answers(question: str, answers: Iterable[Any]) -> Any:
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
        rows = []
        for token in tokens:
            fields = [field for field in token.pos if field not in ("", "*")]
            offsets = f"{token.start}–{token.end}"
            rows.append((token.surface, token.base, " ".join(fields[:2]), offsets))
        columns = ("surface", "base", "part of speech", "offsets")
        tables.append(tabulate(columns, rows, title=sentence))
        figures[language] = {"analyser": tool.name, "tokens": len(tokens)}
    summary = ", ".join(f"{f['analyser']} for {language}" for language, f in figures.items())
    return Outcome(tables=tuple(tables), lines=(f"Analysed by {summary}.",), figures=figures)


def write_and_read_back() -> Outcome:
    """Write a dataset folder, load it again, compare."""
    from nikawa.io.folders import write_folder

    dataset = load("mini-ja")
    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        copy = Path(folder) / "mini-ja-copy"
        write_folder(dataset, copy)
        rows = [(file.name, file.stat().st_size) for file in sorted(copy.iterdir())]
        same = load(str(copy)).splits == dataset.splits
    summary = "Read back: every example is the same." if same else "Read back: the examples differ."
    table = tabulate(("file", "bytes"), rows, ("bytes",))
    return Outcome(tables=(table,), lines=(summary,), figures={"files": len(rows), "same": same})


def where_next(out: Path) -> Outcome:
    """What to type next, and what the tour leaves to open."""
    rows = (
        ("nikawa collect demo", "annotation pages for workers, served on the mini-benchmark"),
        ("nikawa data list", "list all datasets and those on this machine"),
        ("nikawa data show mini-ko --card", "where a dataset comes from, and its known problems"),
        ("nikawa data fetch jnli", "get a published dataset"),
        ("nikawa reproduce jglue", "recompute the figures its paper prints"),
    )
    page = out / PAGE
    lines = (f"The report of this tour: {page}",) if page.is_file() else ()
    return Outcome(tables=(tabulate(("type", "to see"), rows),), lines=lines)


PACK, PROBLEMS_PER_CELL, MAX_PROBLEMS_SHOWN = "temporal-ja", 2, 10
DATA = "temporal"
"""The folder it is left in."""
LABELS = ("entailment", "contradiction", "neutral")
"""The labels of the generated problems, in the order of the table."""


def make_temporal(out: Path) -> Outcome:
    """A temporal benchmark that passes the artifact test, its training splits, and ten of its
    problems.
    """
    report, columns = _generate(out / DATA, gate=0), ("split", "problems", "cells", *LABELS)
    gate = report.gate
    assert gate is not None
    test = load(str(out / DATA)).splits["test"] if gate.passed else ()
    sizes = [
        (name, s.problems, s.cells, *(s.labels[label] for label in LABELS))
        for name, s in report.splits.items()
    ]
    summary = (
        f"Artifact test ({gate.tokeniser}): {len(gate.over)} of {gate.vocabulary:,} tokens "
        "give a label away. With ten problems per cell none do either; in JAMP's published training data 35 do."
    )
    first: dict[str, Example] = {}
    for example in test:
        first.setdefault(example.meta["category"], example)
    problems = list(first.values())
    shown = min(MAX_PROBLEMS_SHOWN, len(problems))
    rows = []
    for place in range(shown):
        example = problems[place * len(problems) // MAX_PROBLEMS_SHOWN]
        premise, hypothesis = example.inputs["premise"], example.inputs["hypothesis"]
        pair = f"{premise}\n→ {hypothesis}"
        rows.append((example.meta["category"], pair, example.gold["label"]))
    tests = []
    for split in report.splits:
        if split not in ("train", "test"):
            count = Counter(example.meta[split] for example in test)
            tests.append((split, count["seen"], count["unseen"]))
    kinds = ("trained on", "test problems of a seen kind", "of an unseen kind")
    tables = (
        tabulate(columns, sizes, columns[1:], title="problems"),
        tabulate(kinds, tests, kinds[1:], title="what a split tests"),
        tabulate(("category", "premise and hypothesis", "gold"), rows, title="ten problems"),
    )
    figures = {
        "problems": {name: s.problems for name, s in report.splits.items()},
        "over": len(gate.over),
        "shown": shown,
    }
    return Outcome(tables=tables, lines=(summary,), figures=figures)


def temporal(out: Path) -> Path:
    """Where the benchmark of the tour lies; a step that is taken alone makes it.

    Args:
        out: the folder of the tour.
    """
    if not is_dataset_folder(out / DATA):
        _generate(out / DATA)
    return out / DATA


def _generate(folder: Path, gate: int | None = None) -> GenerateReport:
    from nikawa.generation.job import GenerateOptions, generate

    return generate(
        PACK,
        folder,
        options=GenerateOptions(
            counts={"": PROBLEMS_PER_CELL}, splits=("all",), gate=gate, overwrite=True
        ),
    )


OPERATIONS = {
    "mini-ja": ("scramble-o", "swap-o", "delete-o"),
    "mini-ko": ("scramble-eul", "swap-eul", "delete-eul"),
}
"""Dataset to the operations that are shown: one that keeps the label, two that should change it."""
TASK = "mini-ja-sts"
"""The task on which two toy systems are compared."""
SCRAMBLE = "scramble-o"
"""What is done to the generated test problems: their labels stay."""


def count_tags(out: Path) -> Outcome:
    """The phenomena of both datasets and of the generated test problems, found in the text."""
    from nikawa.tagging.job import tag

    reports = [tag(name) for name in (*DATASETS, f"{temporal(out)}:test")]
    names = list(dict.fromkeys(name for report in reports for name in report.found))
    rows = []
    for name in names:
        counts = [sum(report.found.get(name, {}).values()) for report in reports]
        rows.append((name, *counts))
    columns = (*DATASETS, f"{DATA}:test")
    table = tabulate(("phenomenon", *columns), rows, columns)
    return Outcome(tables=(table,), figures={"tags": len(names)})


def perturb_pairs(out: Path) -> Outcome:
    """One sentence of each language, its word order and its particles changed.

    The generated test problems, scrambled.
    """
    from nikawa.perturbation.job import PerturbOptions, perturb

    rows = [row for name in DATASETS for row in perturb_sentence(name)]
    columns = ("operation", "sentence", "should the label change?")
    folder = temporal(out)
    target = folder / f"{SCRAMBLE}.jsonl"
    done = perturb([SCRAMBLE], f"{folder}:test", options=PerturbOptions(out=target, overwrite=True))
    line = (
        f"{done.written:,} test problems with another word order and the same label are in {target.name}, next to the others: "
        "models will answer both."
    )
    figures = {"operations": len(rows) - len(DATASETS), "scrambled": done.written}
    return Outcome(tables=(tabulate(columns, rows),), lines=(line,), figures=figures)


def perturb_sentence(name: str) -> Iterator[tuple[str, str, str]]:
    """The first sentence of a dataset that each operation can change: a row for it, and one for
    each change.
    """
    from nikawa.perturbation import perturbations
    from nikawa.perturbation.base import apply
    from nikawa.text import analyser

    dataset = load(name)
    language = dataset.language
    examples = [e for split in dataset.splits.values() for e in split if "sentence1" in e.inputs]
    for number, operation in enumerate(OPERATIONS[name]):
        chosen = perturbations(language)[operation]
        changed = next(apply(chosen, examples, analyser(language), seed=0, source=name))
        if not number:
            yield f"{name} {changed.id}", str(changed.meta["original_sentence1"]), ""
        should_change = "no" if changed.meta["effect"] == "keeps" else "yes, to neutral"
        yield operation, changed.inputs["sentence1"], should_change


def score_and_compare() -> Outcome:
    """Two toy systems on the similarity items: length alone, and shared characters."""
    from nikawa.scoring.compare import compare

    examples = [e for e in load("mini-ja:train").splits["train"] if tasks()[TASK].asks(e)]
    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        files = {}
        for name, system in SYSTEMS.items():
            path = Path(folder) / f"{name}.jsonl"
            lines = [
                encode_json({"id": e.id, "answer": system(*e.inputs.values())}) for e in examples
            ]
            path.write_bytes(b"".join(line + b"\n" for line in lines))
            files[name] = [path]
        comparison = compare([TASK], files, split="train", rounds=2000)
    scores = [
        (s.system, f"{s.value:.1f}", s.letters) for s in comparison.systems if s.metric == "pearson"
    ]
    pair = comparison.pairs[0]
    line = (
        f"Difference {pair.difference:+.1f} ({pair.low:+.1f} to {pair.high:+.1f}), p = {pair.p:.3f}; "
        f"differences below {pair.smallest:.0f} can hardly be distinguished from chance with so few items."
    )
    table = tabulate(("system", "Pearson", "ties"), scores, ("Pearson",))
    figures = {"p": pair.p, "difference": pair.difference}
    return Outcome(tables=(table,), lines=(line,), figures=figures)


def compare_lengths(one: str, other: str) -> float:
    """5 for sentences of equal length, less the more they differ."""
    return 5 * min(len(one), len(other)) / max(len(one), len(other))


def compare_characters(one: str, other: str) -> float:
    """5 times the share of characters the sentences have in common."""
    return 5 * len(set(one) & set(other)) / len(set(one) | set(other))


SYSTEMS = {"length": compare_lengths, "shared characters": compare_characters}
"""Toy systems: two sentences to a similarity from 0 to 5."""
WORKERS = {"careful": 0.95, "usual": 0.9, "hasty": 0.75, "quick": 0.85, "guessing": 0.4}
"""Simulated workers and how often each answers as gold does."""
SIMULATED = f"{len(WORKERS)} simulated workers answered about every test problem, each with its own accuracy; no person did"
MODELS = ("majority", "char-linear", "baseline")
"""Models that need no extra package; the last is also shown the hypothesis alone."""
SEEDS = (0, 1)
MAIN, METRIC, ROUNDS = "test", "accuracy", 1_000
RUNS, REPORT = "runs", "report"
"""What is left in the folder of the tour."""


def simulate_round(out: Path) -> Outcome:
    """Five simulated workers judge generated problems: agreement, and gold by majority.

    The card says that they are no people.
    """
    folder = temporal(out)
    dataset = load(str(folder))
    examples = dataset.splits["test"]
    path = folder / JUDGEMENTS
    with atomic_write(path, overwrite=True) as stream:
        for judgement in simulate_judgements(examples):
            stream.write(encode_json(judgement) + b"\n")
    write_card(
        restruct(dataset.card, workers=SIMULATED, workers_are="simulated"), folder, overwrite=True
    )
    return measure_agreement(
        path, {reference(PACK, "test", e.id): e.gold["label"] for e in examples}
    )


def simulate_judgements(examples: tuple[Example, ...]) -> Iterator[Judgement]:
    """What each of the simulated workers answers; the same each time."""
    for example in examples:
        for worker, right in WORKERS.items():
            draw = random.Random(f"{worker} {example.id}")  # noqa: S311  (a simulation, not a secret)
            gold = example.gold["label"]
            others = [label for label in LABELS if label != gold]
            answer = gold if draw.random() < right else draw.choice(others)
            full = reference(PACK, "test", example.id)
            yield Judgement(
                example=full, worker=f"simulated-{worker}", question="label", answer=answer
            )


def measure_agreement(path: Path, gold: dict[str, str]) -> Outcome:
    """How far the workers of a file agree, and how often their majority is the gold they were
    given.
    """
    from nikawa.aggregation.agree_job import agree
    from nikawa.aggregation.job import aggregate

    report = agree(str(path)).report
    verdicts = aggregate(str(path)).verdicts["label"]
    right = sum(
        value == gold[item]
        for item, value in zip(verdicts.table.items, verdicts.answers(), strict=True)
    )
    rows = []
    for measure in report.measures:
        figures = (measure.value, measure.low, measure.high)
        value, low, high = ("" if n is None else f"{n:.3f}" for n in figures)
        rows.append((measure.name, measure.level, value, f"{low} to {high}"))
    table = tabulate(("agreement", "level", "value", "95% interval"), rows, ("value",))
    line = f"The workers are simulated: no person was asked. The majority finds the computed gold of {right:,} of {len(gold):,} problems."
    return Outcome(
        tables=(table,), lines=(line,), figures={"problems": len(gold), "gold_again": right}
    )


def train_and_report(out: Path) -> Outcome:
    """Embedded models with two seeds on a generated benchmark, one of them shown half of it,
    reported on a page.
    """
    from nikawa.reporting.job import ReportOptions, report
    from nikawa.runs.job import RunOptions, RunRequest, run

    runs = out / RUNS
    whole = RunRequest(tasks=(str(temporal(out)),), models=MODELS, seeds=SEEDS)
    half = replace(whole, models=MODELS[-1:], inputs=("hypothesis",))
    done = [run(request, RunOptions(out=runs, workers=1)) for request in (whole, half)]
    cells = [cell for part in done for cell in part.cells]
    folders = dict.fromkeys(str(runs / name) for cell in cells for name in cell.runs)
    page = report(list(folders), out / REPORT, ReportOptions(overwrite=True))
    seeded = any(cell.sd for cell in cells)
    lines = () if seeded else ("The seeds change nothing: these models are deterministic.",)
    line = f"Intervals, paired tests, slices and every error: open {page.page}"
    main = [cell for cell in cells if cell.set == MAIN]
    return Outcome(
        tables=(tabulate_scores(main),),
        lines=(*lines, compare_best(main, runs, temporal(out)), line),
        figures={
            "runs": sum(part.done + part.skipped for part in done),
            "page": page.page,
            "accuracy": {_system(cell): cell.mean for cell in main if cell.metric == "accuracy"},
        },
    )


def compare_best(cells: Sequence[RunCell], runs: Path, folder: Path) -> str:
    """Whether the best model is really better than the next, by the answers of all seeds."""
    from nikawa.scoring.compare import compare

    files = {
        cell.model: [runs / name / PREDICTIONS / f"{MAIN}.jsonl" for name in cell.runs]
        for cell in cells
        if cell.metric == METRIC and cell.model in MODELS[1:] and not cell.variation
    }
    comparison = compare([str(folder)], files, split=MAIN, rounds=ROUNDS)
    pair = next(pair for pair in comparison.pairs if pair.metric == METRIC)
    chance = f"p < {1 / ROUNDS:g}" if pair.p <= 1 / ROUNDS else f"p = {pair.p:.3f}"
    return (
        f"{pair.second} against {pair.first}: {pair.difference:+.1f} {METRIC} ({pair.low:+.1f} to {pair.high:+.1f}), {chance}; "
        f"differences below {pair.smallest:.1f} can hardly be distinguished from chance."
    )


def tabulate_scores(cells: Sequence[RunCell]) -> Table:
    """One row per system, one column per metric."""
    metrics = tuple(dict.fromkeys(cell.metric for cell in cells))
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        rows.setdefault(_system(cell), {})[cell.metric] = (
            "" if cell.mean is None else f"{cell.mean:.1f} ± {cell.sd or 0.0:.1f}"
        )
    shown = [
        (system, *(values.get(name, "") for name in metrics)) for system, values in rows.items()
    ]
    title = f"{cells[0].n:,} test problems, {len(SEEDS)} seeds, percent"
    return tabulate(("system", *metrics), shown, metrics, title)


def _system(cell: RunCell) -> str:
    return f"{cell.model} ({cell.variation})" if cell.variation else cell.model
