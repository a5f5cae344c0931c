"""The notes of a report on a dataset: its card, the agreement of workers, and artifacts of the texts.

Agreement is that of published judgements, of the judgements next to a custom dataset, or of the build that made one.
If labels are hidden, nothing is shown that reveals their frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nikawa.datasets import benchmarks
from nikawa.datasets.custom import is_custom
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, MissingData
from nikawa.io.cards import making_command
from nikawa.io.file_names import to_file_name
from nikawa.io.folders import JUDGEMENTS
from nikawa.io.json import read_json
from nikawa.records import LABELLED_KINDS, Card, Record
from nikawa.reporting.card import BUILT, Built, Figures
from nikawa.reporting.markup import slug
from nikawa.reporting.page_data import Note
from nikawa.reporting.sources import address, inside
from nikawa.reporting.systems import TaskRuns

if TYPE_CHECKING:
    from nikawa.aggregation.agree_job import AgreeOptions, AgreeReport
    from nikawa.checks.probe import ArtifactReport

FOLDER = "dataset"
"""The folder of the files of findings, next to the page."""
MAX_WORDS_SHOWN = 10
AGREEMENT_RESAMPLES = 200
SIDES = {"inference": "hypothesis"}
"""The input a worker wrote, which gives labels away; all inputs together elsewhere."""
MEASURE_TITLES = {
    "alpha": "Krippendorff's alpha",
    "percent": "pairwise agreement",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "unanimous": "items with unanimous answers",
    "majority": "items with a majority answer",
    "none": "items without a majority",
    "individual-is-majority": "answers equal to the majority",
}


@dataclass(frozen=True)
class DatasetNote:
    """A note of the page, and its data as a file next to the page."""

    note: Note
    file: str = ""
    """The address of the file from the page; empty without a file."""
    whole: Record | None = None
    """The content of the file: the full report that the note summarises."""


@dataclass
class DatasetNoteReader:
    """Writes the notes about datasets; what tasks of one dataset share is computed once.

    `data` is the folder of published data. Something that cannot be measured becomes a note with the reason: a report
    of runs does not fail because judgements are missing.
    """

    data: Path | None = None
    _artifacts: dict[tuple[str, str, str], ArtifactReport] = field(default_factory=dict)

    def read(self, task: TaskRuns) -> Iterator[DatasetNote]:
        """The notes about the dataset of a task: agreement of workers, artifacts, then its card."""
        if is_custom(task.task.dataset):
            yield from self._custom_agreement(task)
        else:
            yield from self._published_agreement(task)
        yield from self._find_artifacts(task)
        yield DatasetNote(card_note(task.answered.card, task.task.dataset))

    def _published_agreement(self, task: TaskRuns) -> Iterator[DatasetNote]:
        """Agreement of the published judgements, where there are any here."""
        from nikawa.aggregation.agree_job import AgreeOptions

        dataset, question = task.task.dataset, task.task.question
        if benchmarks()[dataset].judgements is None:
            return
        line = f"nikawa agree {dataset} --question {question} --resamples {AGREEMENT_RESAMPLES}"
        options = AgreeOptions(question=question, resamples=AGREEMENT_RESAMPLES)
        try:
            report = self._agree(dataset, options)
        except MissingData as problem:
            yield DatasetNote(
                Note(title="Agreement", text=f"Not measured: {problem}", command=line)
            )
            return
        except BadInput:  # the dataset publishes no answers to this question
            return
        file = _file_of(task, "agreement")
        yield DatasetNote(make_agreement_note(report, file, line), file, report)

    def _custom_agreement(self, task: TaskRuns) -> Iterator[DatasetNote]:
        """Agreement of the judgements next to a custom dataset, or of the build that made it."""
        from nikawa.aggregation.agree_job import AgreeOptions

        name, question = task.task.dataset, task.task.question
        judgements, built = Path(name) / JUDGEMENTS, Path(name) / BUILT
        if not judgements.is_file():
            if built.is_file():
                figures = read_json(built, Built).figures
                if self._hides_labels(name):
                    figures = replace(figures, labels={}, spans={})
                file = _file_of(task, "build")
                yield DatasetNote(make_build_note(figures, file, name), file, figures)
            return
        line = (
            f"nikawa agree {quote(str(judgements))} --question {question} --examples {quote(name)} "
            f"--resamples {AGREEMENT_RESAMPLES}"
        )
        options = AgreeOptions(question=question, examples=name, resamples=AGREEMENT_RESAMPLES)
        try:
            report = self._agree(str(judgements), options)
        except BadInput as problem:
            yield DatasetNote(
                Note(title="Agreement", text=f"Not measured: {problem}", command=line)
            )
            return
        report = replace(report, workers_are=task.answered.card.workers_are)
        if self._hides_labels(name):
            report = replace(report, distribution={})
        file = _file_of(task, "agreement")
        yield DatasetNote(make_agreement_note(report, file, line), file, report)

    def _agree(self, spec: str, options: AgreeOptions) -> AgreeReport:
        from nikawa.aggregation.agree_job import agree

        return agree(spec, self.data, options).report

    def _hides_labels(self, dataset: str) -> bool:
        """Whether labels of a custom dataset are hidden: the frequencies of workers' answers would then reveal them."""
        splits = ExampleReader(self.data).custom(dataset).splits
        return any(example.hidden for examples in splits.values() for example in examples)

    def _find_artifacts(self, task: TaskRuns) -> Iterator[DatasetNote]:
        """Words that go with a label more than chance allows, in what was learned from."""
        from nikawa.checks.probe import ProbeOptions
        from nikawa.checks.probe import probe_artifacts as probe

        train = [name for system in task.systems for name in system.spec.protocol.train]
        if task.task.kind not in LABELLED_KINDS or not train:
            return
        spec, question = train[0], task.task.question
        side = SIDES.get(task.task.kind, "both")
        line = f"nikawa probe artifacts {quote(spec)} --side {side} --question {question}"
        key = (spec, side, question)
        try:
            if key not in self._artifacts:
                options = ProbeOptions(side=side, question=question)
                self._artifacts[key] = probe(spec, self.data, options).report
        except BadInput as problem:
            yield DatasetNote(Note(title="Artifacts", text=f"Not tested: {problem}", command=line))
            return
        file = _file_of(task, "artifacts")
        report = self._artifacts[key]
        yield DatasetNote(make_artifacts_note(report, file, line), file, report)


def data_commands(tasks: Sequence[TaskRuns]) -> list[str]:
    """The commands that build the custom datasets of tasks, if their cards contain them, one per dataset."""
    commands = {}
    for task in tasks:
        dataset = task.task.dataset
        line = making_command(task.answered.card) if is_custom(dataset) else ""
        if line:
            commands[dataset] = f"{_with_config(line, dataset)} --out {quote(dataset)}"
    return list(commands.values())


def _with_config(line: str, dataset: str) -> str:
    """The command that built a dataset, with the config that it needs, and where its content is."""
    path = Path(dataset) / BUILT
    if not path.is_file():
        return line
    built = read_json(path, Built)
    config = f"{built.recipe}.toml"
    remark = f'# {config}: the settings under "config" in {path.as_posix()}'
    if built.figures.simulated:
        remark += "; simulated answers: add --simulate with the seed of the build"
    return f"{remark}\n{line} --config {quote(config)}"


def _file_of(task: TaskRuns, what: str) -> str:
    """The file of what was found, as an address from the page."""
    return f"{FOLDER}/{address(to_file_name(slug(task.name)))}-{what}.json"


def card_note(card: Card, dataset: str) -> Note:
    """The content of a dataset's card."""
    rows = [
        ("version", card.version),
        ("licence", card.licence),
        ("texts", card.source),
        ("labels", card.labels),
        ("workers", card.workers),
        ("made by", making_command(card)),
        *(("known problem", problem) for problem in card.problems),
    ]
    return Note(
        title=f"The card of {card.name}",
        columns=("", ""),
        rows=tuple((name, words) for name, words in rows if words),
        command=f"nikawa data show {quote(dataset)}",
        folded=True,
    )


def make_build_note(figures: Figures, place: str, dataset: str) -> Note:
    """The agreement of a build: what was asked, of whom, and each measure."""
    rows, sources = [], []
    for i, ask in enumerate(figures.asks):
        workers = f"{ask.workers:,}" + (" (some are simulated)" if ask.simulated else "")
        for name, value in ask.agreement.items():
            rows.append((ask.title, f"{ask.items:,}", workers, name, f"{value:.3f}"))
            sources.append(inside(place, "asks", i, "agreement", name))
    return Note(
        title="Agreement",
        text="Agreement of the workers who judged the items when the dataset was built.",
        columns=("asked", "items", "workers", "agreement", "value"),
        rows=tuple(rows),
        numbers=("items", "value"),
        source=place,
        sources=tuple(sources),
        command=f"nikawa data show {quote(dataset)}",
    )


def make_agreement_note(report: AgreeReport, place: str, line: str) -> Note:
    """One row per measure of agreement, with its interval."""
    rows, sources = [], []
    for i, measure in enumerate(report.measures):
        if measure.value is None:
            continue
        interval = ""
        if measure.low is not None and measure.high is not None:
            interval = f"{measure.low:.3f}–{measure.high:.3f}"
        title = MEASURE_TITLES.get(measure.name, measure.name)
        rows.append((title, measure.level, f"{measure.value:.3f}", interval))
        sources.append(inside(place, "measures", i))
    simulated = " of simulated workers" if report.workers_are == "simulated" else ""
    return Note(
        title=f"Agreement{simulated}",
        text=f"{report.items:,} items, {report.workers:,} workers ({report.workers_are}), {report.answers:,} answers.",
        columns=("measure", "level", "value", "95% interval"),
        rows=tuple(rows),
        numbers=("value", "95% interval"),
        source=place,
        sources=tuple(sources),
        command=line,
    )


def make_artifacts_note(report: ArtifactReport, place: str, line: str) -> Note:
    """How many words go with a label more often than chance allows, and the surest of them."""
    over = [(i, pair) for i, pair in enumerate(report.over) if pair.label not in report.uneven]
    words = len({pair.token for _, pair in over})
    text = (
        f"{report.dataset}, {' and '.join(report.sides)}: {words:,} of {report.vocabulary:,} words occur with one label more often than "
        f"chance explains (binomial test, {report.alpha:g} divided by the vocabulary size)."
    )
    if report.uneven:
        text += f" Labels left out: {', '.join(report.uneven)}; they are so frequent that every common word would be significant."
    rows, sources = [], []
    for i, pair in over[:MAX_WORDS_SHOWN]:
        share = f"{pair.share:.2f}"
        rows.append((pair.token, pair.label, f"{pair.count:,} of {pair.n:,}", share))
        sources.append(inside(place, "over", i))
    return Note(
        title="Artifacts",
        text=text,
        columns=("word", "label", "examples", "share"),
        rows=tuple(rows),
        numbers=("examples", "share"),
        source=place,
        sources=tuple(sources),
        command=line,
    )
