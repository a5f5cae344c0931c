"""The Python API: one function for each job of Nikawa, as `nikawa.NAME`.

Every function takes a name, a path or an object (a `Dataset`, a DataFrame, a list of records, a mapping). It returns a typed result
that prints as a table, shows as HTML in a notebook, and converts to a DataFrame with `to_pandas()`. Keyword arguments have the
names of the command-line options. Rarely needed settings are fields of the job's options, such as
`nikawa.scoring.score.ScoreOptions`; pass them as `options=`.

Functions that make a dataset (`clean`, `pair`, `generate`, `perturb`, `tag`, `split`) return it in memory; its field `report` is the
report of the job. With `out=` or `options=` they write files and return only the report, as the command line needs it.

Functions that work in chunks (`clean`, `pair`, `generate`, `perturb`, `tag`) use one process of this machine. `workers` is a number of
processes; with more than one, a script needs `if __name__ == "__main__":`. `executor="ray"` works on a Ray cluster, where `address` is
HOST:PORT or `auto`. The result does not depend on these.

`nikawa.objects` turns objects into the files that the jobs read. Each function imports its job when you call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, Unpack, cast, overload

from nikawa.io.remote import to_path

if TYPE_CHECKING:
    from nikawa.aggregation.agree_job import AgreeOptions, AgreeResult
    from nikawa.aggregation.job import AggregateOptions
    from nikawa.aggregation.recheck import RecheckOptions, RecheckReport
    from nikawa.aggregation.report import AggregateResult
    from nikawa.analysis.job import AnalysisOptions
    from nikawa.analysis.memory.job import MemoryOptions, MemoryReport
    from nikawa.analysis.results import Analyses
    from nikawa.board.client import SubmitOptions, SubmitReport
    from nikawa.checks.hide_job import HideOptions, HideReport
    from nikawa.cleaning.job import CleanOptions, CleanReport
    from nikawa.cleaning.toxicity import Scorer as ToxicityScorer
    from nikawa.datasets.import_table import ImportOptions, ImportReport
    from nikawa.exchange.job import ToolOptions, ToolReport
    from nikawa.exchange.reading.job import TaskReport
    from nikawa.generation.job import GenerateOptions, GenerateReport
    from nikawa.judging.job import JudgeOptions, JudgeReport
    from nikawa.models.base import Predictor
    from nikawa.objects import CallFiles
    from nikawa.pairing.job import PairOptions, PairReport
    from nikawa.perturbation.job import PerturbOptions, PerturbReport
    from nikawa.records import Dataset, Example, Judgement, MadeDataset, Task
    from nikawa.reporting.job import ReportOptions, ReportResult
    from nikawa.runs.job import RunOptions, RunReport
    from nikawa.scoring.compare import Comparison
    from nikawa.scoring.many import ScoredFile, ScoredFiles
    from nikawa.scoring.score import ScoreOptions, ScoreResult, VersionReport
    from nikawa.splitting.job import SplitOptions, SplitReport
    from nikawa.tagging.job import TagOptions, TagReport

P = ParamSpec("P")
T = TypeVar("T")
SYNONYMS = {
    "annotations": ("judgements",),
    "lang": ("language",),
    "method": ("rule", "by", "operations"),
    "metric": ("metrics", "level"),
    "model": ("models",),
    "n": ("per_cell", "limit"),
    "num": ("per_cell", "limit"),
    "output": ("out",),
    "path": ("out",),
    "predictions": ("answers", "systems"),
    "preds": ("answers", "systems"),
    "random_state": ("seed", "seeds"),
    "ratios": ("sizes",),
    "test_size": ("sizes",),
    "train_size": ("sizes",),
}
"""What people call an argument in other libraries, and its names here."""
MAPPING_CURES = {
    "compare": 'pass the systems as one mapping: nk.compare({"A": a, "B": b}, task="jnli")',
}
"""Functions that people call with several arguments in place of one mapping, and what to write."""
DATASETS_OF_RUNS = ".datasets"
"""The folder next to stored runs for datasets that were passed as objects: analyses and reports read them again."""


def set_options(options: T | None, kind: type[T], /, **settings: Any) -> T:
    """Return the options of a job with the settings that are not None."""
    from msgspec import Struct
    from msgspec.structs import replace as replace_record

    chosen = {name: value for name, value in settings.items() if value is not None}
    base: Any = kind() if options is None else options
    made: T = (replace_record if isinstance(base, Struct) else replace)(base, **chosen)
    return made


def check_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that a call with wrong arguments says which ones it has, and which one was probably meant.

    >>> score("mini-ja-nli", {}, metric="accuracy")
    Traceback (most recent call last):
        ...
    TypeError: nk.score() has no argument 'metric'; did you mean 'metrics'?
    """
    own = signature(function)

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> T:
        try:
            own.bind(*args, **keywords)
        except TypeError as problem:
            what = f"nk.{function.__name__}(): {problem}"
            cure = f"its arguments are {', '.join(own.parameters)}"
            if len(args) > 1 and function.__name__ in MAPPING_CURES:
                cure = f"{cure}; {MAPPING_CURES[function.__name__]}"
            if wrong := next((name for name in keywords if name not in own.parameters), None):
                from nikawa.errors import suggest

                what = f"nk.{function.__name__}() has no argument {wrong!r}"
                meant = [each for each in SYNONYMS.get(wrong, ()) if each in own.parameters]
                cure = f"did you mean {meant[0]!r}?" if meant else suggest(wrong, own.parameters)
            raise TypeError(f"{what}; {cure}") from None
        return function(*args, **keywords)

    return call


def open_call(name: str, kind: type[Any] | None = None, options: Any = None) -> CallFiles:
    """Return the temporary files of one call to the function `name` of this module."""
    from nikawa.objects import CallFiles

    return CallFiles(globals()[name], kind, options)


def as_names(value: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return one name or several names as a tuple; None stays None.

    >>> as_names("gold"), as_names(["gold", "tag"]), as_names(None)
    (('gold',), ('gold', 'tag'), None)
    """
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def attach_report(dataset: Dataset, report: Any) -> MadeDataset:
    """Return a new dataset together with the report of the job that made it."""
    from nikawa.records import MadeDataset

    return MadeDataset(
        name=dataset.name,
        language=dataset.language,
        version=dataset.version,
        card=dataset.card,
        splits=dataset.splits,
        report=report,
    )


@check_arguments
def load(
    dataset: Any,
    *,
    split: str | None = None,
    data: Path | None = None,
    version: str | None = None,
    hidden: bool = False,
    columns: Mapping[str, str] | None = None,
    kind: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Dataset:
    """Load a dataset: `jsick`, `jsick:test`, a dataset folder, a records file, `jsick@file.tsv`, or an object.

    An object is a DataFrame, a list of `Example`s or rows, or a mapping from split to one of those. Rows with `inputs` are
    records. Flat rows are imported as `nikawa data import` imports them; a column `split` names the split of a row. If the column
    names are not clear, describe them with `columns` (field to column), `kind` and `labels`. `split` loads one split only, as
    `jsick:test` does.

    `data` is the folder of the published datasets (default: `NIKAWA_DATA`, then the user's data folder).

    Hidden labels are removed, so that a notebook does not show them by accident. If you own the labels, pass `hidden=True`.

    >>> jnli = load("mini-ja")
    >>> len(jnli), len(jnli["dev"])
    (116, 30)
    >>> load([{"premise": "犬が走る。", "hypothesis": "動物が走る。", "label": "entailment"}])[0].gold
    {'label': 'entailment'}
    """
    from nikawa.datasets.hidden import remove_hidden_labels
    from nikawa.datasets.import_table import ImportOptions
    from nikawa.datasets.load import load

    with open_call("load") as files:
        if isinstance(dataset, str | Path):
            name = str(to_path(dataset)) if isinstance(dataset, Path) else dataset
            made = load(name, data=data, version=version, hidden=hidden)
        else:
            options = set_options(None, ImportOptions, columns=columns, kind=kind, labels=labels)
            made = files.to_dataset(dataset, options)
            made = made if hidden else remove_hidden_labels(made)
    return made if split is None else made[split].dataset


@check_arguments
def load_task(
    name: Any, split: str, *, data: Path | None = None, hidden: bool = False
) -> tuple[Task, tuple[Example, ...]]:
    """Load a task and the examples of one split. `hidden` works as in `load`.

    `name` is the name of a task, a dataset folder, or a dataset in memory. Raises `BadInput` if a dataset has several tasks.

    >>> task, examples = load_task("mini-ja-nli", "dev")
    >>> task.labels
    ('entailment', 'contradiction', 'neutral')
    """
    from msgspec.structs import replace as replace_record

    from nikawa.datasets.load import load
    from nikawa.datasets.task_lookup import find_tasks
    from nikawa.errors import BadInput

    with open_call("load_task") as files:
        tasks = find_tasks(files.task(name, data))
        if len(tasks) != 1:
            cure = f"name one: {', '.join(task.name for task in tasks)}"
            raise BadInput(f"the dataset has {len(tasks)} tasks", cure=cure)
        [task] = tasks
        dataset = load(f"{task.dataset}:{split}", data=data, hidden=hidden)
        examples = tuple(example for example in dataset if task.asks(example))
        return replace_record(task, dataset=files.title(task.dataset)), examples


@check_arguments
def read_judgements(
    dataset: str, *, data: Path | None = None, counted: bool = False
) -> Iterator[Judgement]:
    """Read the published judgements of a dataset (`jsick`) or of one split (`jsick:test`).

    With `counted`, read only the judgements that the published gold labels were made from.

    >>> judgements = list(read_judgements("mini-ja"))
    >>> judgements[0].question
    'label'
    """
    from nikawa.datasets import read_judgements

    return read_judgements(dataset, data=data, counted=counted)


@check_arguments
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

    `task` is the name of a task, a dataset folder, or a dataset in memory. `answers` is a path, a mapping from id to answer, a
    DataFrame (columns `id` and `answer`, or any columns that an answer file may have), a list of `Prediction`s or rows, or a list of
    plain answers in the order of the items.

    Without `split`, the ids of the answers determine the split. Missing answers raise `BadInput` unless you pass
    `partial=True`. The report counts ids that belong to no example. `by` slices the scores by `tag`, `gold` or a key of the
    metadata. To score a dataset whose labels `hide_labels` removed, pass the key file as `keys`.

    >>> dev = load("mini-ja:dev")
    >>> gold = {example.id: example.gold["label"] for example in dev if "label" in example.gold}
    >>> result = score("mini-ja-nli", gold)
    >>> result.report.scores[0].value
    100.0
    """
    from nikawa.scoring.score import ScoreOptions, score, with_keys

    with open_call("score", ScoreOptions, options) as files:
        name = files.task(task, data)
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


@check_arguments
def score_many(
    task: Any,
    answers: Iterable[Any],
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
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> ScoredFiles:
    """Score many files of answers to one task, each as `score` does, in several processes or on a cluster.

    `answers` is a list of paths, or of answers as `score` takes them. The result has one row per file in their order: its report,
    or in `problem` what is wrong with it; the other files are scored all the same.

    >>> result = score_many("mini-ja-nli", [{"nli-019": "neutral"}], partial=True)
    >>> result.files[0].report.answered
    1
    """
    from msgspec.structs import replace as replace_record

    from nikawa.scoring.many import Place, score_many
    from nikawa.scoring.score import ScoreOptions, with_keys

    with open_call("score_many", ScoreOptions, options) as files:
        name = files.task(task, data)
        chosen = set_options(
            options,
            ScoreOptions,
            by=as_names(by),
            partial=partial,
            metrics=as_names(metrics),
            form=form,
            hidden=hidden,
        )
        place = Place(workers=workers or 1, executor=executor or "", address=address or "")
        paths = [files.answers(each) for each in answers]
        scored = score_many(
            name, paths, split=split, data=data, options=with_keys(chosen, keys), place=place
        )
        titled = (_title_file(file, files) for file in scored.files)
        return replace_record(scored, files=tuple(titled))


def _title_file(file: ScoredFile, files: CallFiles) -> ScoredFile:
    """Replace the temporary paths of answers and datasets in memory by their names."""
    from msgspec.structs import replace as replace_record

    title = files.title(file.file)
    problem = file.problem.replace(file.file, title)
    if file.report is not None:
        task = files.title(file.report.task)
        file = replace_record(file, report=replace_record(file.report, task=task))
    return replace_record(file, file=title, problem=problem)


def title_task(result: ScoreResult, files: CallFiles) -> ScoreResult:
    """Replace the temporary path of a dataset in memory by its name."""
    from msgspec.structs import replace as replace_record

    title = files.title(result.task.dataset)
    if title == result.task.dataset:
        return result
    return replace(result, task=replace_record(result.task, dataset=title))


@check_arguments
def score_versions(
    task: str,
    answers: Any,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
) -> VersionReport:
    """Score the same answers against every published version of the dataset that is in `data`.

    `answers` is what `score` takes. The report also lists the items whose gold label differs between the oldest and the
    newest version.

    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> row = {"sentence_pair_id": "0", "yjcaptions_id": "1-2-3", "sentence1": "本がある。", "sentence2": "机がある。"}
    >>> with TemporaryDirectory() as folder:
    ...     for version, label in (("1.1", "entailment"), ("1.3", "neutral")):
    ...         release = Path(folder, "jglue", "datasets", f"jnli-v{version}")
    ...         release.mkdir(parents=True)
    ...         path = release / f"valid-v{version}.json"
    ...         _ = path.write_text(json.dumps({**row, "label": label}) + "\\n", "utf-8")
    ...     result = score_versions("jnli", {"0": "neutral"}, data=Path(folder))
    >>> [(report.version, report.scores[0].value) for report in result.reports]
    [('1.1', 0.0), ('1.3', 1.0)]
    """
    from nikawa.scoring.score import ScoreOptions, score_versions

    with open_call("score_versions", ScoreOptions, options) as files:
        path = files.answers(answers)
        return score_versions(task, path, split=split, data=data, options=options)


@check_arguments
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

    `systems` maps the name of a system to its answers, as `score` takes them, or to a list of paths or mappings with one entry per
    seed. `task` is one task or several. `keys` is a key file, as in `score`. If Nikawa cannot recognise the format of an
    answer file, name it in `forms` (system to form); the `form` of `options` applies to all other systems.

    `compare(tasks, systems)` works too: the mapping is the systems.

    >>> dev = load("mini-ja:dev").filter(lambda example: "label" in example.gold)
    >>> gold = {example.id: example.gold["label"] for example in dev}
    >>> constant = dict.fromkeys(gold, "neutral")
    >>> comparison = compare({"gold": gold, "constant": constant}, task="mini-ja-nli", rounds=200)
    >>> [row.system for row in comparison.systems if row.metric == "accuracy"]
    ['gold', 'constant']
    """
    from msgspec.structs import replace as replace_record

    from nikawa.errors import BadInput
    from nikawa.scoring.compare import compare
    from nikawa.scoring.score import ScoreOptions, with_keys
    from nikawa.stats.resample import TEST_RESAMPLES

    if isinstance(task, Mapping):
        systems, task = task, systems
    if not isinstance(systems, Mapping):
        what = f"cannot use {type(systems).__name__!r} as systems"
        raise BadInput(what, cure='pass a mapping: {"A": "a.jsonl", "B": "b.jsonl"}')
    if task is None:
        raise BadInput("the task is missing", cure='pass task="jnli", for example')
    tasks = list(task) if isinstance(task, list | tuple) else [task]
    with open_call("compare", ScoreOptions, options) as files:
        chosen = set_options(options, ScoreOptions, by=as_names(by), partial=partial)
        answers = {
            str(name): [files.answers(one) for one in list_seeds(value)]
            for name, value in systems.items()
        }
        result = compare(
            [files.task(one, data) for one in tasks],
            answers,
            split=split,
            data=data,
            options=with_keys(chosen, keys),
            rounds=TEST_RESAMPLES if rounds is None else rounds,
            forms=forms,
        )
        differing = {files.title(pair): ids for pair, ids in result.differing.items()}
        return replace_record(result, differing=differing)


def list_seeds(value: Any) -> list[Any]:
    """Return the answers of a system by seed: a list of paths or mappings, or one set of answers."""
    from nikawa.objects import is_table

    if isinstance(value, list | tuple) and value:
        if all(isinstance(one, Path) or is_table(one) for one in value):
            return list(value)
        if all(isinstance(one, str) and to_path(one).exists() for one in value):
            return list(value)
        if all(isinstance(one, Mapping) and not {"id", "example"} & one.keys() for one in value):
            return list(value)
        if all(isinstance(one, list | tuple) for one in value):
            return list(value)
    return [value]


@check_arguments
def import_table(
    source: Path | str, out: Path | str, *, options: ImportOptions | None = None
) -> ImportReport:
    """Write a dataset folder from a flat table: a file of rows, or a folder with one file per split.

    If the column names are not clear, name columns, kind and labels in the options. Raises `BadInput` if the role of a
    column is ambiguous. To import a DataFrame or a list of rows, use `load`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "pairs.tsv")
    ...     _ = table.write_text("premise\\thypothesis\\tlabel\\n犬が走る。\\t動物が走る。\\tentailment\\n", "utf-8")
    ...     import_table(table, f"{folder}/pairs").splits
    {'all': 1}
    """
    from nikawa.datasets.import_table import ImportOptions, import_table

    with open_call("import_table", ImportOptions, options):
        return import_table(to_path(source), to_path(out), options)


@check_arguments
def import_task(
    tool: str,
    source: Path | str,
    out: Path | str,
    *,
    task: str | None = None,
    data: Path | str | None = None,
    ignore: Sequence[str] = (),
    options: ImportOptions | None = None,
) -> TaskReport:
    """Write a dataset folder from a task of lm-eval (YAML), flexeval (Jsonnet) or inspect (Python). No code of the task is run.

    `data` is the data of the task, if the task names data on a hub. `ignore` names parts that cannot be read and that change
    nothing in this data. The options name columns, kind and labels, as for `import_table`. Raises `BadInput` if the task does not
    determine the answers.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     sample = "Sample('海の色は？', choices=['青', '赤'], target='A')"
    ...     lines = ("@task", "def sea():", f"    return Task(dataset=[{sample}], scorer=choice())")
    ...     _ = Path(folder, "t.py").write_text(chr(10).join(lines), "utf-8")
    ...     report = import_task("inspect", f"{folder}/t.py", f"{folder}/sea")
    >>> report.kind, report.splits
    ('choice', {'test': 1})
    """
    from nikawa.datasets.import_table import ImportOptions
    from nikawa.exchange.reading.job import TaskOptions, import_task

    with open_call("import_task", ImportOptions, options):
        chosen = TaskOptions(
            tool=tool,
            task=task or "",
            data=None if data is None else to_path(data),
            ignore=tuple(ignore),
            table=options or ImportOptions(),
        )
        return import_task(to_path(source), to_path(out), chosen)


@check_arguments
def hide_labels(
    dataset: Any,
    out: Path | str,
    keys: Path | str,
    *,
    data: Path | None = None,
    options: HideOptions | None = None,
) -> HideReport:
    """Write a dataset folder without the labels of some splits; the labels go to the key file `keys`.

    The options name the splits. Raises `BadInput` if ids, order, other fields or another split would reveal labels.

    >>> from tempfile import TemporaryDirectory
    >>> from nikawa.checks.hide_job import HideOptions
    >>> with TemporaryDirectory() as folder:
    ...     options = HideOptions(splits=("dev",))
    ...     hidden = hide_labels("mini-ja", f"{folder}/public", f"{folder}/keys.json", options=options)
    ...     load(f"{folder}/public")["dev"][0].gold
    {}
    """
    from nikawa.checks.hide_job import HideOptions, hide

    with open_call("hide_labels", HideOptions, options) as files:
        return hide(files.dataset(dataset), to_path(out), to_path(keys), data=data, options=options)


@check_arguments
def export(
    dataset: Any,
    to: str,
    out: Path | str,
    *,
    data: Path | None = None,
    tool_version: str | None = None,
    split: str | None = None,
    shots: int | None = None,
    seed: int | None = None,
    prompt: Path | str | None = None,
    overwrite: bool | None = None,
    options: ToolOptions | None = None,
) -> ToolReport | None:
    """Write a dataset to the folder `out`: as tasks of a tool that runs models, or in another format.

    `to` is a tool (`lm-eval`, `flexeval`, `inspect`, `lighteval`, `llm-jp-eval`) or a format (`jsonl`, `parquet`, `hf`, `croissant`).
    For a tool, the folder contains the data, the tasks, the official metrics and a README with the command to run; `shots` few-shot
    examples are drawn from train by `seed`; the report lists the tasks. A format returns None. Hidden labels are left out.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report = export("mini-ja-nli:test", "lm-eval", f"{folder}/nli", shots=2)
    ...     report.tasks[0].name, report.tasks[0].items
    ('nikawa_mini_ja_nli_test', 9)
    """
    from nikawa.datasets.export import FORMATS
    from nikawa.datasets.export import export as write_format
    from nikawa.exchange.job import ToolOptions, export_to_tool, load_for_export

    with open_call("export", ToolOptions, options) as files:
        name = files.task(dataset, data)
        if to in FORMATS:
            from nikawa.datasets.load import load as read
            from nikawa.datasets.names import find_benchmark

            benchmark = find_benchmark(name)
            tasks = benchmark.tasks if benchmark is not None else ()
            write_format(read(name, data=data), tasks, to, to_path(out), overwrite=bool(overwrite))
            return None
        whole, tasks, named_split = load_for_export(name, data=data)
        chosen = set_options(
            options,
            ToolOptions,
            tool_version=tool_version,
            split=split or named_split or None,
            shots=shots,
            seed=seed,
            prompt=None if prompt is None else str(prompt),
            overwrite=overwrite,
        )
        return export_to_tool(whole, tasks, to, to_path(out), chosen)


@check_arguments
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

    `judgements` is a file that an annotation tool wrote, a dataset that publishes its judgements, a DataFrame (columns `example`,
    `worker`, `answer`, or `task`, `worker`, `label`), or a list of `Judgement`s or rows. `level` is nominal, ordinal,
    interval or ratio. `by` slices by `tag` or by a metadata key of the dataset `examples`.
    If the table has other headings, name them in `columns`: `{"example": "item", "worker": "who", "answer": "vote"}`.

    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "yes")]
    >>> table = [{"example": item, "worker": worker, "answer": answer} for item, worker, answer in rows]
    >>> agree(table).report.items
    2
    """
    from msgspec.structs import replace as replace_record

    from nikawa.aggregation.agree_job import AgreeOptions, AgreeResult, agree
    from nikawa.io.judgements import JudgementOptions

    with open_call("agree", AgreeOptions, options) as files:
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
        title = result.report.judgements if isinstance(judgements, str | Path) else "in memory"
        report = replace_record(result.report, judgements=title)
        return AgreeResult(report, result.table)


@check_arguments
def aggregate(
    judgements: Any,
    rule: str | Iterable[str] | None = None,
    *,
    data: Path | None = None,
    options: AggregateOptions | None = None,
    ties: str | None = None,
    labels: Iterable[str] | None = None,
    question: str | None = None,
    examples: Any = None,
    exclude: str | Iterable[str] | None = None,
    columns: Mapping[str, str] | None = None,
    machines: str | None = None,
) -> AggregateResult:
    """Aggregate judgements into gold labels by a named rule, with a reason for every item.

    `judgements` is what `agree` takes. `rule` is `majority`, `mean`, `dawid-skene`, … (docs/aggregate.md lists them), or
    several rules as `QUESTION=RULE`. `ties` is `adjudicate`, `drop` or `prefer:LABEL`. `labels` are all labels of the form,
    needed only if no worker chose one of them. `machines` says what answers of models do: `ignore` (the default),
    `tie-break` or `weigh`. The field `gold` of the result maps each item to its gold labels.

    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "yes")]
    >>> table = [{"example": item, "worker": worker, "answer": answer} for item, worker, answer in rows]
    >>> aggregate(table, rule="majority", ties="drop").gold
    {'q1': {'label': 'yes'}}
    """
    from msgspec.structs import replace as replace_record

    from nikawa.aggregation.job import AggregateOptions, aggregate
    from nikawa.io.judgements import JudgementOptions

    with open_call("aggregate", AggregateOptions, options) as files:
        chosen = set_options(
            options,
            AggregateOptions,
            rules=as_names(rule),
            ties=ties,
            labels=None if labels is None else tuple(labels),
            question=question,
            exclude=as_names(exclude),
            examples=None if examples is None else files.dataset(examples),
            how=None if columns is None else JudgementOptions(mapping=dict(columns)),
            machines=machines,
        )
        result = aggregate(files.judgements(judgements), data, chosen)
        title = result.report.judgements if isinstance(judgements, str | Path) else "in memory"
        return replace(result, report=replace_record(result.report, judgements=title))


@dataclass(frozen=True)
class Target:
    """Where a job writes the dataset it makes: to a path of the user, or to a temporary one that is loaded into memory."""

    path: Path | None
    in_memory: bool

    def result(self, report: Any, **changes: Any) -> Any:
        """Return the report, or the dataset in memory with the report; `changes` are fields of the report that differ then."""
        from msgspec.structs import replace as replace_record

        if not self.in_memory:
            return report
        dataset = load_made(to_path(str(self.path)))
        return attach_report(dataset, replace_record(report, **changes) if changes else report)


@check_arguments
def judge(
    tasks: Any,
    model: str,
    *,
    out: Path | str,
    options: JudgeOptions | None = None,
    copies: int | None = None,
    seed: int | None = None,
    tries: int | None = None,
    form: str | None = None,
    form_settings: Mapping[str, Any] | None = None,
    language: str | None = None,
    settings: Mapping[str, Any] | None = None,
    max_cost: float | None = None,
    allow_remote: bool | None = None,
    data: Path | None = None,
) -> JudgeReport:
    """Let a language model answer the questions of an annotation form, as workers of the kind `machine`.

    `tasks` is the folder of an annotation project, a sheet of tasks, or a dataset or file of examples together with `form`.
    `model` is `chat:NAME` with `settings={"base_url": …}`, or `lm:PATH`. The model gets what a worker reads: the guideline,
    the question and the item, never gold labels, control items or the answers of others. `copies` differ by seed,
    temperature, order and wording. The folder `out` gets `judgements.jsonl` and `replies.jsonl`; the same call goes on
    where a killed one stopped. docs/machines.md has a walk-through.

    >>> judge("mini-ja:dev", "chat:gemma-3-27b", form="choice", out="judged")
    Traceback (most recent call last):
    nikawa.errors.BadInput: chat:gemma-3-27b needs the address of a server; pass --base-url URL; in Python, set base_url
    """
    from nikawa.judging.job import JudgeOptions, judge

    with open_call("judge", JudgeOptions, options) as files:
        chosen = set_options(
            options,
            JudgeOptions,
            copies=copies,
            seed=seed,
            tries=tries,
            form=form,
            form_settings=form_settings,
            language=language,
            settings=settings,
            max_cost=max_cost,
            allow_remote=allow_remote,
            data=data,
        )
        spec = str(tasks) if isinstance(tasks, str | Path) else files.dataset(tasks)
        return judge(spec, model, Path(out), chosen)


@check_arguments
def recheck(
    judgements: Any,
    *,
    question: str | None = None,
    margin: float | None = None,
    out: Path | str | None = None,
    overwrite: bool = False,
    columns: Mapping[str, str] | None = None,
    data: Path | None = None,
    options: RecheckOptions | None = None,
) -> RecheckReport:
    """List the answers of persons that a machine and the other workers contradict, the most doubtful first.

    `judgements` is what `agree` takes, with answers of machines among it. Numbers contradict each other from `margin` points on.
    The file `out` gets the list as JSON lines. docs/machines.md says what a second look at this list is worth.

    >>> votes = {"ann": "yes", "ben": "yes", "joe": "no", "model:gemma#1": "yes"}
    >>> rows = [{"example": "q1", "worker": name, "answer": vote} for name, vote in votes.items()]
    >>> [(row.example, row.worker, row.answer) for row in recheck(rows).doubtful]
    [('q1', 'joe', 'no')]
    """
    from msgspec.structs import replace

    from nikawa.aggregation.recheck import RecheckOptions, recheck
    from nikawa.io.judgements import JudgementOptions

    with open_call("recheck", RecheckOptions, options) as files:
        chosen = set_options(
            options,
            RecheckOptions,
            question=question,
            margin=margin,
            how=None if columns is None else JudgementOptions(mapping=dict(columns)),
        )
        path = None if out is None else Path(out)
        report = recheck(files.judgements(judgements), data, chosen, out=path, overwrite=overwrite)
        title = report.judgements if isinstance(judgements, str | Path) else "in memory"
        return replace(report, judgements=title)


def choose_target(
    files: CallFiles, name: str, title: str, out: Path | str | None, *, in_memory: bool
) -> Target:
    """Return the target of a job: a temporary file or folder `name`, which messages call `title`, or `out`."""
    if in_memory:
        return Target(files.place(name, title), in_memory=True)
    return Target(None if out is None else to_path(out), in_memory=False)


def load_made(path: Path) -> Dataset:
    """Load the file that a job just wrote, which may be empty."""
    from nikawa.datasets.load import load, loose_dataset

    if path.is_file() and not path.stat().st_size:
        return loose_dataset(path, ())
    return load(str(path))


class PlaceKeywords(TypedDict, total=False):
    """Keywords of every function that works in chunks: with how many processes, or where."""

    workers: int | None
    executor: str | None
    address: str | None


class CleanKeywords(PlaceKeywords, total=False):
    """Keywords of `clean` that both of its forms take."""

    scorer: ToxicityScorer | None
    on_progress: Callable[[int, int], None] | None
    language: str | None
    field: str | None
    steps: str | Iterable[str] | None
    without: str | Iterable[str] | None


@overload
def clean(
    texts: Any, out: None = None, *, options: None = None, **settings: Unpack[CleanKeywords]
) -> MadeDataset: ...
@overload
def clean(
    texts: Any,
    out: Path | str,
    *,
    options: CleanOptions | None = None,
    **settings: Unpack[CleanKeywords],
) -> CleanReport: ...
@check_arguments
def clean(
    texts: Any,
    out: Path | str | None = None,
    *,
    options: CleanOptions | None = None,
    scorer: ToxicityScorer | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    language: str | None = None,
    field: str | None = None,
    steps: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> MadeDataset | CleanReport:
    """Clean source texts into candidate sentences: a dataset in memory, or the records file `out`.

    `texts` is a file, a list of `Path`s, or texts in memory: a list of texts, or a DataFrame or rows with a column `text`;
    `field` names another column.
    The function calls `on_progress` with the numbers of documents and characters it has processed.

    >>> clean(["これは短い例文ですが、候補として残るだけの長さがあります。"], language="ja")[0].inputs["text"]
    'これは短い例文ですが、候補として残るだけの長さがあります。'
    """
    from msgspec.structs import replace as replace_record

    from nikawa.cleaning.job import CleanOptions, clean

    listener = on_progress or (lambda documents, characters: None)
    with open_call("clean", CleanOptions, options) as files:
        chosen = set_options(
            options,
            CleanOptions,
            steps=as_names(steps),
            without=as_names(without),
            workers=workers,
            executor=executor,
            address=address,
        )
        if language is not None:
            settings = replace_record(chosen.settings, language=language)
            chosen = replace_record(chosen, settings=settings)
        if field is not None:
            chosen = replace_record(chosen, reading=replace_record(chosen.reading, field=field))
        sources = files.documents(texts)
        target = choose_target(
            files, "candidates.jsonl", "the candidates", out, in_memory=out is None
        )
        report = clean(
            sources, to_path(str(target.path)), chosen, scorer=scorer, on_progress=listener
        )
        titled = tuple(replace_record(file, path=files.title(file.path)) for file in report.files)
        return cast("MadeDataset | CleanReport", target.result(report, files=titled))


class PairKeywords(PlaceKeywords, total=False):
    """Keywords of `pair` that both of its forms take."""

    on_progress: Callable[[int, int], None] | None
    units: str | None
    rouge: str | None
    field: str | None
    seed: int | None


@overload
def pair(
    method: Any,
    sentences: Any,
    *,
    options: None = None,
    out: None = None,
    **settings: Unpack[PairKeywords],
) -> MadeDataset: ...
@overload
def pair(
    method: Any,
    sentences: Any,
    *,
    options: PairOptions | None = None,
    out: Path | str | None = None,
    **settings: Unpack[PairKeywords],
) -> PairReport: ...
@check_arguments
def pair(
    method: Any,
    sentences: Any,
    *,
    options: PairOptions | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    out: Path | str | None = None,
    units: str | None = None,
    rouge: str | None = None,
    field: str | None = None,
    seed: int | None = None,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> MadeDataset | PairReport:
    """Pair sentences: a dataset in memory, or the records file `out`. docs/pair.md describes the methods.

    `sentences` is a text file (one sentence per line), a records file, or sentences in memory as for `clean`.

    >>> pairs = pair("greedy", ["犬が走る", "犬が歩く", "雨が降る", "雪が降る"], units="characters")
    >>> pairs[0].inputs
    {'sentence1': '雨が降る', 'sentence2': '雪が降る'}

    `pair(sentences, method)` works too.
    """
    from nikawa.pairing import METHODS
    from nikawa.pairing.job import PairOptions, pair

    if not isinstance(method, str) or (method not in METHODS and sentences in list(METHODS)):
        method, sentences = sentences, method
    in_memory = out is None and options is None
    with open_call("pair", PairOptions, options) as files:
        target = choose_target(files, "pairs.jsonl", "the pairs", out, in_memory=in_memory)
        chosen = set_options(
            options,
            PairOptions,
            out=target.path,
            units=units,
            rouge=rouge,
            field=field,
            seed=seed,
            workers=workers,
            executor=executor,
            address=address,
        )
        report = pair(method, files.sentences(sentences), options=chosen, on_progress=on_progress)
        return cast("MadeDataset | PairReport", target.result(report, out=None))


class GenerateKeywords(PlaceKeywords, total=False):
    """Keywords of `generate` that both of its forms take."""

    data: Path | None
    options: GenerateOptions | None
    on_progress: Callable[..., None] | None
    per_cell: int | Mapping[str, int] | None
    total: int | Mapping[str, int] | None
    seed: int | None
    splits: str | Iterable[str] | None


@overload
def generate(
    pack: str | Path, out: None = None, **settings: Unpack[GenerateKeywords]
) -> MadeDataset: ...
@overload
def generate(
    pack: str | Path, out: Path | str, **settings: Unpack[GenerateKeywords]
) -> GenerateReport: ...
@check_arguments
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
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> MadeDataset | GenerateReport:
    """Generate inference problems from a pack of templates, with computed labels.

    Without `out`, the function returns the dataset in memory. With `out`, it writes the dataset to that folder; it continues an
    unfinished folder that has the same settings. `per_cell` is the number of problems for each cell of the pack, and
    `total` the number overall. A mapping gives one number for each split.

    >>> problems = generate("temporal-ja", per_cell={"train": 0, "test": 1}, seed=1)
    >>> len(problems["test"]) == problems.report.splits["test"].problems
    True
    """
    from nikawa.errors import BadInput
    from nikawa.generation.job import GenerateOptions, generate

    if per_cell is not None and total is not None:
        raise BadInput("per_cell and total are both set", cure="pass one of them")
    if isinstance(out, int):
        raise BadInput(f"{out} is not a folder", cure=f"pass per_cell={out} or total={out}")
    number = per_cell if total is None else total
    counts = {"": number} if isinstance(number, int) else number
    with open_call("generate", GenerateOptions, options) as files:
        chosen = set_options(
            options,
            GenerateOptions,
            counts=counts,
            per=None if total is None else "total",
            seed=seed,
            splits=as_names(splits),
            workers=workers,
            executor=executor,
            address=address,
        )
        target = choose_target(files, "generated", "the dataset", out, in_memory=out is None)
        folder = to_path(str(target.path))
        report = generate(str(pack), folder, data=data, options=chosen, on_progress=on_progress)
        if target.in_memory and report.gate is not None and not report.gate.passed:
            raise BadInput("the gate did not pass", cure="pass out= to see its report")
        return cast("MadeDataset | GenerateReport", target.result(report, folder=""))


class PerturbKeywords(TypedDict, total=False):
    """Keywords of `perturb` that name settings."""

    case: str | Iterable[str] | None
    split: str | None
    inputs: str | Iterable[str] | None
    seed: int | None
    assume_eligible: bool | None
    min_confidence: float | None
    parser: str | None


class JobKeywords(TypedDict, total=False):
    """Keywords of every function that reads a dataset and makes another."""

    data: Path | None
    on_progress: Callable[..., None] | None


class PerturbAllKeywords(PerturbKeywords, JobKeywords, PlaceKeywords, total=False):
    """Keywords of `perturb` that all forms without `options` take."""


@overload
def perturb(
    operations: Any,
    dataset: Any,
    *,
    options: None = None,
    out: None = None,
    **settings: Unpack[PerturbAllKeywords],
) -> MadeDataset: ...
@overload
def perturb(
    operations: Any,
    dataset: Any,
    *,
    options: PerturbOptions,
    **settings: Unpack[JobKeywords],
) -> PerturbReport: ...
@overload
def perturb(
    operations: Any,
    dataset: Any,
    *,
    out: Path | str,
    **settings: Unpack[PerturbAllKeywords],
) -> PerturbReport: ...
@check_arguments
def perturb(
    operations: Any,
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
    min_confidence: float | None = None,
    parser: str | None = None,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> MadeDataset | PerturbReport:
    """Apply operations (`swap`, `scramble`, `particles`, `width-full`, …) to a dataset; each example links to its parent.

    The result has one split per operation. `case` picks the case particle of an operation (`o`, `ni`, `de`; Korean: `eul`, `e`,
    `eseo`). The `meta` of a rewritten example has the confidence of the rewrite; texts below `min_confidence` (default: 0.5) are
    skipped. `parser="ginza"` also skips Japanese texts that GiNZA reads otherwise. With `out`, the function writes the result to a records file or a dataset folder.

    >>> row = {"premise": "犬が骨を埋めた。", "hypothesis": "犬が骨を掘った。", "label": "neutral"}
    >>> perturb("swap", [row], case="o")[0].inputs["premise"]
    '犬を骨が埋めた。'

    `perturb(dataset, operations)` works too.
    """
    from nikawa.errors import BadInput
    from nikawa.objects import holds_examples
    from nikawa.perturbation.job import PerturbOptions, perturb
    from nikawa.perturbation.selection import FAMILIES, GROUPS

    names = (*FAMILIES, *GROUPS)
    is_name = isinstance(operations, str) and operations.partition("-")[0] in names
    if holds_examples(operations) or (not is_name and dataset in list(names)):
        operations, dataset = dataset, operations
    in_memory = out is None and options is None
    with open_call("perturb", PerturbOptions, options) as files:
        target = choose_target(files, "perturbed", "the result", out, in_memory=in_memory)
        chosen = set_options(
            options,
            PerturbOptions,
            out=target.path,
            cases=as_names(case),
            split=split,
            inputs=as_names(inputs),
            seed=seed,
            assume_eligible=assume_eligible,
            min_confidence=min_confidence,
            parser=parser,
            workers=workers,
            executor=executor,
            address=address,
        )
        spec = files.dataset(dataset)
        try:
            report = perturb(operations, spec, data=data, options=chosen, on_progress=on_progress)
        except BadInput as problem:
            if in_memory and problem.file == target.path:
                cure = "try another operation or case; docs/stress.md says what each of them needs"
                raise BadInput(problem.what, cure=cure) from None
            raise
        return cast("MadeDataset | PerturbReport", target.result(report, out=None))


class TagKeywords(JobKeywords, PlaceKeywords, total=False):
    """Keywords of `tag` that both of its forms take."""

    pack: str | None
    inputs: str | Iterable[str] | None


@overload
def tag(
    dataset: Any, *, options: None = None, out: None = None, **settings: Unpack[TagKeywords]
) -> MadeDataset: ...
@overload
def tag(
    dataset: Any,
    *,
    options: TagOptions | None = None,
    out: Path | str | None = None,
    **settings: Unpack[TagKeywords],
) -> TagReport: ...
@check_arguments
def tag(
    dataset: Any,
    *,
    data: Path | None = None,
    options: TagOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    pack: str | None = None,
    inputs: str | Iterable[str] | None = None,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> MadeDataset | TagReport:
    """Tag the examples of a dataset with the linguistic phenomena of a pack: the dataset in memory, or written to `out`.

    >>> tagged = tag("mini-ja:dev")
    >>> tagged.report.sizes
    {'dev': 30}
    """
    from nikawa.tagging.job import TagOptions, tag

    in_memory = out is None and options is None
    with open_call("tag", TagOptions, options) as files:
        target = choose_target(files, "tagged", "the result", out, in_memory=in_memory)
        chosen = set_options(
            options,
            TagOptions,
            out=target.path,
            pack=pack,
            inputs=as_names(inputs),
            workers=workers,
            executor=executor,
            address=address,
        )
        report = tag(files.dataset(dataset), data=data, options=chosen, on_progress=on_progress)
        return cast("MadeDataset | TagReport", target.result(report))


class SplitKeywords(JobKeywords, total=False):
    """Keywords of `split` that both of its forms take."""

    by: str | None
    sizes: str | float | Sequence[float] | Mapping[str, float] | None
    names: Iterable[str] | None
    seed: int | None


@overload
def split(
    dataset: Any, *, options: None = None, out: None = None, **settings: Unpack[SplitKeywords]
) -> MadeDataset: ...
@overload
def split(
    dataset: Any,
    *,
    options: SplitOptions | None = None,
    out: Path | str | None = None,
    **settings: Unpack[SplitKeywords],
) -> SplitReport: ...
@check_arguments
def split(
    dataset: Any,
    *,
    data: Path | None = None,
    options: SplitOptions | None = None,
    on_progress: Callable[..., None] | None = None,
    out: Path | str | None = None,
    by: str | None = None,
    sizes: str | float | Sequence[float] | Mapping[str, float] | None = None,
    names: Iterable[str] | None = None,
    seed: int | None = None,
) -> MadeDataset | SplitReport:
    """Split a dataset into parts and check for leaks between them: the dataset in memory, or a folder `out`.

    `sizes` are fractions or counts of the parts: `(0.8, 0.1, 0.1)` or `"0.8,0.1,0.1"`. `names` are the names of the parts. A
    mapping has both: `{"train": 0.8, "test": 0.2}`. One fraction, `0.8`, is the size of the first of two parts. `by` is the
    splitting method; docs/split.md lists the methods.

    >>> nli = load("mini-ja").filter(lambda example: "label" in example.gold)
    >>> parts = split(nli, sizes=(0.5, 0.5), names=("train", "test"), seed=1)
    >>> list(parts.splits)
    ['train', 'test']
    """
    from nikawa.splitting.job import SplitOptions, split

    if isinstance(sizes, Mapping):
        names, sizes = tuple(sizes), tuple(sizes.values())
    elif isinstance(sizes, float):
        sizes = (sizes, round(1 - sizes, 10))
    in_memory = out is None and options is None
    with open_call("split", SplitOptions, options) as files:
        target = choose_target(files, "split", "the result", out, in_memory=in_memory)
        shares = sizes if sizes is None or isinstance(sizes, str) else ",".join(map(str, sizes))
        chosen = set_options(
            options,
            SplitOptions,
            out=target.path,
            by=by,
            sizes=shares,
            names=as_names(names),
        )
        if seed is not None:
            chosen = replace(chosen, settings=replace(chosen.settings, seed=seed))
        report = split(files.dataset(dataset), data=data, options=chosen, on_progress=on_progress)
        return cast("MadeDataset | SplitReport", target.result(report, out=None))


@check_arguments
def run(
    models: Any,
    tasks: Any = None,
    *,
    options: RunOptions | None = None,
    seeds: int | Iterable[int] = 1,
    settings: Mapping[str, Any] | None = None,
    inputs: str | Iterable[str] = (),
    limit: int = 0,
    out: Path | str | None = None,
    data: Path | None = None,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
    cpus_per_run: float | None = None,
    gpus_per_run: float | None = None,
    memory_per_run: int | None = None,
) -> RunReport:
    """Run models on tasks: choose settings on dev if there is a choice, run each seed, and summarise.

    `models` is a name, an object with a method `predict(task, examples)`, a list of those, or a mapping from your label to one of
    those. An object with a method `fit(task, examples)` learns first; the contract is `nikawa.models.Predictor`. Each call
    runs objects again, because a stored run cannot tell whether an object has changed.

    `tasks` is a name, a path, a dataset in memory, or a list of those. A registered dataset that you loaded and did not
    change keeps its name. `seeds` is a number of seeds, or the seeds themselves.

    The function stores runs in the folder `out` (default: `runs`) and does not repeat finished ones. A run that fails does not
    stop the others. Datasets in memory are stored in `.datasets` there, because analyses and reports read them again.

    Runs use this process, one after the other. `workers` is the number of parallel runs (0: one per CPU). With more than one, a
    script needs `if __name__ == "__main__":`. For all settings, pass a `RunRequest` instead of models.

    `executor="ray"` runs on a Ray cluster: `address` is HOST:PORT or `auto`, and `cpus_per_run`, `gpus_per_run` and
    `memory_per_run` (bytes) say what each run takes of it. `workers` then limits the runs at a time.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     done = run(["majority"], tasks="mini-ja-nli", out=folder)
    >>> done.done, done.cells[0].model
    (1, 'majority')

    >>> class Pessimist:
    ...     def predict(self, task, examples):
    ...         return ["contradiction" for example in examples]
    >>> with TemporaryDirectory() as folder:
    ...     done = run({"pessimist": Pessimist()}, tasks="mini-ja-nli", out=folder)
    >>> done.cells[0].model
    'pessimist'
    """
    from nikawa.errors import BadInput
    from nikawa.models.in_memory import lend_objects
    from nikawa.runs.job import RunOptions, run
    from nikawa.runs.request import RunRequest

    if isinstance(tasks, RunOptions):  # the second argument before there were tasks
        tasks, options = None, tasks
    folder = None if out is None else to_path(out)
    where = {
        "workers": workers,
        "executor": executor,
        "address": address,
        "cpus_per_run": cpus_per_run,
        "gpus_per_run": gpus_per_run,
        "memory_per_run": memory_per_run,
    }
    if isinstance(models, RunRequest):
        return run(models, set_options(options, RunOptions, out=folder, data=data, **where))
    if tasks is None:
        raise BadInput("the task is missing", cure='pass tasks="jnli", for example, or a dataset')
    if options is None and workers is None and executor is None:
        where["workers"] = 1
    chosen = set_options(options, RunOptions, out=folder, data=data, **where)
    names, objects = sort_models(models)
    if objects and (chosen.workers > 1 or executor not in (None, "here")):
        what = "models in memory run in this process, one after the other"
        raise BadInput(what, cure="leave out workers= and executor=")
    if objects:
        chosen = replace(chosen, workers=1, executor="here")
    with open_call("run", RunOptions, options) as files, lend_objects(objects):
        several = (
            list(tasks) if isinstance(tasks, list | tuple) and not holds_rows(tasks) else [tasks]
        )
        request = RunRequest(
            tasks=tuple(store_dataset(files, one, chosen.out, chosen.data) for one in several),
            models=names,
            seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
            settings=settings or {},
            inputs=as_names(inputs) or (),
            limit=limit,
        )
        return run(request, chosen)


def sort_models(models: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the names of all models as a run request takes them, and the models in memory by name.

    >>> sort_models({"mine": "encoder:base"})
    (('mine=encoder:base',), {})
    """
    from nikawa.errors import BadInput
    from nikawa.models.in_memory import OBJECT

    if isinstance(models, str) or not isinstance(models, Iterable):
        models = [models]
    pairs = models.items() if isinstance(models, Mapping) else [("", each) for each in models]
    names: list[str] = []
    objects: dict[str, Any] = {}
    for label, model in pairs:
        if isinstance(model, str):
            names.append(f"{label}={model}" if label else model)
            continue
        name = str(label or getattr(model, "name", "") or type(model).__name__)
        if name in objects:
            cure = 'pass a mapping with different names: {"A": model, "B": other}'
            raise BadInput(f"two models are called {name!r}", cure=cure)
        objects[name] = model
        names.append(f"{name}={OBJECT}:{name}")
    return tuple(names), objects


def holds_rows(value: Sequence[Any]) -> bool:
    """Whether a list contains the rows of one dataset rather than several datasets."""
    from nikawa.records import Example

    return bool(value) and all(
        isinstance(one, Example) or (isinstance(one, Mapping) and "id" in one) for one in value
    )


def store_dataset(files: CallFiles, value: Any, out: Path, data: Path | None) -> str:
    """Store a dataset in memory next to its runs, under its name and a digest, and return the path of its folder.

    The name or path of a dataset, and a registered dataset that was not changed, need no copy.
    """
    from hashlib import blake2b

    from msgspec import json

    from nikawa.io.file_names import to_file_name
    from nikawa.io.folders import CARD, write_folder
    from nikawa.objects import is_registered
    from nikawa.records import Dataset

    if isinstance(value, str | Path):
        return str(to_path(value)) if isinstance(value, Path) else value
    made = files.to_dataset(value)
    if is_registered(made, data):
        return made.name
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
    """List the folders of runs: those of a `RunReport`, one path, or several."""
    from nikawa.errors import BadInput
    from nikawa.runs.job import RunReport

    if isinstance(runs, RunReport):
        folders = dict.fromkeys(folder for cell in runs.cells for folder in cell.runs)
        if not folders:
            what = "the report has no finished run"
            raise BadInput(what, cure="its field `problems` gives the reasons")
        return [str(Path(runs.out) / folder) for folder in folders]
    if isinstance(runs, str | Path):
        return [str(runs)]
    if not isinstance(runs, Iterable):
        cure = "pass the result of nk.run, a folder of runs, or a list of folders"
        raise BadInput(f"cannot use {type(runs).__name__!r} as runs", cure=cure)
    return [folder for one in runs for folder in list_run_folders(one)]


@check_arguments
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
    """Analyse stored runs: where systems fail, and how certain that is.

    `runs` is the result of `run`, run folders, folders of runs, or patterns. The function writes the analyses to `out`, by default
    the folder `analyses` next to the runs. If you own hidden labels, pass `hidden` and `keys`; the analyses are then
    private.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     analyses = analyse(run(["majority"], tasks="mini-ja-nli", out=folder))
    >>> [each.system.model for each in analyses.each]
    ['majority']
    """
    from nikawa.analysis.job import AnalysisOptions, analyse

    with open_call("analyse", AnalysisOptions, options):
        return analyse(
            list_run_folders(runs),
            out=None if out is None else to_path(out),
            data=data,
            options=options,
            overwrite=overwrite,
            hidden=hidden,
            keys=keys,
            on_progress=on_progress,
        )


@check_arguments
def probe_memory(
    dataset: Any,
    model: str,
    *,
    unseen: Any = None,
    data: Path | None = None,
    options: MemoryOptions | None = None,
    permutations: int | None = None,
    limit: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    on_progress: Callable[..., None] | None = None,
) -> MemoryReport:
    """Test whether a language model (`lm:PATH`) has seen a dataset.

    `dataset` has one split. `unseen` is a dataset of comparable items that cannot have been in the training data. `permutations` is
    the number of shuffled orders (default: 199), `limit` the number of items to use (default: all), and `settings` are those of
    `lm:`. docs/memory.md explains the tests and their limits.

    >>> report = probe_memory("mini-ja:dev", "lm:models/tiny", permutations=99)  # doctest: +SKIP
    >>> report.verdict  # doctest: +SKIP
    'These tests show no sign that the model has seen the items.'
    """
    from msgspec.structs import replace as replace_record

    from nikawa.analysis.memory.job import MemoryOptions, probe_memory

    with open_call("probe_memory", MemoryOptions, options) as files:
        chosen = set_options(
            options,
            MemoryOptions,
            permutations=permutations,
            limit=limit,
            seed=seed,
            settings=settings,
        )
        made = probe_memory(
            files.dataset(dataset),
            model,
            unseen=None if unseen is None else files.dataset(unseen),
            data=data,
            options=chosen,
            on_progress=on_progress or (lambda *_: None),
        )
        return replace_record(
            made,
            dataset=files.title(made.dataset),
            unseen=None if made.unseen is None else files.title(made.unseen),
        )


@check_arguments
def report(
    runs: Any,
    out: Path | str = "report",
    options: ReportOptions | None = None,
    *,
    title: str | None = None,
    data: Path | None = None,
    overwrite: bool | None = None,
) -> ReportResult:
    """Write a page, tables and figures about stored runs to the folder `out`.

    `runs` is the result of `run`, run folders, folders of runs, or patterns.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     runs = run(["majority"], tasks="mini-ja-nli", out=f"{folder}/runs")
    ...     report(runs, out=f"{folder}/report").systems
    ('majority',)
    """
    from nikawa.reporting.job import ReportOptions, report

    with open_call("report", ReportOptions, options):
        chosen = set_options(options, ReportOptions, title=title, data=data, overwrite=overwrite)
        return report(list_run_folders(runs), to_path(out), chosen)


@check_arguments
def submit(
    url: str,
    answers: Any,
    *,
    token: str | None = None,
    name: str | None = None,
    system: str | None = None,
    task: str | None = None,
    split: str | None = None,
    wait: bool | None = None,
    options: SubmitOptions | None = None,
) -> SubmitReport:
    """Submit answers to the leaderboard at an address (`nikawa board`), as one submission; several seeds are one.

    `answers` is the result of `run`, or what `score` takes: a path, a mapping from id to answer, a table, a list of predictions; a
    list of paths for several seeds. `token` is a token of your account; by default the environment variable
    `NIKAWA_BOARD_TOKEN`. `name` names a new system (default: the model of the runs), `system` is one that you have. With `wait=True`,
    the field `state` of the result has the scores. The same answers for the same system again count once.

    >>> submit("https://board.example", "answers.jsonl", token="a b")
    Traceback (most recent call last):
    nikawa.errors.BadInput: the token contains characters that no token has; copy it again from the page My systems
    """
    from nikawa.board.client import SubmitOptions, read_token, submit
    from nikawa.runs.job import RunReport

    with open_call("submit", SubmitOptions, options) as files:
        chosen = set_options(
            options, SubmitOptions, name=name, system=system, task=task, split=split, wait=wait
        )
        if isinstance(answers, RunReport):
            paths = [Path(folder) for folder in list_run_folders(answers)]
        elif isinstance(answers, list | tuple) and all(isinstance(a, str | Path) for a in answers):
            paths = [to_path(one) for one in answers]
        else:
            paths = [files.answers(answers)]
        return submit(url, paths, token=read_token(token), options=chosen)


@check_arguments
def model(name: str, *, seed: int = 0, settings: Mapping[str, Any] | None = None) -> Predictor:
    """Create a model by its full name, such as `majority` or `encoder:PATH`.

    If the model learns, call its `fit` before its `predict`.

    >>> task, train = load_task("mini-ja-nli", "train")
    >>> majority = model("majority")
    >>> majority.fit(task, train)
    >>> next(iter(majority.predict(task, train[:1]))).answer in task.labels
    True
    """
    from nikawa.models import model

    return model(name, seed=seed, settings=settings)
