"""The steps of reading sets with unanswerable questions: passages by source, questions of three types, checks, gold.

A passage gets a plan of types, so that the shares of the types are met over all passages. Writers ask and mark; checkers who did not
write answer each question without seeing its type or the marked answer. A question stays if enough of writer and checkers
agree whether the passage answers it and, if it does, where.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace as dataclass_replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.collect.forms.reading import PARAPHRASE, SEVERAL, TYPES, UNANSWERABLE
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import (
    answers_of,
    check_removed,
    check_split,
    describe_answers,
    require_value,
    seeded_random,
    settled_answers,
    shuffle,
    split_groups,
)
from nikawa.recipes.klue.reports import (
    DISCARD,
    ETHICS,
    KEEP,
    ask_for_review,
    given_or_decided_answers,
    kept_on_review,
    set_apart,
)
from nikawa.recipes.klue.texts import draw_by_group
from nikawa.recipes.recipe import (
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    One,
    Outcomes,
    Positive,
    Share,
    Stage,
    found_in,
    splits_stage,
)
from nikawa.records import Example, Origin
from nikawa.text.copied import copied_share
from nikawa.text.marked import NO_ANSWER, find_place, overlap_f1

REPORTS = (*ETHICS, "undecidable")
"""How a writer hands passages back."""
_SENTENCE_END = re.compile(r"[.。!?！？](?=\s|$|[」』\"'”’)]|[^\d\s])|\n")
_WORD = re.compile(r"[一-龯々]{2,8}|[ァ-ヶー]{2,12}|[가-힣]{2,8}|\w+")
WRITTEN = "written"
"""What the writer marked, in the meta of a question until it is settled."""


class ReadingConfig(Config, kw_only=True):
    """Settings of every reading set."""

    articles: str = ""
    """File of passages: JSON lines of {id, title, text, source, category, url, licence}; every line is one passage."""
    shortest: Positive = 512
    """Minimum number of characters of a passage; a choice made here."""
    longest: Positive = 2048
    """Maximum number of characters of a passage; a choice made here."""
    passages: Positive = 10000
    """Number of passages drawn, as many of each source as can be."""
    writers: One = 1
    """Workers who write the questions on a passage."""
    questions: Positive = 3
    """Number of questions on a passage."""
    several: Share = 0.3
    """Share of questions that need several sentences (type 2)."""
    unanswerable: Share = 0.3
    """Share of questions without an answer in the passage (type 3); the rest are paraphrases (type 1)."""
    most_copied: Share = 0.8
    """Largest share of a question that may be copied from the passage, in runs of three letters or more; half of the
    questions of JSQuAD's dev are above it."""
    longest_answer: Positive = 100
    """Maximum number of characters of an answer."""
    reviewers: Positive = 1
    """People who review passages that writers reported."""
    checkers: Positive = 2
    """Workers who answer each question without seeing its type or its answer."""
    votes: Positive = 2
    """Number of writer and checkers who must agree whether there is an answer, and on a place that overlaps the writer's."""
    split: str = "0.6,0.2,0.2"
    """Shares of questions of train, dev and test; all questions on a passage are in one of them."""
    removed: tuple[str, ...] = ()
    """Ids of questions deleted manually."""


class Line(msgspec.Struct):
    """A passage of a JSON line; in records the values are in `inputs` and `meta`."""

    id: str | int = ""
    title: str = ""
    text: str = ""
    source: str = ""
    category: str = ""
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    meta: dict[str, Any] = {}

    def value(self, name: str) -> str:
        """A value of the line itself, else of its inputs or meta."""
        value = getattr(self, name) or self.inputs.get(name) or self.meta.get(name)
        return value.strip() if isinstance(value, str) else ""


class Wording(NamedTuple):
    """What workers read, in the language of the data."""

    write: str
    write_heading: str
    check: str
    check_heading: str
    review: str
    review_heading: str
    review_points: tuple[str, ...]
    names: Mapping[str, str]
    """Of the review: the two answers, the reason, the reports."""


# Stages


def read_passages(path: Path, recipe: str) -> Iterator[Example]:
    """The passages of a file."""
    for number, line in read_json_lines(path, Line):
        given = {
            "id": str(line.id),
            "title": line.value("title"),
            "text": line.value("text") or line.value("context"),
            "source": line.value("source"),
        }
        for name, value in given.items():
            require_value(value, name, path, number)
        where = found_in(path, number, url=line.value("url"), licence=line.value("licence"))
        category = line.value("category")
        meta = {"source": given["source"], **({"category": category} if category else {}), **where}
        inputs = {"title": given["title"], "context": given["text"]}
        yield Example(
            id=given["id"],
            inputs=inputs,
            group=given["id"],
            meta=meta,
            origin=Origin(recipe=recipe),
        )


def count_sentences(text: str) -> int:
    """About how many sentences a passage has: enough to tell one from several."""
    parts = _SENTENCE_END.split(text)
    return sum(any(char.isalnum() for char in part) for part in parts)


def take_passages(recipe: str) -> Any:
    """The stage function that takes the passages of the length asked for, each once."""

    def run(inputs: Inputs, config: Any) -> Outcomes:
        seen: set[str] = set()
        for passage in read_passages(inputs.file("articles"), recipe):
            text = passage.inputs["context"]
            if not config.shortest <= len(text) <= config.longest:
                yield Dropped(passage, "too short or too long", str(len(text)))
            elif text in seen:
                yield Dropped(passage, "the same text came before")
            elif count_sentences(text) < 2:
                yield Dropped(passage, "a single sentence")
            else:
                yield Kept(passage, f"{len(text)} characters")
            seen.add(text)

    return run


def draw_passages(inputs: Inputs, config: Any) -> Outcomes:
    """As even a number of passages of each source as can be."""
    from nikawa.splitting.base import quotas

    passages = list(inputs.examples("passages"))
    limits = quotas(Counter(str(one.meta["source"]) for one in passages), config.passages)
    yield from draw_by_group(passages, lambda one: str(one.meta["source"]), limits.get, config.seed)


def plan_types(inputs: Inputs, config: Any) -> Outcomes:
    """The types of the questions on each passage, so that the shares are met over all of them."""
    shares = {
        PARAPHRASE: max(0.0, 1 - config.several - config.unanswerable),
        SEVERAL: config.several,
        UNANSWERABLE: config.unanswerable,
    }
    passages, given = list(inputs.examples("chosen")), dict.fromkeys(TYPES, 0)
    plans: dict[str, tuple[str, ...]] = {}
    number = 0
    for passage in shuffle(passages, config.seed, "types"):
        types: list[str] = []
        for _ in range(config.questions):
            number += 1
            name = max(TYPES, key=lambda one: shares[one] * number - given[one])
            given[name] += 1
            types.append(name)
        seeded_random(config.seed, "order of types", passage.id).shuffle(types)
        plans[passage.id] = tuple(types)
    for passage in passages:
        plan = list(plans[passage.id])
        made = replace(passage, inputs={**passage.inputs, "types": plan})
        yield Kept(made, f"asked for {', '.join(plan)}")


def take_questions(inputs: Inputs, config: Any) -> Outcomes:
    """The written questions that keep the rules, each with what its writer marked."""
    known = set[str]()
    for items, ask in (("unreported", "written"), ("readmitted", "written-again")):
        written = given_or_decided_answers(inputs, ask)
        for passage in inputs.examples(items):
            if passage.id not in written:
                yield Dropped(passage, "handed back a second time")
                continue
            rows = written[passage.id][0].answer
            for outcome in make_questions(passage, rows, config):
                known.add(outcome.example.id)
                yield outcome
    check_removed(config.removed, known)


def make_questions(passage: Example, rows: Sequence[Mapping[str, Any]], config: Any) -> Outcomes:
    """The questions on a passage, in the order in which they were asked for."""
    context, seen = passage.inputs["context"], set[str]()
    known: dict[str, Any] = {
        name: passage.meta[name] for name in ("source", "category") if name in passage.meta
    }
    for number, row in enumerate(rows, start=1):
        question, text = " ".join(row["question"].split()), row["answer"]
        start = row.get("start", -1)
        if not start >= 0 or context[start : start + len(text)] != text:
            start = context.find(text)
        share = copied_share(question, context)
        meta: dict[str, Any] = {
            **known,
            "question_type": TYPES.index(row["type"]) + 1,
            "copied": round(share, 2),
            WRITTEN: {"text": text, "start": start},
        }
        made = Example(
            id=f"{passage.id}-{number}",
            inputs={
                "title": passage.inputs["title"],
                "context": context,
                "question": question,
            },
            meta=meta,
            group=passage.group,
            origin=Origin(
                recipe=passage.origin.recipe if passage.origin else "",
                parents=(passage.id,),
                step=row["type"],
            ),
        )
        why = find_question_fault(question, text, start, share, seen, config)
        if not why and made.id in config.removed:
            why = "deleted by hand"
        yield Dropped(made, why, text) if why else Kept(made, f"asked as {row['type']}")
        seen.add(question)


def find_question_fault(
    question: str, text: str, start: int, share: float, seen: set[str], config: Any
) -> str:
    """Why a question cannot be asked; empty: it can."""
    if start < 0:
        return "the answer is not in the passage"
    if len(text) > config.longest_answer:
        return f"the answer has more than {config.longest_answer} characters"
    if text in question:
        return "the question contains the answer"
    if question in seen:
        return "asked twice of one passage"
    if share > config.most_copied:
        return f"more than {config.most_copied:g} of it is copied from the passage"
    return ""


def settle_questions(inputs: Inputs, config: Any) -> Outcomes:
    """The questions on which enough of writer and checkers agree, with their answers; a decision replaces the checkers."""
    judged, book = answers_of(inputs.judgements("checked")), inputs.decisions("checked")
    settled = settled_answers(inputs, "checked")
    for question in inputs.examples("asked"):
        mine = question.meta[WRITTEN]
        is_answerable = question.meta["question_type"] != TYPES.index(UNANSWERABLE) + 1
        given: list[dict[str, Any]] = [
            dict(judgement.answer) for judgement in settled.get(question.id, ())
        ]
        votes = describe_answers(judged.get(question.id, ()))
        if book.find(question.id, has_gold=question.id in judged) is not None:
            (decided,) = given
            agree = [decided] if shares_place(decided, mine) and is_answerable else []
            answers = [] if decided == NO_ANSWER else [decided, *([mine] if agree else [])]
            yield Kept(finish(question, answers), f"{book.explain(question.id)}; {votes}")
            continue
        agreeing = [
            one for one in given if (shares_place(one, mine) if is_answerable else one == NO_ANSWER)
        ]
        count = 1 + len(agreeing)
        reason = f"{count} of {1 + len(given)} agree, {config.votes} needed: {votes}"
        if count < config.votes:
            why = "no answer" if not is_answerable else "the answer"
            yield Dropped(question, f"too few agree on {why}", reason)
        else:
            yield Kept(finish(question, [mine, *agreeing] if is_answerable else []), reason)


def shares_place(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two marked answers share characters."""
    first, second = find_place(dict(one)), find_place(dict(other))
    return first is not None and second is not None and overlap_f1(first, second) > 0


def finish(question: Example, answers: Sequence[Mapping[str, Any]]) -> Example:
    """A question with its gold, each answer once; what was marked for a question without an answer is no gold."""
    distinct = list({(one["text"], one["start"]): dict(one) for one in answers}.values())
    meta = {name: value for name, value in question.meta.items() if name != WRITTEN}
    meta["is_impossible"] = not distinct
    unanswerable = TYPES.index(UNANSWERABLE) + 1
    if not distinct:
        meta["question_type"] = unanswerable
        meta["plausible_answers"] = [dict(question.meta[WRITTEN])]
    elif meta["question_type"] == unanswerable:
        meta["question_type"] = TYPES.index(PARAPHRASE) + 1  # a decision found an answer
    return replace(question, gold={"answers": distinct}, meta=meta)


def split_passages(inputs: Inputs, config: Any) -> Outcomes:
    """Passages in splits with all their questions."""
    yield from split_groups(inputs, config, ("settled",), lambda one: str(one.group))


# Simulated workers


def simulate_questions(wording: Mapping[str, str]) -> Any:
    """The function that makes up questions by patterns: `asked` and `missing`, each with {n}."""

    def run(example: Example, config: Any, random: Random) -> list[dict[str, Any]] | str:
        if random.random() < 0.03:
            return random.choice(REPORTS)
        rows = []
        for number, name in enumerate(example.inputs["types"], start=1):
            pattern = wording["missing" if name == UNANSWERABLE else "asked"]
            answer = draw_word(example.inputs["context"], random)
            rows.append({"type": name, "question": pattern.format(n=number), **answer})
        return [
            {"type": r["type"], "question": r["question"], "answer": r["text"], "start": r["start"]}
            for r in rows
        ]

    return run


def draw_word(context: str, random: Random) -> dict[str, Any]:
    """A word of a passage with its place, in Japanese a run of one script."""
    match = random.choice(list(_WORD.finditer(context)))
    return {"text": match[0], "start": match.start()}


def simulate_answer(example: Example, config: Any, random: Random) -> dict[str, Any]:
    """Mostly what the writer meant, sometimes shorter, now and then something else."""
    mine = dict(example.meta[WRITTEN])
    means_none = example.meta["question_type"] == TYPES.index(UNANSWERABLE) + 1
    chance = random.random()
    if chance < 0.9:
        if means_none:
            return dict(NO_ANSWER)
        return {**mine, "text": mine["text"][: max(1, len(mine["text"]) - (chance > 0.7))]}
    if means_none:
        return mine
    return random.choice((dict(NO_ANSWER), draw_word(example.inputs["context"], random)))


# The recipe


def show_passage(item: Example) -> dict[str, Any]:
    """A passage as reviewers see it."""
    return {name: item.inputs[name] for name in ("title", "context")}


def ask_for_questions(name: str, title: str, items: str, wording: Wording, simulate: Any) -> Ask:
    """Ask for the questions on the passages of a set."""
    return Ask(
        name,
        title,
        (items,),
        "reading",
        "questions",
        "writers",
        prompt=wording.write,
        heading=wording.write_heading,
        settings={"most_copied": "most_copied", "longest": "longest_answer"},
        reports=REPORTS,
        simulate=simulate,
    )


def reading_stages(
    recipe: str, wording: Wording, patterns: Mapping[str, str]
) -> tuple[Stage | Ask, ...]:
    """All steps from articles to splits."""
    simulate = simulate_questions(patterns)
    review = ask_for_review(wording.review, show_passage, wording.names)
    return (
        Stage(
            "passages",
            "passages of the length asked for with two sentences or more, each once",
            take_passages(recipe),
            ("articles",),
            ("shortest", "longest"),
        ),
        Stage(
            "chosen",
            "passages drawn by chance, as many of each source as can be",
            draw_passages,
            ("passages",),
            ("passages", "seed"),
        ),
        Stage(
            "planned",
            "the types of the questions on each passage, so that the shares are met over all",
            plan_types,
            ("chosen",),
            ("questions", "several", "unanswerable", "seed"),
        ),
        ask_for_questions(
            "written", "questions of three types on a passage", "planned", wording, simulate
        ),
        Stage(
            "sorted",
            "passages the writer skipped are left out, those reported are set apart",
            set_apart("planned", "written", {"undecidable": "skipped by the writer"}),
            ("planned", "written"),
            (),
            ("unreported", "reported"),
        ),
        dataclass_replace(review, heading=wording.review_heading, guideline=wording.review_points),
        Stage(
            "readmitted",
            "reported passages that are kept on review",
            kept_on_review,
            ("reported", "review"),
        ),
        ask_for_questions(
            "written-again",
            "questions on passages that were kept on review",
            "readmitted",
            wording,
            simulate,
        ),
        Stage(
            "asked",
            "questions that are not mostly copied, with an answer in the passage that they do not contain",
            take_questions,
            ("unreported", "readmitted", "written", "written-again"),
            ("most_copied", "longest_answer", "removed"),
        ),
        Ask(
            "checked",
            "the answer to a question, or that the passage has no answer",
            ("asked",),
            "reading-answers",
            "answers",
            "checkers",
            prompt=wording.check,
            heading=wording.check_heading,
            settings={"longest": "longest_answer"},
            apart=("written", "written-again"),
            simulate=simulate_answer,
        ),
        Stage(
            "settled",
            "enough of the writer and of checkers who did not write it agree on the answer, or that the passage has no answer",
            settle_questions,
            ("asked", "checked"),
            ("votes",),
        ),
        splits_stage(
            "passages with all their questions, drawn by chance",
            split_passages,
            ("settled",),
            ("split", "seed"),
        ),
    )


def check_reading(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    if config.votes > config.checkers + 1:
        what = f"votes = {config.votes} is more than the writer and checkers = {config.checkers}"
        raise BadInput(
            what, cure="no question could ever be accepted: lower one or raise the other"
        )
    if config.several + config.unanswerable > 1:
        total = config.several + config.unanswerable
        what = f"several and unanswerable are {total:g} together"
        raise BadInput(what, cure="write shares that add up to 1 at most; the rest are paraphrases")
    if config.shortest > config.longest:
        what = f"shortest = {config.shortest} is more than longest = {config.longest}"
        raise BadInput(what, cure="no passage could ever be accepted: lower one or raise the other")


def describe_gold(config: Any) -> str:
    """How the labels were made, for the card."""
    return (
        f"Marked by the writer of the question; kept where at least {config.votes} of the writer and the checkers ({config.checkers} per question) agree "
        "whether there is an answer, and on a place that overlaps the writer's. Gold has the writer's answer and the checkers' that overlap it."
    )


NOTES = (
    "Section 2 and Table 1 of KLUE name the sources, and the published format has the three types and plausible wrong answers. The other numbers of the "
    "config are choices made here.",
    "The types are planned passage by passage, so that their shares are met over all passages before anything is dropped.",
    "Copied is the share of a question's letters that are in runs of three or more that the passage has too.",
    "Checkers see neither the type nor the writer's answer, and no worker checks a question of their own.",
    "What the writer marked for a question without an answer is in meta as plausible_answers, and is no gold.",
)
KO = Wording(
    write="문단을 읽고 유형에 맞는 질문을 쓰고, 문단에서 답을 그대로 옮겨 쓰세요. 답이 없는 유형은 답처럼 보이는 부분을 쓰세요.",
    write_heading="문단에서 세 유형의 질문 만들기",
    check="질문의 답을 문단에서 그대로 옮겨 쓰세요. 문단에 답이 없으면 no-answer라고 쓰세요.",
    check_heading="문단에서 질문의 답 고르기",
    review="신고된 문단입니다. 질문을 만들 문단으로 유지해도 됩니까?",
    review_heading="신고된 문단 확인",
    review_points=(
        "다른 작업자가 신고한 문단입니다. 처음부터 끝까지 읽어 주세요.",
        "특정 개인을 식별할 수 있는 정보, 혐오 표현, 사회적 편견이 있으면 ‘제외’를 골라 주세요.",
        "글자가 깨졌거나 과제에 쓸 수 없으면 ‘제외’를, 신고가 잘못되었으면 ‘유지’를 골라 주세요.",
    ),
    names={},
)
JA = Wording(
    write="段落を読んで種類に合う質問を書き、答えを段落からそのまま書き写してください。答えのない種類では、答えのように見える箇所を書いてください。",
    write_heading="段落から3種類の質問を作る",
    check="質問の答えを段落からそのまま書き写してください。段落に答えがなければ no-answer と書いてください。",
    check_heading="質問の答えを段落から選ぶ",
    review="報告された段落です。質問を作る段落として残してよいですか？",
    review_heading="報告された段落の確認",
    review_points=(
        "ほかの作業者が報告した段落です。最初から最後まで読んでください。",
        "個人を特定できる情報、差別的な表現、偏見があれば「除く」を選んでください。",
        "文字化けしている段落や作業に使えない段落は「除く」を、報告が誤りであれば「残す」を選んでください。",
    ),
    names={
        KEEP: "残す",
        DISCARD: "除く",
        "reported_for": "報告の理由",
        "report_personal": "個人情報が含まれている",
        "report_hate": "差別的・憎悪的な表現がある",
        "report_bias": "偏見がある",
        "report_undecidable": "判断できない",
        "report_broken": "文として読めない（文字化けなど）",
    },
)
KO_PATTERNS = {
    "asked": "글쓴이가 {n}번째로 중요하게 다룬 것은 무엇일까?",
    "missing": "글쓴이가 {n}번째로 만난 사람은 누구일까?",
}
JA_PATTERNS = {
    "asked": "筆者が{n}番目に重んじた事柄は何でしょうか？",
    "missing": "筆者が{n}番目に会った人は誰でしょうか？",
}
