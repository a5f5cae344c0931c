"""`nikawa judge`: a model answers the questions of a form, in several copies; judgements, replies and a report are written.

The folder of a job keeps the replies of the model, so the same command goes on where a killed one stopped, and costs
nothing for what is done. The same seed gives the same judgements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import msgspec

from nikawa.cleaning.personal import find_personal_data
from nikawa.errors import BadInput
from nikawa.io.atomic import PART, atomic_write, private_files
from nikawa.io.json import encode_json
from nikawa.io.locks import lock_folder
from nikawa.judging.interview import WORDINGS, ClosedField, CopyPlan, Interview
from nikawa.judging.models import Machine, Outcome, Try, open_machine
from nikawa.judging.position import PositionBias, ShownAnswer, measure_all
from nikawa.judging.tasks import JudgingTask, open_task
from nikawa.models.base import Progress, ignore_progress
from nikawa.models.secrets import environment_secrets, mask_secrets
from nikawa.records import WORKER_PREFIXES, Example, Judgement, Record, texts_inside
from nikawa.tables import ShownAsTables

JUDGEMENTS, REPLIES, REPORT, REQUEST = (
    "judgements.jsonl",
    "replies.jsonl",
    "judge.json",
    "request.json",
)
CACHE = "cache"
"""The folder of the model's own journal of replies."""
TEMPERATURES = (0.0, 0.5, 1.0)
"""Of the first copy, the second, the third; the fourth has that of the third."""
PERSONAL = "personal data"
"""Why an item is not sent to a remote address."""


@dataclass(frozen=True)
class JudgeOptions:
    """How a model judges."""

    copies: int = 3
    """How many workers it is: they differ by seed, temperature, order and wording."""
    seed: int = 0
    tries: int = 3
    """Replies that one answer may take: an answer that breaks a rule is asked for again."""
    form: str = ""
    """The form, for items that no project and no task sheet belongs to."""
    form_settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings of that form."""
    language: str = ""
    """The language of guideline and question; empty: that of the project, the sheet or the texts."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the model, such as `base_url`."""
    max_cost: float | None = None
    """The budget; no request is sent that could exceed it."""
    allow_remote: bool = False
    """Whether items with personal data are sent to an address that is not this machine."""
    data: Path | None = None
    """The folder of published datasets."""
    progress: Progress = field(default=ignore_progress, compare=False)

    def __post_init__(self) -> None:
        if self.copies < 1 or self.tries < 1:
            raise BadInput("copies and tries must be at least 1", cure="pass larger numbers")


class ReplyRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `replies.jsonl`: how an answer, or the lack of one, came about."""

    example: str
    worker: str
    digest: str
    """Of instruction and question."""
    system: str
    """The digest of the instruction; `judge.json` has its text."""
    prompt: str
    """The question as it was sent."""
    order: dict[str, list[Any]]
    """The answers to each closed question in the order in which they were shown."""
    seed: int
    temperature: float
    wording: int
    tries: tuple[Try, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    why: str = ""
    """Why there is no answer."""


class CopyRow(Record, frozen=True, kw_only=True):
    """One copy of the model."""

    worker: str
    temperature: float
    wording: int
    items: int
    answered: int
    """Items with an answer."""
    asked_again: int
    """Items that took more than one reply."""
    repeated: int = 0
    """Items about which it reads, at temperature 0, what an earlier copy reads: the reply is that copy's, and no second opinion."""


class JudgeReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """What a model judged, and what that took."""

    main_table: ClassVar[str] = "copies"
    headline_fields: ClassVar[tuple[str, ...]] = ("model", "items", "judgements", "cost")

    tasks: str
    model: str
    form: str
    language: str
    items: int
    judgements: int
    """Judgements with an answer."""
    copies: tuple[CopyRow, ...]
    without_answer: dict[str, int]
    """Interviews without an answer, by reason."""
    same_answer: float | None
    """The share of items that all copies answered, and alike; None with a single copy or texts of the model's own."""
    position: tuple[PositionBias, ...]
    """Whether the order of the options decides."""
    personal: tuple[str, ...] = ()
    """Items with personal data that were not sent."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    out: str = ""
    """The file of judgements."""
    about: dict[str, Any] = msgspec.field(default_factory=dict)
    """How the model was asked."""
    systems: dict[str, str] = msgspec.field(default_factory=dict)
    """Digest to the text of each instruction."""


def judge(tasks: str, model: str, out: Path, options: JudgeOptions | None = None) -> JudgeReport:
    """Let a model answer the questions of a project or task sheet, and write `judgements.jsonl` in the folder `out`.

    Raises `BadInput` where the folder holds another job, the budget is spent, or a request fails for good.
    """
    options = options or JudgeOptions()
    task = open_task(
        tasks,
        form=options.form,
        language=options.language,
        settings=options.form_settings,
        data=options.data,
    )
    settings = dict(options.settings)
    if options.max_cost is not None:
        settings["budget"] = options.max_cost
    busy = BadInput(
        "another process judges into this folder", file=out, cure="wait for it, or stop it"
    )
    misplaced = BadInput("is not a folder", file=out, cure="choose another folder for --out")
    with private_files(), lock_folder(out, busy=busy, misplaced=misplaced):
        is_new = _check_folder(out, task, model, options)
        machine = open_machine(model, settings, out / CACHE, options.seed, options.progress)
        if is_new:
            _begin_folder(out, task, model, options)
        copies = plan_copies(options, settings)
        personal = find_personal_items(task, machine, options)
        interviews = [
            Interview(task, example, copy)
            for copy in copies
            for example in shuffle_items(task.examples, copy)
        ]
        sent = [one for one in interviews if one.example.id not in personal]
        outcomes = dict(zip(map(id, sent), machine.hold(sent, options.tries), strict=True))
        for one in interviews:
            if one.example.id in personal:
                kinds = ", ".join(personal[one.example.id])
                why = f"{PERSONAL}: {kinds}; not sent to a remote address without --allow-remote"
                outcomes[id(one)] = Outcome(why=why)
        places = {example.id: place for place, example in enumerate(task.examples)}
        rows = sorted(
            ((one, outcomes[id(one)]) for one in interviews),
            key=lambda row: (places[row[0].example.id], row[0].copy.number),
        )
        report = make_report(task, machine, copies, rows, personal, out, options.seed)
        _write(out, rows, machine.name, report)
    return report


def plan_copies(options: JudgeOptions, settings: Mapping[str, Any]) -> list[CopyPlan]:
    """The copies: each has its own seed, temperature and wording; a temperature of the settings is that of all."""
    plans = []
    for number in range(1, options.copies + 1):
        digest = blake2b(f"{options.seed}/{number}".encode(), digest_size=4).digest()
        temperature = TEMPERATURES[min(number, len(TEMPERATURES)) - 1]
        plans.append(
            CopyPlan(
                number=number,
                seed=int.from_bytes(digest) >> 1,
                temperature=float(settings.get("temperature", temperature)),
                wording=(number - 1) % WORDINGS + 1,
            )
        )
    return plans


def shuffle_items(examples: Sequence[Example], copy: CopyPlan) -> list[Example]:
    """The items in the order in which a copy gets them."""
    shuffled = list(examples)
    Random(f"{copy.seed}/{copy.number}/items").shuffle(shuffled)  # noqa: S311  (no secret)
    return shuffled


def find_personal_items(
    task: JudgingTask, machine: Machine, options: JudgeOptions
) -> dict[str, tuple[str, ...]]:
    """The items that may not leave this machine, with the kinds of personal data in them."""
    if not machine.is_remote or options.allow_remote:
        return {}
    items = {}
    for example in task.examples:
        if kinds := find_personal_data(texts_inside(example.inputs), task.language):
            items[example.id] = kinds
    return items


def name_worker(model: str, copy: CopyPlan) -> str:
    """The worker of a copy: `model:gemma#1`. A path is its last part, and other signs become dashes.

    >>> name_worker("lm:/models/gemma-3-1b", CopyPlan(2, 0, 0.0, 1))
    'model:gemma-3-1b#2'
    """
    (prefix,) = (name for name, kind in WORKER_PREFIXES.items() if kind == "machine")
    _, _, argument = model.partition(":")
    last = argument.rstrip("/").rpartition("/")[2]
    name = re.sub(r"[^\w.@-]+", "-", last).strip("-") or "model"
    return f"{prefix}{name}#{copy.number}"


def make_report(
    task: JudgingTask,
    machine: Machine,
    copies: Sequence[CopyPlan],
    rows: Sequence[tuple[Interview, Outcome]],
    personal: Mapping[str, Any],
    out: Path,
    seed: int,
) -> JudgeReport:
    """The figures of a job."""
    by_copy = []
    repeated = count_repeated(rows)
    for copy in copies:
        own = [outcome for one, outcome in rows if one.copy.number == copy.number]
        by_copy.append(
            CopyRow(
                worker=name_worker(machine.name, copy),
                temperature=copy.temperature,
                wording=copy.wording,
                items=len(own),
                answered=sum(outcome.answer is not None for outcome in own),
                asked_again=sum(len(outcome.tries) > 1 for outcome in own),
                repeated=repeated[copy.number],
            )
        )
    tries = [one for _, outcome in rows for one in outcome.tries]
    reasons = Counter(outcome.why.partition(":")[0] for _, outcome in rows if outcome.why)
    answered = [outcome.answer for _, outcome in rows if outcome.answer is not None]
    return JudgeReport(
        tasks=task.name,
        model=machine.name,
        form=task.form.name,
        language=task.language,
        items=len(task.examples),
        judgements=sum(len(task.form.to_judgements(answer)) for answer in answered),
        copies=tuple(by_copy),
        without_answer=dict(reasons.most_common()),
        same_answer=None if task.form.writes else measure_sameness(rows, len(copies)),
        position=measure_all(collect_shown(rows, machine.name), seed),
        personal=tuple(personal),
        tokens_in=sum(one.tokens_in for one in tries),
        tokens_out=sum(one.tokens_out for one in tries),
        cost=round(sum(outcome.cost for _, outcome in rows), 6),
        out=str(out / JUDGEMENTS),
        about=machine.about(),
        systems={digest_text(one.system): one.system for one, _ in rows},
    )


def count_repeated(rows: Sequence[tuple[Interview, Outcome]]) -> Counter[int]:
    """By the number of a copy, how many of its requests an earlier copy has sent about the same item.

    Above temperature 0 the seed sets them apart; else the wording, of which there are `WORDINGS`, and the order of the options.
    """
    seen: set[tuple[str, str, str]] = set()
    repeated: Counter[int] = Counter()
    for one, outcome in sorted(rows, key=lambda row: row[0].copy.number):
        if one.copy.temperature or not outcome.tries:
            continue
        request = one.example.id, one.system, one.question
        repeated[one.copy.number] += request in seen
        seen.add(request)
    return repeated


def measure_sameness(rows: Sequence[tuple[Interview, Outcome]], copies: int) -> float | None:
    """The share of items with equal answers among those that all copies answered; None without such items."""
    answers: dict[str, list[bytes]] = {}
    for one, outcome in rows:
        if outcome.answer is not None:
            body = msgspec.json.encode(outcome.answer, order="deterministic")
            answers.setdefault(one.example.id, []).append(body)
    complete = [bodies for bodies in answers.values() if len(bodies) == copies]
    if copies < 2 or not complete:
        return None
    return sum(len(set(bodies)) == 1 for bodies in complete) / len(complete)


def collect_shown(
    rows: Sequence[tuple[Interview, Outcome]], model: str = ""
) -> dict[str, list[ShownAnswer]]:
    """The answers to closed questions, with the order of the options; of a ranking, the first choice."""
    shown: dict[str, list[ShownAnswer]] = {}
    for one, outcome in rows:
        for part in one.fields:
            if outcome.answer is None or not isinstance(part, ClosedField):
                continue
            chosen, order = outcome.answer[part.question], one.order[part.question]
            if part.offer.is_fixed:  # two sides; what stands for neither has no place
                order = order[:2]
                if chosen not in order:
                    continue
            answer = ShownAnswer(
                one.example.id,
                order,
                chosen[0] if part.offer.is_ranking else chosen,
                part.offer.is_ordered,
                name_worker(model, one.copy),
            )
            shown.setdefault(part.question, []).append(answer)
    return shown


def digest_text(text: str) -> str:
    """A short digest of a text."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _check_folder(out: Path, task: JudgingTask, model: str, options: JudgeOptions) -> bool:
    """Refuse a folder that holds something else than this job; whether it holds nothing yet."""
    path = out / REQUEST
    if path.is_file():
        try:
            stored = msgspec.json.decode(path.read_bytes())
        except msgspec.DecodeError:
            stored = None
        if stored != _describe_request(task, model, options):
            what = "holds the answers of another job: other items, model, copies, seed or settings"
            raise BadInput(what, file=out, cure="choose another folder for --out")
        return False
    if any(one.suffix != PART for one in out.iterdir()):  # a killed start leaves a temporary
        raise BadInput("already exists", file=out, cure="choose another folder for --out")
    return True


def _begin_folder(out: Path, task: JudgingTask, model: str, options: JudgeOptions) -> None:
    """Begin the folder of a job with what defines it."""
    out.chmod(0o700)
    with atomic_write(out / REQUEST) as stream:
        stream.write(encode_json(_describe_request(task, model, options)) + b"\n")


def _describe_request(task: JudgingTask, model: str, options: JudgeOptions) -> dict[str, Any]:
    """What defines the answers, with a digest of the items; no secret."""
    settings = mask_secrets(dict(options.settings), environment_secrets(dict(options.settings)))
    plain = {
        name: value
        for name, value in settings.items()
        if name not in ("concurrency", "retries", "wait", "patience", "timeout", "budget")
        and not name.startswith("price_")
    }
    parts = [task.form.name, task.language, task.guideline, task.options, task.examples]
    digest = blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()
    request = {
        "model": model,
        "copies": options.copies,
        "seed": options.seed,
        "tries": options.tries,
        "allow_remote": options.allow_remote,
        "settings": plain,
        "items": digest,
    }
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(request))
    return decoded


def list_judgements(rows: Sequence[tuple[Interview, Outcome]], model: str) -> Iterator[Judgement]:
    """The judgements: one a question; an interview without an answer is a judgement without one, with the reason."""
    for one, outcome in rows:
        worker = name_worker(model, one.copy)
        example = one.example.id
        if outcome.answer is None:
            question = one.task.form.main_question(one.task.options)
            yield Judgement(
                example=example,
                worker=worker,
                question=question,
                answer=None,
                kind="machine",
                comment=outcome.why,
            )
            continue
        for question, answer in one.task.form.to_judgements(outcome.answer):
            yield Judgement(
                example=example, worker=worker, question=question, answer=answer, kind="machine"
            )


def list_replies(rows: Sequence[tuple[Interview, Outcome]], model: str) -> Iterator[ReplyRecord]:
    """A record of each interview."""
    for one, outcome in rows:
        yield ReplyRecord(
            example=one.example.id,
            worker=name_worker(model, one.copy),
            digest=digest_text(f"{one.system}\0{one.question}"),
            system=digest_text(one.system),
            prompt=one.question,
            order=one.order,
            seed=one.copy.seed,
            temperature=one.copy.temperature,
            wording=one.copy.wording,
            tries=tuple(outcome.tries),
            tokens_in=sum(part.tokens_in for part in outcome.tries),
            tokens_out=sum(part.tokens_out for part in outcome.tries),
            cost=round(outcome.cost, 9),
            why=outcome.why,
        )


def _write(
    out: Path, rows: Sequence[tuple[Interview, Outcome]], model: str, report: JudgeReport
) -> None:
    for name, records in (
        (REPLIES, list_replies(rows, model)),
        (JUDGEMENTS, list_judgements(rows, model)),
    ):
        with atomic_write(out / name, overwrite=True) as stream:
            for record in records:
                stream.write(encode_json(record) + b"\n")
    with atomic_write(out / REPORT, overwrite=True) as stream:
        stream.write(msgspec.json.format(encode_json(report), indent=2) + b"\n")
