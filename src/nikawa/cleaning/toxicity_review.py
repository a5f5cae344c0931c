"""Flagged sentences and the people who decide about them.

`clean --flagged` writes the sentences that the toxicity step removed as a task sheet, which `nikawa collect new` makes a
project of. Its gold comes back with `--decided`: a sentence that was decided about stays or goes as decided, whatever its
score. Scores are not shown: a number would decide for the person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nikawa.cleaning.base import Removed
from nikawa.cleaning.toxicity import SCORER_BATCH, Scorer, describe_scorer, score_texts
from nikawa.cleaning.toxicity_models import ACCEPTABLE, QUESTION, TOXIC, ModelScorer, encode_about
from nikawa.cleaning.toxicity_threshold import (
    Threshold,
    measure_threshold,
    read_judged,
    require_both,
)
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, private_files, refuse_existing
from nikawa.io.json import encode_json, read_json_lines
from nikawa.io.remote import is_address, to_path
from nikawa.io.shards import list_files
from nikawa.io.task_sheet import ANSWER_SHAPES, TASKS, Sheet, digest_items, write_task_sheet
from nikawa.records import Example, Record

STEP = "toxicity"
DECIDED = "decided by a person"
REPORT, CACHE, REMOVED = "toxicity.json", "cache", "removed.jsonl"
REMOVED_SHARDS = "removed"
WORDS = {
    "ja": (
        "この文は有害ですか。侮辱、差別、偏見、嫌がらせ、暴力をあおる表現、性的な嫌がらせがあれば「有害」を選んでください。",
        "有害な文かどうか",
        {TOXIC: "有害", ACCEPTABLE: "問題なし"},
    ),
    "ko": (
        "이 문장은 유해합니까? 모욕, 차별, 편견, 괴롭힘, 폭력을 부추기는 표현, 성희롱이 있으면 ‘유해함’을 골라 주세요.",
        "유해한 문장인지",
        {TOXIC: "유해함", ACCEPTABLE: "문제 없음"},
    ),
}
"""Question, title and names of the labels on the page."""


class ToxicityOptions(Record, frozen=True, kw_only=True):
    """How the toxicity step scores, from which score it removes a sentence, and who decides."""

    model: str = ""
    """`chat:NAME`, `lm:PATH` or `encoder:PATH`; empty: a command or a function scores, or nothing."""
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    """The settings of the model, such as `base_url`."""
    labels: tuple[str, ...] = (TOXIC,)
    """The labels that mean toxic, of an encoder and of judged items."""
    threshold: float | None = None
    """The score from which a sentence is toxic; None: measured on judged items."""
    judged: Path | None = None
    """Texts that people judged; see `read_judged`."""
    min_recall: float | None = None
    """The share of toxic texts that the threshold must reach; None: the highest F1."""
    decided: Path | None = None
    """Decisions about flagged sentences, in the same format."""
    flagged: Path | None = None
    """The folder for flagged sentences, as a task sheet, and for the replies of the model."""
    max_cost: float | None = None
    allow_remote: bool = False
    """Whether sentences with personal data are sent to an address that is not this machine."""

    def __post_init__(self) -> None:
        if self.min_recall is not None and not 0 < self.min_recall <= 1:
            raise BadInput("a recall is above 0 and at most 1", cure="pass --min-recall 0.95")
        if self.min_recall is not None and self.threshold is not None:
            raise BadInput(
                "the threshold is given, so no recall can be asked for",
                cure="leave out --toxic or --min-recall",
            )
        if self.min_recall is not None and self.judged is None:
            raise BadInput("a recall needs judged items", cure="pass them with --judged")
        if not self.labels:
            raise BadInput("no label means toxic", cure="name one with --toxic-label")


class ToxicityReport(Record, frozen=True, kw_only=True):
    """What the toxicity step did, in addition to its counts."""

    scorer: str
    threshold: Threshold
    flagged: int | None = None
    """Different sentences that wait for a decision; None where they are not written."""
    sheet: str = ""
    """The sheet of the flagged sentences."""
    decided: int = 0
    """Decisions that were passed."""
    decided_toxic: int = 0
    about: dict[str, Any] = msgspec.field(default_factory=dict)
    """How the model was asked, and what that used."""


@dataclass
class Screen:
    """Says of each sentence why it must go, by decisions first and by scores otherwise."""

    scorer: Scorer
    name: str
    threshold: Threshold
    decisions: dict[str, bool] = field(default_factory=dict)

    @property
    def batch(self) -> int:
        """Sentences that are scored at a time; 0: those of each chunk."""
        return 0 if getattr(self.scorer, "by_chunk", False) else SCORER_BATCH

    def find_reasons(self, texts: Sequence[str]) -> list[str]:
        """For each sentence why it must go, or nothing."""
        undecided = [text for text in texts if text not in self.decisions]
        scores = iter(score_texts(undecided, self.scorer) if undecided else [])
        reasons = []
        for text in texts:
            if (decision := self.decisions.get(text)) is not None:
                reasons.append(DECIDED if decision else "")
                continue
            score = next(scores)
            if score < self.threshold.value:
                reasons.append("")
                continue
            reasons.append(getattr(self.scorer, "reasons", {}).get(text) or f"score {score:.3g}")
        return reasons

    def describe(self) -> list[Any]:
        """What two screens differ in."""
        decisions = sorted(self.decisions.items())
        return [*describe_scorer(self.scorer), *([decisions] if decisions else [])]


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner can read."""
    with private_files():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)


def open_screen(
    options: ToxicityOptions, scorer: Scorer | None, default: float, language: str
) -> Screen | None:
    """The screen of a job, its threshold measured on the judged items; None where nothing scores.

    Raises `BadInput` for a model without judged items and without a given threshold.
    """
    name = options.model or getattr(scorer, "command", "") or "a function"
    if options.model and scorer is not None:
        raise BadInput("both a model and a function score toxicity", cure="pass one of them")
    if not options.model and scorer is None:
        _refuse_unused(options)
        return None
    if options.model and options.judged is None and options.threshold is None:
        what = f"the threshold for {options.model} is not measured"
        cure = "pass judged items with --judged, or a threshold of your own with --toxic"
        raise BadInput(what, cure=cure)
    judged = None if options.judged is None else read_judged(options.judged, options.labels)
    if judged is not None and options.judged is not None:
        require_both(judged, options.judged)
    decisions = {} if options.decided is None else read_judged(options.decided, options.labels)
    if options.flagged is not None:
        make_private_folder(options.flagged)
    if scorer is None:
        scorer = ModelScorer(
            options.model,
            options.settings,
            None if options.flagged is None else options.flagged / CACHE,
            options.labels,
            language,
            options.allow_remote,
            options.max_cost,
        )
    given = options.threshold
    if judged is None:
        value = default if given is None else given
        threshold = Threshold(value=value, rule="the default" if given is None else "as given")
    else:
        scores = score_texts(list(judged), scorer)
        threshold = measure_threshold(judged, scores, given=given, min_recall=options.min_recall)
    return Screen(scorer, name, threshold, decisions)


def _refuse_unused(options: ToxicityOptions) -> None:
    """Refuse options of the step where nothing scores."""
    given = {
        "--judged": options.judged,
        "--decided": options.decided,
        "--flagged": options.flagged,
        "--set or --base-url": options.settings,
        "--max-cost": options.max_cost,
    }
    for name, value in given.items():
        if value not in (None, {}):
            raise BadInput(f"{name} needs a scorer", cure="pass --toxicity MODEL or a command")


def refuse_unworkable_folder(options: ToxicityOptions, *, overwrite: bool) -> None:
    """Check the folder of flagged sentences before the work starts."""
    if options.flagged is None:
        return
    if is_address(str(options.flagged)):
        what, cure = "flagged sentences stay on this machine", "pass a folder of this machine"
        raise BadInput(what, file=options.flagged, cure=cure)
    if options.flagged.exists() and not options.flagged.is_dir():
        raise BadInput("is not a folder", file=options.flagged, cure="pass another --flagged")
    refuse_existing(options.flagged / TASKS, overwrite)


def finish_review(
    screen: Screen,
    options: ToxicityOptions,
    removed: Path | None,
    language: str,
    *,
    overwrite: bool,
) -> ToxicityReport:
    """Write the flagged sentences among the removed ones as a sheet, and the report."""
    flagged = None
    if options.flagged is not None and removed is not None:
        items = list(find_flagged(removed))
        flagged = len(items)
        for path in (removed, *(removed.iterdir() if removed.is_dir() else ())):
            if options.flagged in path.parents and path.is_file():
                path.chmod(0o600)
        with private_files():
            _write_sheet(options.flagged, items, language, overwrite=overwrite)
    about = getattr(screen.scorer, "about", None)
    report = ToxicityReport(
        scorer=screen.name,
        threshold=screen.threshold,
        flagged=flagged,
        sheet="" if options.flagged is None else str(options.flagged / TASKS),
        decided=len(screen.decisions),
        decided_toxic=sum(screen.decisions.values()),
        about={} if about is None else encode_about(about()),
    )
    if options.flagged is not None:
        with private_files(), atomic_write(options.flagged / REPORT, overwrite=True) as stream:
            stream.write(msgspec.json.format(encode_json(report), indent=2) + b"\n")
    return report


def find_flagged(removed: Path) -> Iterator[Example]:
    """The different sentences that the toxicity step removed and that wait for a decision."""
    seen: set[str] = set()
    for file in list_files([to_path(removed)]):
        if not file.stat().st_size:
            continue
        for _, row in read_json_lines(file, Removed):
            if row.step == STEP and row.why != DECIDED and row.text not in seen:
                seen.add(row.text)
                yield Example(id=f"{row.document}:{row.start}", inputs={"text": row.text})


def _write_sheet(folder: Path, items: Sequence[Example], language: str, *, overwrite: bool) -> None:
    prompt, title, names = WORDS[language]
    sheet = Sheet(
        recipe="clean",
        name=QUESTION,
        title="Flagged sentences",
        form="choice",
        question=QUESTION,
        prompt=prompt,
        labels=(TOXIC, ACCEPTABLE),
        scale=None,
        texts=1,
        workers=1,
        items=len(items),
        answer=ANSWER_SHAPES["choice"],
        language=language,
        tasks=digest_items(items),
        heading=title,
        names=names,
    )
    write_task_sheet(folder, sheet, items, overwrite=overwrite)
