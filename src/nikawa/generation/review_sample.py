"""A stratified sample of a pack for readers, and the figures that their judgements come to.

Readers see premise and hypothesis only. They say whether the texts are natural and which label they
would give. The figures go into `card.json` in the folder of the pack, and the judgements stay next
to it: a pack ships with the evidence for its quality.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import msgspec
from msgspec import field

from nikawa.datasets.load import open_file
from nikawa.errors import BadInput
from nikawa.generation.conditions import LABELS
from nikawa.generation.generator import Generator, PlannedCell, load_pack_lexicon
from nikawa.generation.pack import PACKS, Pack, open_pack
from nikawa.io.atomic import atomic_write
from nikawa.io.jsonl import write_lines_of_records
from nikawa.io.judgements import open_judgements, write_judgements
from nikawa.records import Example, Judgement, Record

MIN_READ = 150
"""Problems that a review of a pack needs."""
ITEMS_PER_CELL = 40
"""Problems of a cell that a sample may draw from."""
CARD_FILE = "card.json"
REVIEW_FOLDER = "review"
SAMPLE_FILE = "sample.jsonl"
ITEMS_FILE = "items.jsonl"
JUDGEMENTS_FILE = "judgements.jsonl"
LABEL_QUESTION = "label"
NATURALNESS_QUESTION = "naturalness"
NATURAL, MILD = "natural", "mild"
UNNATURAL = ("unnatural", "premise", "hypothesis", "both")
"""Answers that mean clearly unnatural: `unnatural`, or the part that the form `inference` names."""
READING_POINTS = {
    "ja": (
        "前提と仮説は同じ場面について述べています。同じ名前は同じ人を、同じ言葉は同じものを指します。",
        "**必ず正しい**: 前提が正しければ、仮説も必ず正しい。",
        "**必ず誤り**: 前提が正しければ、仮説は必ず誤り。",
        "**どちらとも言えない**: 正しい場合もあれば、正しくない場合もある。",
        "「以内」「以下」は多くてもその数、「以上」は少なくともその数という意味です。年のない日付はすべて同じ年、月のない日はすべて同じ月のこととします。",
        "自然さは、意味の関係とは別に、表現だけを見て判断してください。例文なので、名前や言葉の繰り返し、少し硬い表現は不自然としません。"
        "日本語の話者なら書かない表現があるときだけ「不自然」を選んでください。",
    ),
    "ko": (
        "전제와 가설은 같은 상황에 대한 글입니다. 같은 이름은 같은 사람을, 같은 말은 같은 것을 가리킵니다.",
        "**반드시 참**: 전제가 참이면 가설도 반드시 참이다.",
        "**반드시 거짓**: 전제가 참이면 가설은 반드시 거짓이다.",
        "**참·거짓을 판단할 수 없음**: 참일 수도 있고 거짓일 수도 있다.",
        "‘이내’와 ‘이하’는 많아야 그만큼, ‘이상’은 적어도 그만큼이라는 뜻입니다. 연도가 없는 날짜는 모두 같은 해, 월이 없는 날은 모두 같은 달로 봅니다.",
        "자연스러움은 의미 관계와 별개로 표현만 보고 판단해 주세요. 예문이므로 이름이나 말이 되풀이되거나 표현이 조금 딱딱한 것은 괜찮습니다. "
        "한국어 화자라면 쓰지 않을 표현이 있을 때만 ‘어색함’을 골라 주세요.",
    ),
    "en": (
        "The premise and the hypothesis describe the same scene. The same name is the same person, and the same word is the same thing.",
        "**It must be true**: whenever the premise is true, so is the hypothesis.",
        "**It must be false**: whenever the premise is true, the hypothesis is false.",
        "**It may be either**: it can be true, and it can be false.",
        "Within a number means at most that number. Dates without a year are in the same year, and days without a month in the same month.",
        "Judge naturalness separately from meaning. Look only at the wording. These are example sentences, so repeated names and words or a slightly stiff style are fine. "
        "Choose unnatural only if a native speaker would not write it.",
    ),
}
"""What readers of a pack need to know, by language: the figures count clearly unnatural texts only, and labels depend on
how limits and incomplete dates are read."""


class TemplateFault(Record, frozen=True, kw_only=True):
    """How many problems of one template readers object to."""

    template: str
    unnatural: int = 0
    disputed: int = 0


class ReviewFigures(Record, frozen=True, kw_only=True):
    """What a review of a pack came to."""

    pack: str
    version: str
    read_by: str
    """Who read: persons, or a language model by name."""
    readers: int
    n: int
    """Problems that every reader judged."""
    templates_read: int
    """Templates with at least one problem among them."""
    templates: int
    """Templates of the pack."""
    natural: float
    """Share of readings that are not clearly unnatural."""
    fully_natural: float
    """Share of readings without any reservation."""
    unnatural: int
    """Problems that at least one reader finds clearly unnatural."""
    unnatural_for_all: int
    """Problems that all readers find clearly unnatural."""
    label_agreed: float
    """Share of readings that give the computed label."""
    disputed: int
    """Problems to which at least one reader gives another label."""
    disputed_by_all: int
    """Problems to which no reader gives the computed label."""
    label_agreement: float | None = None
    """Share of problems to which two readers give the same label, averaged over pairs of readers."""
    naturalness_agreement: float | None = None
    """Share of problems on whose naturalness (clearly unnatural or not) two readers agree."""
    label_kappa: float | None = None
    """Cohen's kappa of the labels, averaged over pairs of readers."""
    faults: tuple[TemplateFault, ...] = field(default_factory=tuple)
    """Templates with a problem that was found unnatural or disputed, the worst first."""


class PackCard(Record, frozen=True, kw_only=True):
    """`card.json` of a pack."""

    pack: str
    version: str
    review: ReviewFigures | None = None


def draw_review_sample(pack: Pack, n: int = MIN_READ, seed: int = 0) -> list[Example]:
    """Problems of a pack, as evenly as possible by template, then by format, span and label.

    Every template comes up before one returns. The order is random, and ids say nothing about the
    label.
    """
    generator = Generator(pack, load_pack_lexicon(pack), f"{seed}")
    rng = Random(f"review {pack.name} {seed}")  # noqa: S311  (a sample, no secret)
    by_template: dict[str, list[PlannedCell]] = defaultdict(list)
    split = generator.first_split
    for planned in generator.plan_cells(split, ITEMS_PER_CELL):
        if planned.n:
            by_template[planned.cell.template.id].append(planned)
    for cells in by_template.values():
        rng.shuffle(cells)
    chosen: list[Example] = []
    texts: set[tuple[str, str]] = set()
    turn = 0
    while len(chosen) < n:
        templates = list(by_template)
        rng.shuffle(templates)
        before = len(chosen)
        for id in templates[: n - len(chosen)]:
            cells = by_template[id]
            planned = cells[turn % len(cells)]
            item = rng.randrange(planned.n)
            problem = next(generator.problems(split, planned, item, item + 1))
            pair = (str(problem.inputs["premise"]), str(problem.inputs["hypothesis"]))
            if pair not in texts:
                texts.add(pair)
                chosen.append(problem)
        turn += 1
        if len(chosen) == before and turn > len(by_template) + ITEMS_PER_CELL:
            break
    rng.shuffle(chosen)
    width = len(str(len(chosen)))
    return [
        msgspec.structs.replace(problem, id=f"{pack.name}-{number:0{width}d}")
        for number, problem in enumerate(chosen, start=1)
    ]


def strip_labels(sample: Iterable[Example]) -> list[Example]:
    """The sample as readers see it: premise and hypothesis, and nothing that tells the label."""
    return [Example(id=problem.id, inputs=problem.inputs) for problem in sample]


def compute_figures(
    pack: Pack, sample: Sequence[Example], judgements: Iterable[Judgement], read_by: str
) -> ReviewFigures:
    """The figures of a review.

    Problems that not every reader judged on both questions do not count.
    """
    answers: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    """Reader and question to answers by problem."""
    problems = {problem.id: problem for problem in sample}
    for judgement in judgements:
        if judgement.example not in problems:
            cure = "pass the judgements of this review"
            raise BadInput(f"the sample has no problem {judgement.example!r}", cure=cure)
        check_answer(judgement)
        answers[judgement.worker, judgement.question][judgement.example] = str(judgement.answer)
    readers = sorted({reader for reader, _ in answers})
    if not readers:
        raise BadInput("there is no judgement", cure="let someone judge the sample first")
    judged = set(problems)
    for reader in readers:
        for question in (LABEL_QUESTION, NATURALNESS_QUESTION):
            judged &= answers[reader, question].keys()
    if not judged:
        what = "no problem was judged by every reader on label and naturalness"
        raise BadInput(what, cure="let every reader judge the whole sample")
    ids = [id for id in problems if id in judged]
    labels = {reader: [answers[reader, LABEL_QUESTION][id] for id in ids] for reader in readers}
    kinds = {
        reader: [answers[reader, NATURALNESS_QUESTION][id] for id in ids] for reader in readers
    }
    gold = [str(problems[id].gold[LABEL_QUESTION]) for id in ids]
    unnatural = [sum(kinds[reader][i] in UNNATURAL for reader in readers) for i in range(len(ids))]
    disputed = [sum(labels[reader][i] != gold[i] for reader in readers) for i in range(len(ids))]
    readings = len(ids) * len(readers)
    faults: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for i, id in enumerate(ids):
        template = str(problems[id].meta.get("template", ""))
        faults[template][0] += unnatural[i] > 0
        faults[template][1] += disputed[i] > 0
    pairs = [(a, b) for i, a in enumerate(readers) for b in readers[i + 1 :]]
    is_unnatural = {r: [kind in UNNATURAL for kind in kinds[r]] for r in readers}
    return ReviewFigures(
        pack=pack.name,
        version=pack.head.version,
        read_by=read_by,
        readers=len(readers),
        n=len(ids),
        templates_read=len(faults),
        templates=len(pack.templates),
        natural=1 - sum(unnatural) / readings,
        fully_natural=sum(kinds[r].count(NATURAL) for r in readers) / readings,
        unnatural=sum(count > 0 for count in unnatural),
        unnatural_for_all=sum(count == len(readers) for count in unnatural),
        label_agreed=1 - sum(disputed) / readings,
        disputed=sum(count > 0 for count in disputed),
        disputed_by_all=sum(count == len(readers) for count in disputed),
        label_agreement=average([share_equal(labels[a], labels[b]) for a, b in pairs]),
        naturalness_agreement=average(
            [share_equal(is_unnatural[a], is_unnatural[b]) for a, b in pairs]
        ),
        label_kappa=average([cohen_kappa(labels[a], labels[b]) for a, b in pairs]),
        faults=tuple(
            TemplateFault(template=template, unnatural=bad, disputed=other)
            for template, (bad, other) in sorted(
                faults.items(), key=lambda item: (-sum(item[1]), item[0])
            )
            if bad or other
        ),
    )


def check_answer(judgement: Judgement) -> None:
    """Refuse an answer that a review does not know."""
    known = {
        LABEL_QUESTION: LABELS,
        NATURALNESS_QUESTION: (NATURAL, MILD, *UNNATURAL),
    }.get(judgement.question)
    if known is None:
        cure = f"judge {LABEL_QUESTION} and {NATURALNESS_QUESTION}"
        raise BadInput(f"{judgement.example}: unknown question {judgement.question!r}", cure=cure)
    if judgement.answer not in known:
        what = f"{judgement.example}: the {judgement.question} is {judgement.answer!r}"
        raise BadInput(what, cure=f"answer with one of: {', '.join(known)}")


def average(values: Sequence[float]) -> float | None:
    """The mean; None where there is nothing to average."""
    return sum(values) / len(values) if values else None


def share_equal(some: Sequence[object], others: Sequence[object]) -> float:
    """The share of places at which two sequences agree."""
    return sum(a == b for a, b in zip(some, others, strict=True)) / len(some)


def cohen_kappa(some: Sequence[str], others: Sequence[str]) -> float:
    """Agreement beyond chance: (observed - expected) / (1 - expected)."""
    n = len(some)
    first, second = Counter(some), Counter(others)
    expected = sum(first[label] * second[label] for label in first) / n**2
    observed = share_equal(some, others)
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)


class SampleReport(Record, frozen=True, kw_only=True):
    """A sample that was drawn for readers."""

    pack: str
    problems: int
    templates: int
    """Different templates in the sample."""
    sample: str
    """The file with the sample and its labels."""
    items: str
    """The file that readers see."""


class PackReviewReport(Record, frozen=True, kw_only=True):
    """The figures of a review and where they were written."""

    figures: ReviewFigures
    card: str


def write_sample(
    spec: str,
    folder: Path,
    *,
    n: int = MIN_READ,
    seed: int = 0,
    data: Path | None = None,
    overwrite: bool = False,
) -> SampleReport:
    """Draw a sample of a pack and write it to a folder: with labels for the evaluation, and
    without them for readers.

    A new folder can only be opened by its owner, because readers may have accounts on the same machine.
    """
    pack = open_pack(spec, data)
    sample = draw_review_sample(pack, n, seed)
    if len(sample) < n:
        what = f"{pack.name} gives only {len(sample)} different problems"
        raise BadInput(what, file=pack.file, cure=f"pass -n {len(sample)}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    labelled, items = folder / SAMPLE_FILE, folder / ITEMS_FILE
    write_lines_of_records(labelled, sample, overwrite=overwrite)
    write_lines_of_records(items, strip_labels(sample), overwrite=overwrite)
    templates = {problem.meta.get("template") for problem in sample}
    return SampleReport(
        pack=pack.name,
        problems=len(sample),
        templates=len(templates),
        sample=str(labelled),
        items=str(items),
    )


def review_pack(
    spec: str,
    sample: Path,
    judgements: Sequence[Path],
    *,
    read_by: str = "",
    out: Path | None = None,
    data: Path | None = None,
) -> PackReviewReport:
    """Compute the figures of a review and write them to the card of a pack.

    The sample and the judgements are copied next to the card. `out` is the folder of the card; by
    default it is the folder of the pack, which must then be your own.
    """
    pack = open_pack(spec, data)
    if out is None:
        if PACKS in pack.folder.parents:
            what = f"{pack.name} comes with Nikawa, so its folder is not changed"
            raise BadInput(what, cure="pass --out FOLDER for the card")
        out = pack.folder
    problems = list(open_file(sample, data=data))
    if unlabelled := next((one.id for one in problems if LABEL_QUESTION not in one.gold), None):
        what = f"{unlabelled} has no label, or its label is hidden"
        raise BadInput(what, file=sample, cure=f"pass the {SAMPLE_FILE} of this review")
    rows: list[Judgement] = []
    for path in judgements:
        rows += [row for _, row in open_judgements(path).rows]
    kinds = {row.kind for row in rows}
    if not read_by:
        if kinds != {"person"}:
            what = "the judgements are not all by persons"
            raise BadInput(what, cure='name the reader, for example --read-by "a language model"')
        count = len({row.worker for row in rows})
        read_by = "1 person" if count == 1 else f"{count} persons"
    figures = compute_figures(pack, problems, rows, read_by)
    review = out / REVIEW_FOLDER
    review.mkdir(parents=True, exist_ok=True)
    write_lines_of_records(review / SAMPLE_FILE, problems, overwrite=True)
    write_judgements(review / JUDGEMENTS_FILE, rows, overwrite=True)
    return PackReviewReport(figures=figures, card=str(write_pack_card(pack, figures, out)))


def write_pack_card(pack: Pack, figures: ReviewFigures, folder: Path) -> Path:
    """Write the figures to `card.json` in a folder."""
    path = folder / CARD_FILE
    card = PackCard(pack=pack.name, version=pack.head.version, review=figures)
    with atomic_write(path, overwrite=True) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")
    return path


def read_pack_card(folder: Path) -> PackCard | None:
    """The card of a pack; None where it has none."""
    path = folder / CARD_FILE
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=PackCard)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise BadInput(str(error), file=path, cure="review the pack again") from None
