"""The front door: one function for each job of Nikawa.

Every function names its inputs as the command line does (a dataset by name, `name:split`, file or
folder; answers by file) and returns a typed report. Options that are rarely needed are fields of
the job's options, such as `nikawa.scoring.score.ScoreOptions`. The command line calls these
functions and prints what they return.

Nothing heavy is imported before a function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from nikawa.pairing.job import PairOptions, PairReport
    from nikawa.perturbation.job import PerturbOptions, PerturbReport
    from nikawa.records import Dataset, Example, Judgement, Task
    from nikawa.reporting.job import ReportOptions, ReportResult
    from nikawa.runs.job import RunOptions, RunReport
    from nikawa.runs.request import RunRequest
    from nikawa.scoring.compare import Comparison
    from nikawa.scoring.score import ScoreOptions, ScoreResult, VersionReport
    from nikawa.splitting.job import SplitOptions, SplitReport
    from nikawa.tagging.job import TagOptions, TagReport


def load(
    dataset: str, *, data: Path | None = None, version: str | None = None, hidden: bool = False
) -> Dataset:
    """Load a dataset: `jsick`, `jsick:test`, a dataset folder, a records file, or `jsick@file.tsv`.

    `data` is the folder of the published datasets (default: `NIKAWA_DATA`, then the user's data
    folder).

    Labels that are marked hidden are removed, so that no cell of a notebook shows them by accident.
    Whoever holds them says `hidden=True`.

    >>> load("mini-ja").name
    'mini-ja'
    """
    from nikawa.datasets import load

    return load(dataset, data=data, version=version, hidden=hidden)


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
    """
    from nikawa.datasets import read_judgements

    return read_judgements(dataset, data=data, counted=counted)


def score(
    task: str,
    answers: Path,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
    keys: Path | None = None,
) -> ScoreResult:
    """Score the answers of a file or folder as the official scorer does, with confidence intervals.

    Without `split`, the split is the one whose ids the answers have. `keys` is the key file of a
    dataset whose labels `hide_labels` took away: with it they are scored. Raises `BadInput` when
    answers are missing, unless the options allow a partial score.
    """
    from nikawa.scoring.score import score, with_keys

    return score(task, answers, split=split, data=data, options=with_keys(options, keys))


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
    tasks: Sequence[str],
    systems: Mapping[str, Sequence[Path]],
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
    rounds: int | None = None,
    keys: Path | None = None,
    forms: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare systems on the same items with paired tests.

    Each system has one answer file or folder a seed. `keys` is a key file, as in `score`. `forms` are the forms of answer files by
    system, where the content does not tell; the `form` of `options` is that of all others.
    """
    from nikawa.scoring.compare import compare
    from nikawa.scoring.score import with_keys
    from nikawa.stats.resample import TEST_RESAMPLES

    return compare(
        tasks,
        systems,
        split=split,
        data=data,
        options=with_keys(options, keys),
        rounds=TEST_RESAMPLES if rounds is None else rounds,
        forms=forms,
    )


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
    judgements: str, *, data: Path | None = None, options: AgreeOptions | None = None
) -> AgreeResult:
    """Measure how far workers agree: a file of judgements, or a dataset that publishes its
    judgements.
    """
    from nikawa.aggregation.agree_job import agree

    return agree(judgements, data, options)


def aggregate(
    judgements: str, *, data: Path | None = None, options: AggregateOptions | None = None
) -> AggregateResult:
    """Make gold from judgements by a named rule, with a reason for every item."""
    from nikawa.aggregation.job import aggregate

    return aggregate(judgements, data, options)


def clean(
    texts: Sequence[Path],
    out: Path,
    *,
    options: CleanOptions | None = None,
    scorer: ToxicityScorer | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> CleanReport:
    """Clean source texts into candidate sentences, written to `out`.

    `on_progress` is called with the documents and the characters that are done.
    """
    from nikawa.cleaning.job import clean

    listener = on_progress or (lambda documents, characters: None)
    return clean(texts, out, options, scorer=scorer, on_progress=listener)


def pair(
    method: str,
    sentences: Path,
    *,
    options: PairOptions | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> PairReport:
    """Pair the sentences of a text or records file; the options name the file to write."""
    from nikawa.pairing.job import pair

    return pair(method, sentences, options=options, on_progress=on_progress)


def generate(
    pack: str,
    out: Path,
    *,
    data: Path | None = None,
    options: GenerateOptions | None = None,
    on_progress: Callable[..., None] | None = None,
) -> GenerateReport:
    """Generate a dataset folder of inference problems from a pack of templates; labels are
    computed.

    An unfinished folder with the same settings is continued.
    """
    from nikawa.generation.job import generate

    return generate(pack, out, data=data, options=options, on_progress=on_progress)


def perturb(
    operations: str | Iterable[str],
    dataset: str,
    *,
    data: Path | None = None,
    options: PerturbOptions | None = None,
    on_progress: Callable[..., None] | None = None,
) -> PerturbReport:
    """Apply operations (`swap-o`, `scramble`, `particles`, `width-full`, …) to a dataset."""
    from nikawa.perturbation.job import perturb

    return perturb(operations, dataset, data=data, options=options, on_progress=on_progress)


def tag(
    dataset: str,
    *,
    data: Path | None = None,
    options: TagOptions | None = None,
    on_progress: Callable[..., None] | None = None,
) -> TagReport:
    """Tag the examples of a dataset with the linguistic phenomena of a pack."""
    from nikawa.tagging.job import tag

    return tag(dataset, data=data, options=options, on_progress=on_progress)


def split(
    dataset: str,
    *,
    data: Path | None = None,
    options: SplitOptions | None = None,
    on_progress: Callable[..., None] | None = None,
) -> SplitReport:
    """Split a dataset into parts, write them as a dataset folder, and check what leaks between
    them.
    """
    from nikawa.splitting.job import split

    return split(dataset, data=data, options=options, on_progress=on_progress)


def run(request: RunRequest, options: RunOptions | None = None) -> RunReport:
    """Run models on tasks: plan, choose settings on dev where there is a choice, run, and sum up
    over seeds.

    Finished runs are not repeated. A run that fails does not stop the others.
    """
    from nikawa.runs.job import run

    return run(request, options)


def analyse(
    runs: Sequence[str | Path],
    *,
    out: Path | None = None,
    data: Path | None = None,
    options: AnalysisOptions | None = None,
    overwrite: bool = False,
    hidden: bool = False,
    keys: Path | None = None,
    on_progress: Callable[..., None] | None = None,
) -> Analyses:
    """Analyse stored runs (folders, folders of runs, patterns): where systems fail, and how sure
    that is.

    `hidden` and `keys` are for whoever holds hidden labels; what is written is private then.
    """
    from nikawa.analysis.job import analyse

    return analyse(
        runs,
        out=out,
        data=data,
        options=options,
        overwrite=overwrite,
        hidden=hidden,
        keys=keys,
        on_progress=on_progress,
    )


def report(runs: Sequence[str], out: Path, options: ReportOptions | None = None) -> ReportResult:
    """Write a page, tables and figures about stored runs into the folder `out`."""
    from nikawa.reporting.job import report

    return report(runs, out, options)


def model(name: str, *, seed: int = 0, settings: Mapping[str, Any] | None = None) -> Predictor:
    """Make a model by its full name, such as `majority` or `encoder:PATH`.

    A model that learns must be fitted before it answers.
    """
    from nikawa.models import model

    return model(name, seed=seed, settings=settings)
