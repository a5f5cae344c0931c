"""What each step of the tour does: plain data comes out, how it is shown is the caller's affair."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from nikawa.records import Dataset, Example, Judgement, Record, Task, reference
from nikawa.runs.store import PREDICTIONS

if TYPE_CHECKING:
    from nikawa.generation.job import GenerateReport
    from nikawa.runs.summary import Cell


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
    checks = sorted({finding.check for report in reports for finding in report.findings})
    columns = ("dataset", "examples", "findings", "of them new")
    return Outcome(
        tables=(Table(columns=columns, rows=rows, numbers=columns[1:]),),
        lines=(f"Found: {', '.join(checks)}" if checks else "Nothing to complain of.",),
        figures={"findings": {report.dataset: len(report.findings) for report in reports}},
    )


def weigh_judgements() -> Outcome:
    """How near each simulated worker is to gold, and whether gold follows from all of them."""
    tables, figures = [], {}
    for name in DATASETS:
        gold = {
            (reference(name, split, example.id), question): value
            for split, examples in load(name).splits.items()
            for example in examples
            for question, value in example.gold.items()
        }
        rows, remade = _workers(name, gold)
        columns = ("worker", "inference: agrees with gold", "similarity: mean distance")
        tables.append(Table(title=name, columns=columns, rows=tuple(rows), numbers=columns[1:]))
        figures[name] = {"judged": remade[1], "gold_remade": remade[0]}
    summary = ", ".join(
        f"{f['gold_remade']} of {f['judged']} in {name}" for name, f in figures.items()
    )
    lines = (
        "The workers are simulated; no person was asked.",
        f"Gold made again by majority and mean: {summary}.",
    )
    return Outcome(tables=tuple(tables), lines=lines, figures=figures)


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
            (
                t.surface,
                t.base,
                " ".join([field for field in t.pos if field not in ("", "*")][:2]),
                f"{t.start}–{t.end}",
            )
            for t in tokens
        )
        tables.append(
            Table(
                title=sentence, columns=("surface", "base", "part of speech", "offsets"), rows=rows
            )
        )
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
        rows = tuple((file.name, file.stat().st_size) for file in sorted(copy.iterdir()))
        same = load(str(copy)).splits == dataset.splits
    summary = "Read back: every example is the same." if same else "Read back: the examples differ."
    table = Table(columns=("file", "bytes"), rows=rows, numbers=("bytes",))
    return Outcome(tables=(table,), lines=(summary,), figures={"files": len(rows), "same": same})


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


PACK, PER, SHOWN = "temporal-ja", 2, 10
DATA = "temporal"
"""The folder it is left in."""
LABELS = ("entailment", "contradiction", "neutral")


def make_temporal(out: Path) -> Outcome:
    """A temporal benchmark that passes the artifact test, its training splits, and ten of its problems."""
    report = _generate(out / DATA, gate=0)
    assert report.gate is not None
    test = load(str(out / DATA)).splits["test"] if report.gate.passed else ()
    sizes = tuple(
        (name, s.problems, s.cells, *(s.labels[label] for label in LABELS))
        for name, s in report.splits.items()
    )
    columns = ("split", "problems", "cells", *LABELS)
    summary = (
        f"Artifact test ({report.gate.tokeniser}): {len(report.gate.over)} of {report.gate.vocabulary:,} tokens "
        "give a label away. Nor do any at ten problems a cell; in JAMP's published training data 35 do."
    )
    first: dict[str, Example] = {}
    for example in test:
        first.setdefault(example.meta["category"], example)
    problems = list(first.values())
    chosen = [problems[i * len(problems) // SHOWN] for i in range(min(SHOWN, len(problems)))]
    rows = tuple(
        (e.meta["category"], f"{e.inputs['premise']}\n→ {e.inputs['hypothesis']}", e.gold["label"])
        for e in chosen
    )
    tables = (
        Table(title="problems", columns=columns, rows=sizes, numbers=columns[1:]),
        _seen(test, [name for name in report.splits if name not in ("train", "test")]),
        Table(
            title="ten problems", columns=("category", "premise and hypothesis", "gold"), rows=rows
        ),
    )
    figures = {
        "problems": {name: s.problems for name, s in report.splits.items()},
        "over": len(report.gate.over),
        "shown": len(tables[-1].rows),
    }
    return Outcome(tables=tables, lines=(summary,), figures=figures)


def temporal(out: Path) -> Path:
    """Where the benchmark of the tour lies; a step that is taken alone makes it."""
    if not is_dataset_folder(out / DATA):
        _generate(out / DATA)
    return out / DATA


def _generate(folder: Path, gate: int | None = None) -> GenerateReport:
    from nikawa.generation.job import GenerateOptions, generate

    return generate(
        PACK,
        folder,
        options=GenerateOptions(counts={"": PER}, splits=("all",), gate=gate, overwrite=True),
    )


def _seen(test: tuple[Example, ...], splits: list[str]) -> Table:
    counts = {split: Counter(example.meta[split] for example in test) for split in splits}
    rows = tuple((split, count["seen"], count["unseen"]) for split, count in counts.items())
    columns = ("trained on", "test problems of a seen kind", "of an unseen kind")
    return Table(title="what a split tests", columns=columns, rows=rows, numbers=columns[1:])


OPERATIONS = {
    "mini-ja": ("scramble-o", "swap-o", "delete-o"),
    "mini-ko": ("scramble-eul", "swap-eul", "delete-eul"),
}
TASK = "mini-ja-sts"
SCRAMBLE = "scramble-o"
"""What is done to the generated test problems: their labels stay."""


def count_tags(out: Path) -> Outcome:
    """The phenomena of both datasets and of the generated test problems, found in the text."""
    from nikawa.tagging.job import tag

    reports = [tag(name) for name in (*DATASETS, f"{temporal(out)}:test")]
    names = list(dict.fromkeys(name for report in reports for name in report.found))
    rows = tuple(
        (name, *(sum(report.found.get(name, {}).values()) for report in reports)) for name in names
    )
    columns = (*DATASETS, f"{DATA}:test")
    table = Table(columns=("phenomenon", *columns), rows=rows, numbers=columns)
    return Outcome(tables=(table,), figures={"tags": len(names)})


def perturb_pairs(out: Path) -> Outcome:
    """One sentence of each language, its word order and its particles changed; the generated test problems, scrambled."""
    from nikawa.perturbation.job import PerturbOptions, perturb

    rows = tuple(row for name in DATASETS for row in _changes(name))
    columns = ("operation", "sentence", "should the label change?")
    folder = temporal(out)
    target = folder / f"{SCRAMBLE}.jsonl"
    done = perturb([SCRAMBLE], f"{folder}:test", options=PerturbOptions(out=target, overwrite=True))
    line = (
        f"{done.written:,} test problems with another word order and the same label lie beside the others as {target.name}: "
        "models will answer both."
    )
    figures = {"operations": len(rows) - len(DATASETS), "scrambled": done.written}
    return Outcome(tables=(Table(columns=columns, rows=rows),), lines=(line,), figures=figures)


def _changes(name: str) -> Iterator[tuple[str, str, str]]:
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
        yield (
            operation,
            changed.inputs["sentence1"],
            "no" if changed.meta["effect"] == "keeps" else "yes, to neutral",
        )


def score_and_compare() -> Outcome:
    """Two toy systems on the similarity items: length alone, and shared characters."""
    from nikawa.scoring.compare import compare

    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        systems = {"length": _length, "shared characters": _overlap}
        files = {
            name: [_answered(Path(folder) / f"{i}.jsonl", system)]
            for i, (name, system) in enumerate(systems.items())
        }
        comparison = compare([TASK], files, split="train", rounds=2000)
    scores = tuple(
        (s.system, f"{s.value:.1f}", s.letters) for s in comparison.systems if s.metric == "pearson"
    )
    pair = comparison.pairs[0]
    line = (
        f"Difference {pair.difference:+.1f} ({pair.low:+.1f} to {pair.high:+.1f}), p = {pair.p:.3f}; "
        f"differences below {pair.smallest:.0f} could hardly be told from chance with so few items."
    )
    table = Table(columns=("system", "Pearson", "ties"), rows=scores, numbers=("Pearson",))
    return Outcome(
        tables=(table,), lines=(line,), figures={"p": pair.p, "difference": pair.difference}
    )


def _length(example: Example) -> float:
    """5 for sentences of equal length, less the more they differ."""
    one, two = (len(example.inputs[name]) for name in ("sentence1", "sentence2"))
    return 5 * min(one, two) / max(one, two)


def _overlap(example: Example) -> float:
    """5 times the share of characters the sentences have in common."""
    one, two = (set(example.inputs[name]) for name in ("sentence1", "sentence2"))
    return 5 * len(one & two) / len(one | two)


def _answered(path: Path, system: Callable[[Example], float]) -> Path:
    examples = load("mini-ja:train").splits["train"]
    lines = [{"id": e.id, "answer": system(e)} for e in examples if tasks()[TASK].asks(e)]
    path.write_bytes(b"".join(encode_json(line) + b"\n" for line in lines))
    return path


WORKERS = {"careful": 0.95, "usual": 0.9, "hasty": 0.75, "quick": 0.85, "guessing": 0.4}
"""Simulated workers and how often each answers as gold does."""
SIMULATED = f"{len(WORKERS)} simulated workers answered about every test problem, each right at a rate of its own; no person did"
MODELS = ("majority", "char-linear", "baseline")
SEEDS = (0, 1)
MAIN, METRIC, ROUNDS = "test", "accuracy", 1_000
RUNS, REPORT = "runs", "report"
"""What is left in the folder of the tour."""


def simulate_round(out: Path) -> Outcome:
    """Five simulated workers judge generated problems: agreement, and gold by majority. The card says that they are no people."""
    folder = temporal(out)
    dataset = load(str(folder))
    examples = dataset.splits["test"]
    path = folder / JUDGEMENTS
    with atomic_write(path, overwrite=True) as stream:
        for judgement in _judged(examples):
            stream.write(encode_json(judgement) + b"\n")
    write_card(
        restruct(dataset.card, workers=SIMULATED, workers_are="simulated"), folder, overwrite=True
    )
    return _weighed(path, {reference(PACK, "test", e.id): e.gold["label"] for e in examples})


def _judged(examples: tuple[Example, ...]) -> Iterator[Judgement]:
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


def _weighed(path: Path, gold: dict[str, str]) -> Outcome:
    from nikawa.aggregation.agree import agree
    from nikawa.aggregation.job import aggregate

    report = agree(str(path)).report
    verdicts = aggregate(str(path)).verdicts["label"]
    right = sum(
        value == gold[item]
        for item, value in zip(verdicts.table.items, verdicts.answers(), strict=True)
    )
    rows = tuple(
        (m.name, m.level, _figure(m.value), f"{_figure(m.low)} to {_figure(m.high)}")
        for m in report.measures
    )
    table = Table(
        columns=("agreement", "level", "value", "95% interval"), rows=rows, numbers=("value",)
    )
    line = f"The workers are simulated: no person was asked. The majority finds the computed gold of {right:,} of {len(gold):,} problems."
    return Outcome(
        tables=(table,), lines=(line,), figures={"problems": len(gold), "gold_again": right}
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def train_and_report(out: Path) -> Outcome:
    """Embedded models with two seeds on a generated benchmark, one of them shown half of it, reported on a page."""
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
    lines = () if seeded else ("The seeds change nothing: these models leave nothing to chance.",)
    line = f"Intervals, paired tests, slices and every error: open {page.page}"
    main = [cell for cell in cells if cell.set == MAIN]
    return Outcome(
        tables=(_scores(main),),
        lines=(*lines, _compared(main, runs, temporal(out)), line),
        figures={
            "runs": sum(part.done + part.skipped for part in done),
            "page": page.page,
            "accuracy": {_system(cell): cell.mean for cell in main if cell.metric == "accuracy"},
        },
    )


def _compared(cells: Sequence[Cell], runs: Path, folder: Path) -> str:
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
        f"differences below {pair.smallest:.1f} could hardly be told from chance."
    )


def _scores(cells: Sequence[Cell]) -> Table:
    """A row a system, a column a metric."""
    metrics = tuple(dict.fromkeys(cell.metric for cell in cells))
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        rows.setdefault(_system(cell), {})[cell.metric] = (
            "" if cell.mean is None else f"{cell.mean:.1f} ± {cell.sd or 0.0:.1f}"
        )
    shown = tuple(
        (system, *(values.get(name, "") for name in metrics)) for system, values in rows.items()
    )
    title = f"{cells[0].n:,} test problems, {len(SEEDS)} seeds, percent"
    return Table(title=title, columns=("system", *metrics), rows=shown, numbers=metrics)


def _system(cell: Cell) -> str:
    return f"{cell.model} ({cell.variation})" if cell.variation else cell.model
