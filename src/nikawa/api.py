"""The front door: one function for each job of Nikawa, as `nikawa.NAME`.

Every function takes a name, a path or an object (a `Dataset`, a DataFrame, a list of records, a mapping) and returns a typed result
that shows itself as a table, in a notebook as HTML, and as a DataFrame with `to_pandas()`. Keywords have the names of the
options of the command line. Rarely needed settings are fields of the job's options, such as
`nikawa.scoring.score.ScoreOptions`, which `options=` takes.

Functions that make a dataset (`clean`, `pair`, `generate`, `perturb`, `tag`, `split`) return it in memory, with the report of the job
as its field `report`. With `out=` or `options=` they write files where these say so, and return the report alone: that is how
the command line calls them.

Objects go the same way as files, see `nikawa.objects`. Nothing heavy is imported before a function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from nikawa.aggregation.agree_job import AgreeOptions, AgreeResult
    from nikawa.aggregation.job import AggregateOptions
    from nikawa.aggregation.report import AggregateResult
    from nikawa.analysis.job import AnalysisOptions
    from nikawa.analysis.results import Analyses
    from nikawa.checks.hide_job import HideOptions, HideReport
    from nikawa.cleaning.job import CleanOptions, CleanReport
    from nikawa.cleaning.toxicity import Scorer as ToxicityScorer
    from nikawa.datasets.import_table import ImportOptions, ImportReport
    from nikawa.generation.job import GenerateOptions, GenerateReport
    from nikawa.models.base import Predictor
    from nikawa.objects import CallFiles
    from nikawa.pairing.job import PairOptions, PairReport
    from nikawa.perturbation.job import PerturbOptions, PerturbReport
    from nikawa.records import Dataset, Example, Judgement, MadeDataset, Task
    from nikawa.reporting.job import ReportOptions, ReportResult
    from nikawa.runs.job import RunOptions, RunReport
    from nikawa.runs.request import RunRequest
    from nikawa.scoring.compare import Comparison
    from nikawa.scoring.score import ScoreOptions, ScoreResult, VersionReport
    from nikawa.splitting.job import SplitOptions, SplitReport
    from nikawa.tagging.job import TagOptions, TagReport

T = TypeVar("T")
DATASETS_OF_RUNS = ".datasets"
"""The folder among stored runs for datasets that were passed as objects: analyses and reports read them again."""


def set_options(options: T | None, kind: type[T], /, **settings: Any) -> T:
    """The options of a job with the settings that are not None."""
    from dataclasses import replace

    from msgspec import Struct
    from msgspec.structs import replace as replace_record

    chosen = {name: value for name, value in settings.items() if value is not None}
    base: Any = kind() if options is None else options
    made: T = (replace_record if isinstance(base, Struct) else replace)(base, **chosen)
    return made


def as_names(value: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """One name or several as a tuple; None stays None.

    >>> as_names("gold"), as_names(["gold", "tag"]), as_names(None)
    (('gold',), ('gold', 'tag'), None)
    """
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def attach_report(dataset: Dataset, report: Any) -> MadeDataset:
    """A dataset that was just made, with the report of the job that made it."""
    from nikawa.records import MadeDataset

    return MadeDataset(
        name=dataset.name,
        language=dataset.language,
        version=dataset.version,
        card=dataset.card,
        splits=dataset.splits,
        report=report,
    )


def load(
    dataset: Any,
    *,
    data: Path | None = None,
    version: str | None = None,
    hidden: bool = False,
    columns: Mapping[str, str] | None = None,
    kind: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Dataset:
    """Load a dataset: `jsick`, `jsick:test`, a dataset folder, a records file, `jsick@file.tsv`, or an object.

    An object is a DataFrame, a list of `Example`s or of rows, or a mapping from split to one of those. Rows with `inputs` are
    records; flat rows are imported as `nikawa data import` does it, and a column `split` names the split of a row.
    `columns` (field to column), `kind` and `labels` say what the columns are where their names do not.

    `data` is the folder of the published datasets (default: `NIKAWA_DATA`, then the user's data folder).

    Labels that are marked hidden are removed, so that no cell of a notebook shows them by accident. If you hold the
    labels, say `hidden=True`.

    >>> jnli = load("mini-ja")
    >>> len(jnli), len(jnli["dev"])
    (116, 30)
    >>> load([{"premise": "犬が走る。", "hypothesis": "動物が走る。", "label": "entailment"}])[0].gold
    {'label': 'entailment'}
    """
    from nikawa.datasets.load import load

    if isinstance(dataset, str | Path):
        return load(str(dataset), data=data, version=version, hidden=hidden)
    from nikawa.datasets.hidden import remove_hidden_labels
    from nikawa.datasets.import_table import ImportOptions
    from nikawa.objects import CallFiles

    options = set_options(None, ImportOptions, columns=columns, kind=kind, labels=labels)
    with CallFiles() as files:
        made = files.to_dataset(dataset, options)
    return made if hidden else remove_hidden_labels(made)


def load_task(
    name: str, split: str, *, data: Path | None = None, hidden: bool = False
) -> tuple[Task, tuple[Example, ...]]:
    """Load a task and the examples of one split; `hidden` as for `load`.

    >>> task, examples = load_task("mini-ja-nli", "dev")
    >>> task.labels
    ('entailment', 'contradiction', 'neutral')
    """
    from nikawa.datasets import load_task

    return load_task(name, split, data=data, hidden=hidden)


def read_judgements(
    dataset: str, *, data: Path | None = None, counted: bool = False
) -> Iterator[Judgement]:
    """Read the published answers of the workers of a dataset (`jsick`) or of one split
    (`jsick:test`).

    With `counted`, only the answers that the published gold was made from.

    >>> judgements = list(read_judgements("mini-ja"))
    >>> judgements[0].question
    'label'
    """
    from nikawa.datasets import read_judgements

    return read_judgements(dataset, data=data, counted=counted)


def score(
    task: Any,
    answers: Any,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
    keys: Path | None = None,
    by: str | Iterable[str] | None = None,
    partial: bool | None = None,
    metrics: str | Iterable[str] | None = None,
    form: str | None = None,
    hidden: bool | None = None,
) -> ScoreResult:
    """Score answers as the official scorer does, with confidence intervals.

    `task` is a task by name, a dataset folder, or a dataset in memory. `answers` are a path, a mapping from id to answer, a
    DataFrame (columns `id` and `answer`, or any that a file may have), a list of `Prediction`s or rows, or a list of plain answers in
    the order of the items.

    Without `split`, the split is the one whose ids the answers have. Raises `BadInput` when answers are missing, unless
    `partial=True`; ids that are in no example are counted and reported. `by` slices the scores by `tag`, `gold` or a key of
    the meta. `keys` is the key file of a dataset whose labels `hide_labels` took away: with it they are scored.

    >>> dev = load("mini-ja:dev")
    >>> gold = {example.id: example.gold["label"] for example in dev if "label" in example.gold}
    >>> result = score("mini-ja-nli", gold)
    >>> result.report.scores[0].value
    100.0
    """
    from nikawa.objects import CallFiles
    from nikawa.scoring.score import ScoreOptions, score, with_keys

    with CallFiles(in_python=options is None) as files:
        name = files.dataset(task)
        chosen = set_options(
            options,
            ScoreOptions,
            by=as_names(by),
            partial=partial,
            metrics=as_names(metrics),
            form=form,
            hidden=hidden,
        )
        path = files.answers(answers)
        result = score(name, path, split=split, data=data, options=with_keys(chosen, keys))
        return title_task(result, files)


def title_task(result: ScoreResult, files: CallFiles) -> ScoreResult:
    """The result with the name of a dataset in memory where it has the path of its file."""
    from dataclasses import replace

    from msgspec.structs import replace as replace_record

    title = files.title(result.task.dataset)
    if title == result.task.dataset:
        return result
    return replace(result, task=replace_record(result.task, dataset=title))


def score_versions(
    task: str,
    answers: Path,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
) -> VersionReport:
    """Score the same answers against every published version of the dataset that is in `data`.

    The report also lists the items whose gold differs between the oldest and the newest version.
    """
    from nikawa.scoring.score import score_versions

    return score_versions(task, answers, split=split, data=data, options=options)


def compare(
    systems: Any,
    task: Any = None,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
    rounds: int | None = None,
    keys: Path | None = None,
    forms: Mapping[str, str] | None = None,
    by: str | Iterable[str] | None = None,
    partial: bool | None = None,
) -> Comparison:
    """Compare systems on the same items with paired tests.

    `systems` maps the name of a system to its answers, as `score` takes them, or to a list of paths or mappings with one for each
    seed. `task` is one task or several. `keys` is a key file, as in `score`. `forms` are the forms of answer files
    by system, where the content does not tell; the `form` of `options` is that of all others.

    `compare(tasks, systems)` works too: the mapping is the systems.

    >>> dev = load("mini-ja:dev").filter(lambda example: "label" in example.gold)
    >>> gold = {example.id: example.gold["label"] for example in dev}
    >>> constant = dict.fromkeys(gold, "neutral")
    >>> comparison = compare({"gold": gold, "constant": constant}, task="mini-ja-nli", rounds=200)
    >>> [row.system for row in comparison.systems if row.metric == "accuracy"]
    ['gold', 'constant']
    """
    from nikawa.errors import BadInput
    from nikawa.objects import CallFiles
    from nikawa.scoring.compare import compare
    from nikawa.scoring.score import ScoreOptions, with_keys
    from nikawa.stats.resample import TEST_RESAMPLES

    if isinstance(task, Mapping):
        systems, task = task, systems
    if not isinstance(systems, Mapping):
        what = f"cannot use {type(systems).__name__!r} as systems"
        raise BadInput(what, cure='pass a mapping: {"A": "a.jsonl", "B": "b.jsonl"}')
    if task is None:
        raise BadInput("no task is named", cure='say task="jnli"')
    tasks = list(task) if isinstance(task, list | tuple) else [task]
    with CallFiles(in_python=options is None) as files:
        chosen = set_options(options, ScoreOptions, by=as_names(by), partial=partial)
        answers = {
            str(name): [files.answers(one) for one in list_seeds(value)]
            for name, value in systems.items()
        }
        return compare(
            [files.dataset(one) for one in tasks],
            answers,
            split=split,
            data=data,
            options=with_keys(chosen, keys),
            rounds=TEST_RESAMPLES if rounds is None else rounds,
            forms=forms,
        )


def list_seeds(value: Any) -> list[Any]:
    """The answers of a system by seed: a list of paths or mappings of ids, or one set of answers."""
    from nikawa.objects import is_table

    if isinstance(value, list | tuple) and value:
        if all(isinstance(one, Path) or is_table(one) for one in value):
            return list(value)
        if all(isinstance(one, str) and Path(one).exists() for one in value):
            return list(value)
        if all(isinstance(one, Mapping) and not {"id", "example"} & one.keys() for one in value):
            return list(value)
        if all(isinstance(one, list | tuple) for one in value):
            return list(value)
    return [value]


def import_table(source: Path, out: Path, *, options: ImportOptions | None = None) -> ImportReport:
    """Make a dataset folder of a flat table: a file of rows, or a folder with a file a split.

    The options name columns, kind and labels where the table does not tell them. Raises `BadInput`
    where it is not sure which column is what.
    """
    from nikawa.datasets.import_table import import_table

    return import_table(source, out, options)


def hide_labels(
    dataset: str,
    out: Path,
    keys: Path,
    *,
    data: Path | None = None,
    options: HideOptions | None = None,
) -> HideReport:
    """Write a dataset folder without the labels of some splits; these go to the file `keys`.

    The options name the splits. Raises `BadInput` when ids, order, what is kept, or another split
    would give labels away.
    """
    from nikawa.checks.hide_job import hide

    return hide(dataset, out, keys, data=data, options=options)


def agree(
    judgements: Any,
    *,
    data: Path | None = None,
    options: AgreeOptions | None = None,
    question: str | None = None,
    level: str | None = None,
    by: str | Iterable[str] | None = None,
    examples: Any = None,
    columns: Mapping[str, str] | None = None,
) -> AgreeResult:
    """Measure how far workers agree, with confidence intervals.

    `judgements` are a file of any tool, a dataset that publishes its judgements, a DataFrame (columns `example`, `worker`,
    `answer`, or `task`, `worker`, `label`), or a list of `Judgement`s or rows. `level` is nominal, ordinal, interval or
    ratio. `by` slices by `tag` or a key of the meta of the `examples`, a dataset.
    `columns` names the columns where their headings do not: `{"example": "item", "worker": "who", "answer": "vote"}`.

    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "yes")]
    >>> table = [{"example": item, "worker": worker, "answer": answer} for item, worker, answer in rows]
    >>> agree(table).report.items
    2
    """
    from msgspec.structs import replace as replace_record

    from nikawa.aggregation.agree_job import AgreeOptions, AgreeResult, agree
    from nikawa.io.judgements import JudgementOptions
    from nikawa.objects import CallFiles

    with CallFiles(in_python=options is None) as files:
        chosen = set_options(
            options,
            AgreeOptions,
            question=question,
            level=level,
            by=as_names(by),
            examples=None if examples is None else files.dataset(examples),
            how=None if columns is None else JudgementOptions(mapping=dict(columns)),
        )
        result = agree(files.judgements(judgements), data, chosen)
        report = replace_record(result.report, judgements=files.title(result.report.judgements))
        return AgreeResult(report, result.table)


def aggregate(
    judgements: Any,
    *,
    data: Path | None = None,
    options: AggregateOptions | None = None,
    rule: str | Iterable[str] | None = None,
    ties: str | None = None,
    question: str | None = None,
    examples: Any = None,
    exclude: str | Iterable[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> AggregateResult:
    """Make gold from judgements by a named rule, with a reason for every item.

    `judgements` are as in `agree`. `rule` is `majority`, `mean`, `dawid-skene`, … (docs/aggregate.md lists them), or
    several as `QUESTION=RULE`. `ties` is `adjudicate`, `drop` or `prefer:LABEL`. `gold` of the result maps each item
    to its answers.

    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "yes")]
    >>> table = [{"example": item, "worker": worker, "answer": answer} for item, worker, answer in rows]
    >>> aggregate(table, rule="majority", ties="drop").gold
    {'q1': {'label': 'yes'}}
    """
    from dataclasses import replace

    from msgspec.structs import replace as replace_record

    from nikawa.aggregation.job import AggregateOptions, aggregate
    from nikawa.io.judgements import JudgementOptions
    from nikawa.objects import CallFiles

    with CallFiles(in_python=options is None) as files:
        chosen = set_options(
            options,
            AggregateOptions,
            rules=as_names(rule),
            ties=ties,
            question=question,
            exclude=as_names(exclude),
            examples=None if examples is None else files.dataset(examples),
            how=None if columns is None else JudgementOptions(mapping=dict(columns)),
        )
        result = aggregate(files.judgements(judgements), data, chosen)
        title = files.title(result.report.judgements)
        return replace(result, report=replace_record(result.report, judgements=title))


@overload
def clean(
    texts: Any,
    out: None = None,
    *,
    options: None = None,
    scorer: ToxicityScorer | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    language: str | None = None,
    steps: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
) -> MadeDataset: ...
@overload
def clean(
    texts: Any,
    out: Path | str,
    *,
    options: CleanOptions | None = None,
    scorer: ToxicityScorer | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    language: str | None = None,
    steps: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
) -> CleanReport: ...
def clean(
    texts: Any,
    out: Path | str | None = None,
    *,
    options: CleanOptions | None = None,
    scorer: ToxicityScorer | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    language: str | None = None,
    steps: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
) -> MadeDataset | CleanReport:
    """Clean source texts into candidate sentences: a dataset in memory, or the records file `out`.

    `texts` are a file, a list of `Path`s, or texts in memory: a list of texts, a DataFrame or rows with a column `text`.
    `on_progress` is called with the documents and the characters that are done.

    >>> clean(["これは短い例文ですが、候補として残るだけの長さがあります。"], language="ja")[0].inputs["text"]
    'これは短い例文ですが、候補として残るだけの長さがあります。'
    """
    from msgspec.structs import replace as replace_record

    from nikawa.cleaning.job import CleanOptions, clean
    from nikawa.objects import CallFiles

    listener = on_progress or (lambda documents, characters: None)
    with CallFiles(in_python=options is None) as files:
        chosen = set_options(
            options, CleanOptions, steps=as_names(steps), without=as_names(without)
        )
        if language is not None:
            settings = replace_record(chosen.settings, language=language)
            chosen = replace_record(chosen, settings=settings)
        sources = files.documents(texts)
        path = files.place("candidates.jsonl", "the candidates") if out is None else Path(out)
        report = clean(sources, path, chosen, scorer=scorer, on_progress=listener)
        if out is not None:
            return report
        named = tuple(replace_record(file, path=files.title(file.path)) for file in report.files)
        report = replace_record(report, files=named)
        return attach_report(load_made(path), report)


def load_made(path: Path) -> Dataset:
    """The dataset of a file that was just written, which may hold nothing."""
    from nikawa.datasets.load import load, loose_dataset

    if path.is_file() and not path.stat().st_size:
        return loose_dataset(path, ())
    return load(str(path))


@overload
def pair(
    method: str,
    sentences: Any,
    *,
    options: None = None,
    on_progress: Callable[[int, int], None] | None = None,
    out: None = None,
    units: str | None = None,
    rouge: str | None = None,
    field: str | None = None,
    seed: int | None = None,
) -> MadeDataset: ...
@overload
def pair(
    method: str,
    sentences: Any,
    *,
    options: PairOptions | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    out: Path | str | None = None,
    units: str | None = None,
    rouge: str | None = None,
    field: str | None = None,
    seed: int | None = None,
) -> PairReport: ...
def pair(
    method: str,
    sentences: Any,
    *,
    options: PairOptions | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    out: Path | str | None = None,
    units: str | None = None,
    rouge: str | None = None,
    field: str | None = None,
    seed: int | None = None,
) -> MadeDataset | PairReport:
    """Pair sentences: a dataset in memory, or the records file `out`. docs/pair.md describes the methods.

    `sentences` are a text file (one a line), a records file, or sentences in memory as for `clean`.

    >>> pairs = pair("greedy", ["犬が走る", "犬が歩く", "雨が降る", "雪が降る"], units="characters")
    >>> pairs[0].inputs
    {'sentence1': '雨が降る', 'sentence2': '雪が降る'}
    """
    from msgspec.structs import replace as replace_record

    from nikawa.objects import CallFiles
    from nikawa.pairing.job import PairOptions, pair

    in_memory = out is None and options is None
    with CallFiles(in_python=options is None) as files:
        path = files.place("pairs.jsonl", "the pairs") if in_memory else out
        chosen = set_options(
            options,
            PairOptions,
            out=None if path is None else Path(path),
            units=units,
            rouge=rouge,
            field=field,
            seed=seed,
        )
        report = pair(method, files.sentences(sentences), options=chosen, on_progress=on_progress)
        if not in_memory:
            return report
        return attach_report(load_made(Path(str(path))), replace_record(report, out=None))


@overload
def generate(
    pack: str | Path,
    out: None = None,
    *,
    data: Path | None = None,
    options: GenerateOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    per_cell: int | Mapping[str, int] | None = None,
    total: int | Mapping[str, int] | None = None,
    seed: int | None = None,
    splits: str | Iterable[str] | None = None,
) -> MadeDataset: ...
@overload
def generate(
    pack: str | Path,
    out: Path | str,
    *,
    data: Path | None = None,
    options: GenerateOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    per_cell: int | Mapping[str, int] | None = None,
    total: int | Mapping[str, int] | None = None,
    seed: int | None = None,
    splits: str | Iterable[str] | None = None,
) -> GenerateReport: ...
def generate(
    pack: str | Path,
    out: Path | str | None = None,
    *,
    data: Path | None = None,
    options: GenerateOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    per_cell: int | Mapping[str, int] | None = None,
    total: int | Mapping[str, int] | None = None,
    seed: int | None = None,
    splits: str | Iterable[str] | None = None,
) -> MadeDataset | GenerateReport:
    """Generate inference problems from a pack of templates; labels are computed.

    Without `out` the dataset comes in memory; with it, it is written to that folder, and an unfinished folder with the same
    settings is continued. `per_cell` is the number of problems of each cell of the pack, `total` the number in all; a mapping
    gives a number for each split.

    >>> problems = generate("temporal-ja", per_cell={"train": 0, "test": 1}, seed=1)
    >>> len(problems["test"]) == problems.report.splits["test"].problems
    True
    """
    from msgspec.structs import replace as replace_record

    from nikawa.datasets.load import load
    from nikawa.errors import BadInput
    from nikawa.generation.job import GenerateOptions, generate
    from nikawa.objects import CallFiles

    if per_cell is not None and total is not None:
        raise BadInput("per_cell and total are both set", cure="say one of them")
    number = per_cell if total is None else total
    counts = {"": number} if isinstance(number, int) else number
    with CallFiles(in_python=options is None) as files:
        chosen = set_options(
            options,
            GenerateOptions,
            counts=counts,
            per=None if total is None else "total",
            seed=seed,
            splits=as_names(splits),
        )
        folder = files.place("generated", "the dataset") if out is None else Path(out)
        report = generate(str(pack), folder, data=data, options=chosen, on_progress=on_progress)
        if out is not None:
            return report
        if report.gate is not None and not report.gate.passed:
            raise BadInput("the gate did not pass", cure="say out= to see its report")
        return attach_report(load(str(folder)), replace_record(report, folder=""))


@overload
def perturb(
    operations: str | Iterable[str],
    dataset: Any,
    *,
    data: Path | None = None,
    options: None = None,
    on_progress: Callable[..., None] | None = None,
    out: None = None,
    case: str | Iterable[str] | None = None,
    split: str | None = None,
    inputs: str | Iterable[str] | None = None,
    seed: int | None = None,
    assume_eligible: bool | None = None,
) -> MadeDataset: ...
@overload
def perturb(
    operations: str | Iterable[str],
    dataset: Any,
    *,
    data: Path | None = None,
    options: PerturbOptions,
    on_progress: Callable[..., None] | None = None,
) -> PerturbReport: ...
@overload
def perturb(
    operations: str | Iterable[str],
    dataset: Any,
    *,
    data: Path | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str,
    case: str | Iterable[str] | None = None,
    split: str | None = None,
    inputs: str | Iterable[str] | None = None,
    seed: int | None = None,
    assume_eligible: bool | None = None,
) -> PerturbReport: ...
def perturb(
    operations: str | Iterable[str],
    dataset: Any,
    *,
    data: Path | None = None,
    options: PerturbOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    case: str | Iterable[str] | None = None,
    split: str | None = None,
    inputs: str | Iterable[str] | None = None,
    seed: int | None = None,
    assume_eligible: bool | None = None,
) -> MadeDataset | PerturbReport:
    """Apply operations (`swap`, `scramble`, `particles`, `width-full`, …) to a dataset, each example linked to its parent.

    The result has a split for each operation. `case` picks the case particle of an operation (`o`, `ni`, `de`; Korean: `eul`, `e`,
    `eseo`). With `out` the result is written to a records file or a dataset folder.

    >>> row = {"premise": "犬が骨を埋めた。", "hypothesis": "犬が骨を掘った。", "label": "neutral"}
    >>> perturb("swap", [row], case="o")[0].inputs["premise"]
    '犬を骨が埋めた。'
    """
    from msgspec.structs import replace as replace_record

    from nikawa.datasets.load import load
    from nikawa.errors import BadInput
    from nikawa.objects import CallFiles
    from nikawa.perturbation.job import PerturbOptions, perturb

    in_memory = out is None and options is None
    with CallFiles(in_python=options is None) as files:
        path = files.place("perturbed", "the result") if in_memory else out
        chosen = set_options(
            options,
            PerturbOptions,
            out=None if path is None else Path(path),
            cases=as_names(case),
            split=split,
            inputs=as_names(inputs),
            seed=seed,
            assume_eligible=assume_eligible,
        )
        spec = files.dataset(dataset)
        try:
            report = perturb(operations, spec, data=data, options=chosen, on_progress=on_progress)
        except BadInput as problem:
            if in_memory and problem.file == path:
                cure = "nk.perturb(…, options=PerturbOptions()) reports all reasons"
                raise BadInput(problem.what, cure=cure) from None
            raise
        if not in_memory:
            return report
        return attach_report(load(str(path)), replace_record(report, out=None))


@overload
def tag(
    dataset: Any,
    *,
    data: Path | None = None,
    options: None = None,
    on_progress: Callable[..., None] | None = None,
    out: None = None,
    pack: str | None = None,
    inputs: str | Iterable[str] | None = None,
) -> MadeDataset: ...
@overload
def tag(
    dataset: Any,
    *,
    data: Path | None = None,
    options: TagOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    pack: str | None = None,
    inputs: str | Iterable[str] | None = None,
) -> TagReport: ...
def tag(
    dataset: Any,
    *,
    data: Path | None = None,
    options: TagOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    pack: str | None = None,
    inputs: str | Iterable[str] | None = None,
) -> MadeDataset | TagReport:
    """Tag the examples of a dataset with the linguistic phenomena of a pack: the dataset in memory, or written to `out`.

    >>> tagged = tag("mini-ja:dev")
    >>> tagged.report.sizes
    {'dev': 30}
    """
    from nikawa.datasets.load import load
    from nikawa.objects import CallFiles
    from nikawa.tagging.job import TagOptions, tag

    in_memory = out is None and options is None
    with CallFiles(in_python=options is None) as files:
        path = files.place("tagged", "the result") if in_memory else out
        chosen = set_options(
            options,
            TagOptions,
            out=None if path is None else Path(path),
            pack=pack,
            inputs=as_names(inputs),
        )
        report = tag(files.dataset(dataset), data=data, options=chosen, on_progress=on_progress)
        return attach_report(load(str(path)), report) if in_memory else report


@overload
def split(
    dataset: Any,
    *,
    data: Path | None = None,
    options: None = None,
    on_progress: Callable[..., None] | None = None,
    out: None = None,
    by: str | None = None,
    sizes: str | Sequence[float] | None = None,
    names: Iterable[str] | None = None,
    seed: int | None = None,
) -> MadeDataset: ...
@overload
def split(
    dataset: Any,
    *,
    data: Path | None = None,
    options: SplitOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    by: str | None = None,
    sizes: str | Sequence[float] | None = None,
    names: Iterable[str] | None = None,
    seed: int | None = None,
) -> SplitReport: ...
def split(
    dataset: Any,
    *,
    data: Path | None = None,
    options: SplitOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    by: str | None = None,
    sizes: str | Sequence[float] | None = None,
    names: Iterable[str] | None = None,
    seed: int | None = None,
) -> MadeDataset | SplitReport:
    """Split a dataset into parts and check what leaks between them: the dataset in memory, or a folder `out`.

    `sizes` are shares or counts of the parts: `(0.8, 0.1, 0.1)` or `"0.8,0.1,0.1"`. `names` are the names of the parts. `by`
    is a way to split; docs/split.md lists them.

    >>> nli = load("mini-ja").filter(lambda example: "label" in example.gold)
    >>> parts = split(nli, sizes=(0.5, 0.5), names=("train", "test"), seed=1)
    >>> list(parts.splits)
    ['train', 'test']
    """
    from dataclasses import replace

    from msgspec.structs import replace as replace_record

    from nikawa.datasets.load import load
    from nikawa.objects import CallFiles
    from nikawa.splitting.job import SplitOptions, split

    in_memory = out is None and options is None
    with CallFiles(in_python=options is None) as files:
        path = files.place("split", "the result") if in_memory else out
        shares = sizes if sizes is None or isinstance(sizes, str) else ",".join(map(str, sizes))
        chosen = set_options(
            options,
            SplitOptions,
            out=None if path is None else Path(path),
            by=by,
            sizes=shares,
            names=as_names(names),
        )
        if seed is not None:
            chosen = replace(chosen, settings=replace(chosen.settings, seed=seed))
        report = split(files.dataset(dataset), data=data, options=chosen, on_progress=on_progress)
        if not in_memory:
            return report
        return attach_report(load(str(path)), replace_record(report, out=None))


def run(
    models: RunRequest | str | Sequence[str] | Mapping[str, str],
    options: RunOptions | None = None,
    *,
    tasks: Any = None,
    seeds: int | Iterable[int] = 1,
    settings: Mapping[str, Any] | None = None,
    inputs: str | Iterable[str] = (),
    limit: int = 0,
    out: Path | str | None = None,
    data: Path | None = None,
    workers: int | None = None,
) -> RunReport:
    """Run models on tasks: plan, choose settings on dev where there is a choice, run, and sum up over seeds.

    `models` are names, or a mapping from your name of a model to its own. `tasks` are a name, a path, a dataset in memory,
    or a list of those. `seeds` is how many, or which. Runs are stored in the folder `out` (default: `runs`); finished ones are not
    repeated, and a run that fails does not stop the others. A dataset in memory is stored there too, in
    `.datasets`: analyses and reports read it again.

    Runs are done in this process, one after the other; `workers` says how many at a time (0: as many as there are
    processors). More than one needs `if __name__ == "__main__":` in a script. A `RunRequest` in place of the models
    has all there is to say.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     done = run(["majority"], tasks="mini-ja-nli", out=folder)
    >>> done.done, done.cells[0].model
    (1, 'majority')
    """
    from nikawa.errors import BadInput
    from nikawa.objects import CallFiles
    from nikawa.runs.job import RunOptions, run
    from nikawa.runs.request import RunRequest

    folder = None if out is None else Path(out)
    if isinstance(models, RunRequest):
        return run(models, set_options(options, RunOptions, out=folder, data=data, workers=workers))
    if tasks is None:
        raise BadInput("no task is named", cure='say tasks="jnli", or pass a dataset')
    if options is None and workers is None:
        workers = 1
    chosen = set_options(options, RunOptions, out=folder, data=data, workers=workers)
    names = as_names(models) or ()
    if isinstance(models, Mapping):
        names = tuple(f"{name}={full}" for name, full in models.items())
    with CallFiles(in_python=options is None) as files:
        several = (
            list(tasks) if isinstance(tasks, list | tuple) and not holds_rows(tasks) else [tasks]
        )
        request = RunRequest(
            tasks=tuple(
                str(one) if isinstance(one, str | Path) else store_dataset(files, one, chosen.out)
                for one in several
            ),
            models=names,
            seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
            settings=settings or {},
            inputs=as_names(inputs) or (),
            limit=limit,
        )
        return run(request, chosen)


def holds_rows(value: Sequence[Any]) -> bool:
    """Whether a list holds the rows of one dataset, not several datasets."""
    from nikawa.records import Example

    return bool(value) and all(
        isinstance(one, Example) or (isinstance(one, Mapping) and "id" in one) for one in value
    )


def store_dataset(files: CallFiles, value: Any, out: Path) -> str:
    """Store a dataset in memory among the runs that will need it, under its name and a digest; the path of its folder."""
    from hashlib import blake2b

    from msgspec import json

    from nikawa.io.file_names import to_file_name
    from nikawa.io.folders import CARD, write_folder
    from nikawa.records import Dataset

    made = files.to_dataset(value)
    plain = Dataset(
        name=made.name,
        language=made.language,
        version=made.version,
        card=made.card,
        splits=made.splits,
    )
    digest = blake2b(json.encode(plain, order="deterministic"), digest_size=6).hexdigest()
    folder = out / DATASETS_OF_RUNS / digest / to_file_name(made.name)
    if not (folder / CARD).exists():
        write_folder(plain, folder)
    return str(folder)


def list_run_folders(runs: Any) -> list[str]:
    """The folders that a user names: those of a `RunReport`, one path, or several."""
    from nikawa.errors import BadInput
    from nikawa.runs.job import RunReport

    if isinstance(runs, RunReport):
        folders = dict.fromkeys(folder for cell in runs.cells for folder in cell.runs)
        if not folders:
            raise BadInput("no run of the report is finished", cure="its field problems says why")
        return [str(Path(runs.out) / folder) for folder in folders]
    if isinstance(runs, str | Path):
        return [str(runs)]
    if not isinstance(runs, Iterable):
        cure = "pass what nk.run returned, a folder of runs, or a list of folders"
        raise BadInput(f"cannot use {type(runs).__name__!r} as runs", cure=cure)
    return [folder for one in runs for folder in list_run_folders(one)]


def analyse(
    runs: Any,
    *,
    out: Path | None = None,
    data: Path | None = None,
    options: AnalysisOptions | None = None,
    overwrite: bool = False,
    hidden: bool = False,
    keys: Path | None = None,
    on_progress: Callable[..., None] | None = None,
) -> Analyses:
    """Analyse stored runs: where systems fail, and how sure that is.

    `runs` are what `run` returned, folders, folders of runs, or patterns. The analyses are written to `out`, by default the
    folder `analyses` beside the runs. `hidden` and `keys` are for people who hold hidden labels; what is written is
    private then.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     analyses = analyse(run(["majority"], tasks="mini-ja-nli", out=folder))
    >>> [each.system.model for each in analyses.each]
    ['majority']
    """
    from nikawa.analysis.job import analyse
    from nikawa.objects import CallFiles

    with CallFiles(in_python=options is None):
        return analyse(
            list_run_folders(runs),
            out=None if out is None else Path(out),
            data=data,
            options=options,
            overwrite=overwrite,
            hidden=hidden,
            keys=keys,
            on_progress=on_progress,
        )


def report(
    runs: Any,
    out: Path | str = "report",
    options: ReportOptions | None = None,
    *,
    title: str | None = None,
    data: Path | None = None,
    overwrite: bool | None = None,
) -> ReportResult:
    """Write a page, tables and figures about stored runs into the folder `out`.

    `runs` are what `run` returned, folders, folders of runs, or patterns.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     runs = run(["majority"], tasks="mini-ja-nli", out=f"{folder}/runs")
    ...     report(runs, out=f"{folder}/report").systems
    ('majority',)
    """
    from nikawa.objects import CallFiles
    from nikawa.reporting.job import ReportOptions, report

    with CallFiles(in_python=options is None):
        chosen = set_options(options, ReportOptions, title=title, data=data, overwrite=overwrite)
        return report(list_run_folders(runs), Path(out), chosen)


def model(name: str, *, seed: int = 0, settings: Mapping[str, Any] | None = None) -> Predictor:
    """Make a model by its full name, such as `majority` or `encoder:PATH`.

    A model that learns must be fitted before it answers.

    >>> task, train = load_task("mini-ja-nli", "train")
    >>> majority = model("majority")
    >>> majority.fit(task, train)
    >>> next(iter(majority.predict(task, train[:1]))).answer in task.labels
    True
    """
    from nikawa.models import model

    return model(name, seed=seed, settings=settings)
