"""How JSICK was made (3.1 to 3.3): English pairs translated sentence by sentence, judged again,
adjudicated, tagged.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from nikawa.datasets.jsick.jsick import DATASET
from nikawa.datasets.jsick.rows import (
    LABELS,
    SPLITS,
    check_label,
    parse_score,
    read_cells,
    read_header,
)
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput, suggest
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import (
    NOBODY,
    add_tags,
    answers_of,
    character_overlap,
    check_tags,
    decide,
    describe_answers,
    most_voted,
    require_value,
    settled_answers,
)
from nikawa.recipes.jsick.guidelines import FAULT_NOTES, NEGATION, departures, fault
from nikawa.recipes.recipe import (
    FROM,
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    One,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    found_in,
    splits_stage,
)
from nikawa.records import Card, Example, Judgement, Origin

SICK = (
    "pair_ID",
    "SemEval_set",
    "sentence_A",
    "sentence_B",
    "entailment_label",
    "relatedness_score",
)
RELEASED = (
    "pair_ID",
    "data",
    "sentence_A_En",
    "sentence_B_En",
    "entailment_label_En",
    "relatedness_score_En",
)
WORDS = {
    **{word: ours for word, ours in SPLITS.items() if word != "all"},
    "dev": "dev",
    "valid": "dev",
}
"""Words for a split, in any case, to ours."""


class Line(msgspec.Struct):
    """A pair of a JSON line; what else the line holds is passed over."""

    id: str | int
    premise: str = ""
    hypothesis: str = ""
    split: str = ""
    label: str = ""
    relatedness: float | str = ""
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    gold: dict[str, Any] = {}
    meta: dict[str, Any] = {}


Row = tuple[int, Line]


def read_pairs(path: Path, licence: str) -> Iterator[Example]:
    """The English pairs of a file, with SICK's label and score as gold and the split in the meta."""
    for number, line in read_lines(path) if path.name.endswith(".jsonl") else read_table(path):
        more = {"url": line.url, "licence": line.licence or licence}
        if not line.split:
            what = f"the pair {line.id} has no split; the recipe keeps the splits of its pairs"
            cure = f"write it into each line, or into its meta: {', '.join(WORDS)}"
            raise BadInput(what, file=path, line=number, cure=cure)
        if str(line.split).lower() not in WORDS:
            what = f"split {line.split!r} is not one of {', '.join(WORDS)}"
            raise BadInput(what, file=path, line=number, cure=suggest(str(line.split), WORDS))
        gold: dict[str, Any] = {}  # hidden from translators and judges
        if line.label:
            gold["label"] = check_label(str(line.label).lower(), path, number)
        if line.relatedness != "":
            gold["relatedness"] = parse_score(str(line.relatedness), path, number)
        yield Example(
            id=str(require_value(line.id, "id", path, number)),
            inputs={
                name: " ".join(str(require_value(getattr(line, name), name, path, number)).split())
                for name in ("premise", "hypothesis")
            },
            gold=gold,
            meta={"split": WORDS[str(line.split).lower()], **found_in(path, number, **more)},
            origin=Origin(recipe="sick"),
        )


def read_table(path: Path) -> Iterator[Row]:
    """The rows of SICK's own table, or of the released JSICK."""
    columns = RELEASED if "sentence_A_En" in read_header(path) else SICK
    for number, cells in read_cells(path, columns, crlf=True):
        pair, split, premise, hypothesis, label, score = cells
        yield number, Line(pair, premise, hypothesis, split, label, score)


def read_lines(path: Path) -> Iterator[Row]:
    """JSON lines, flat or as records."""
    for number, line in read_json_lines(path, Line):
        given = {**line.meta, **line.inputs, **line.gold}
        if "sentence1" in given and "sentence2" in given:  # as nikawa pair calls them
            given = {"premise": given["sentence1"], "hypothesis": given["sentence2"], **given}
        for name in ("premise", "hypothesis", "split", "label", "relatedness", "url", "licence"):
            if not getattr(line, name) and name in given:
                setattr(line, name, given[name])
        yield number, line


GOOD = "good"
KANA = "アイウエオカキクケコサシスセソタチツテトナニノハヒフヘホマミムメモヤユヨラリルレロ"
SMALL = frozenset(("a", "an", "the", "is", "are", "not", "no", "of", "in", "on", "and", "there"))


def make_up_word(word: str) -> str:
    """A word of katakana that stands for an English one, the same each time."""
    digits = blake2b(word.encode(), digest_size=3).digest()
    return "".join(KANA[digit % len(KANA)] for digit in digits)


def simulate_translation(example: Example, config: Any, random: Random) -> str:
    """Made-up words in the order of the English ones, with the particle and the ending that the
    guidelines ask for.
    """
    english = str(example.inputs["english"])
    words = re.findall(r"[a-z]+", english.lower())
    content = [make_up_word(word) for word in words if word not in SMALL] or [make_up_word(english)]
    particle = "は" if words[:1] == ["the"] else "が"
    if random.random() < 0.05:
        particle = "は" if particle == "が" else "が"
    ending = "していない" if NEGATION.search(english) else "している"
    return f"{content[0]}{particle}{'を'.join(content[1:]) or '何か'}{ending}"


def simulate_validation(example: Example, config: Any, random: Random) -> str:
    """A bilingual who exchanges the particle where the check asks to look, and finds the rest good."""
    japanese, check = str(example.inputs["japanese"]), str(example.inputs["check"])
    for particle, wrong in (("「が」で", "は"), ("「は」で", "が")):
        if particle in check and wrong in japanese:
            return japanese.replace(wrong, "が" if wrong == "は" else "は", 1)
    return GOOD


def simulate_inference(example: Example, config: Any, random: Random) -> str:
    """A worker who decides by negation and shared characters, and sometimes errs."""
    premise, hypothesis = (example.inputs[name] for name in ("premise", "hypothesis"))
    alike = character_overlap(premise, hypothesis)
    likely = "entailment" if alike > 0.8 else "neutral"
    if ("いない" in premise) != ("いない" in hypothesis) and alike > 0.5:
        likely = "contradiction"
    return likely if random.random() < 0.85 else random.choice(LABELS)


def simulate_relatedness(example: Example, config: Any, random: Random) -> int:
    """A worker who counts shared characters, and errs at times."""
    alike = character_overlap(example.inputs["premise"], example.inputs["hypothesis"])
    return min(5, max(1, round(1 + 4 * alike) + random.choice((-1, 0, 0, 0, 1))))


def simulate_adjudication(example: Example, config: Any, random: Random) -> str:
    """Authors who leave the majority as it is and call a tie neutral."""
    return str(example.gold.get("label", "neutral"))


VOTES = "votes"


class Jsick(Config, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    pairs: str = ""
    """English pairs: SICK's own table, jsick.tsv, or JSON lines of {id, premise, hypothesis, split,
    label, relatedness, url, licence}."""
    source_licence: str = ""
    """Licence of the English pairs, if the file does not state it."""
    translators: One = 1
    """Translators of a sentence: one expert (JSICK 3.1)."""
    validators: Positive = 1
    """Bilinguals who check a translation; the paper does not say how many (3.1)."""
    workers: Positive = 3
    """Workers who judge a pair (3.2)."""
    decimals: Annotated[int, Meta(ge=0, le=6)] = 1
    """Decimals of the mean relatedness; the released scores have one."""
    review: Annotated[str, Meta(pattern="^(all|ties)$")] = "all"
    """Which pairs the authors review: all, as in the paper, or only the ties (3.2)."""
    adjudicators: Positive = 1
    """Answers to a pair on the authors' list: their consensus is one (3.2)."""
    tags: str = "jsick"
    """A tag pack (docs/tags.md) whose tags the release gets (3.3); none for no tags."""


def take_pairs(inputs: Inputs, config: Any) -> Outcomes:
    """Every English pair of the source."""
    for pair in read_pairs(inputs.file("pairs"), config.source_licence):
        yield Kept(pair, f"a pair of the source, split {pair.meta['split']}")


def sentence_id(english: str) -> str:
    """The id of a sentence, which depends on its text alone."""
    return f"en-{blake2b(english.encode(), digest_size=6).hexdigest()}"


def take_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Each English sentence once, in alphabetical order, without pair or label, as the translator
    saw them.
    """
    sentences: dict[str, Example] = {}
    for pair in inputs.examples("english"):
        for text in pair.inputs.values():
            sentences.setdefault(text, pair)
    for text in sorted(sentences):
        place = {FROM: sentences[text].meta[FROM]}
        yield Kept(
            Example(id=sentence_id(text), inputs={"english": text}, meta=place),
            "a sentence of the pairs",
        )


def check_translations(inputs: Inputs, config: Any) -> Outcomes:
    """Translations with what the guideline checks ask a bilingual to look at."""
    answers = settled_answers(inputs, "translation")
    sentences = list(inputs.examples("sentences"))
    pairs = [(s.inputs["english"], str(answers[s.id][0].answer)) for s in sentences]
    shared: dict[str, list[str]] = defaultdict(list)
    for english, text in pairs:
        shared[text].append(english)
    for item, (english, text), notes in zip(sentences, pairs, departures(pairs), strict=True):
        looks = [note.what for note in notes]
        if wrong := fault(english, text):
            looks.append(FAULT_NOTES[wrong])
        others = [other for other in shared[text] if other != english]
        if others:
            looks.append(f"別の英文と同じ訳です: {others[0]}")
        shown = {"english": english, "japanese": text, "check": "\n".join(looks)}
        names = ", ".join(sorted({note.guideline for note in notes}))
        rule = f"to look at: {names}" if names else "no guideline left"
        yield Kept(replace(item, inputs=shown), rule)


def take_validated(inputs: Inputs, config: Any) -> Outcomes:
    """Translations as the bilinguals leave them.

    What is no Japanese sentence even then is dropped.
    """
    answers = settled_answers(inputs, "validation")
    for item in inputs.examples("translated"):
        texts = [str(judgement.answer) for judgement in answers[item.id]]
        good = (GOOD, item.inputs["japanese"])  # a page sends a translation that is left as it is
        corrected = Counter(text for text in texts if text not in good).most_common(1)
        text = corrected[0][0] if corrected else item.inputs["japanese"]
        rule = "corrected by a bilingual" if corrected else "found good"
        made = replace(item, inputs={"english": item.inputs["english"], "japanese": text})
        wrong = fault(item.inputs["english"], text)
        yield Dropped(made, wrong, text[:80]) if wrong else Kept(made, rule)


def pair_up(inputs: Inputs, config: Any) -> Outcomes:
    """The pairs in Japanese, without the English answers.

    These stay in the meta to compare with.
    """
    japanese = {
        item.inputs["english"]: item.inputs["japanese"] for item in inputs.examples("validated")
    }
    for pair in inputs.examples("english"):
        texts = {name: japanese.get(text, "") for name, text in pair.inputs.items()}
        parents = tuple(dict.fromkeys(sentence_id(text) for text in pair.inputs.values()))
        english = {
            f"{name}_en": value for name, value in (*pair.inputs.items(), *pair.gold.items())
        }
        made = replace(
            pair,
            inputs=texts,
            gold={},
            meta={**pair.meta, **english},
            group=texts["premise"],
            origin=Origin(recipe="jsick", parents=parents, step="translated"),
        )
        if all(texts.values()):
            yield Kept(made, "both sentences translated")
        else:
            yield Dropped(made, "a sentence has no usable translation")


def average_relatedness(inputs: Inputs, config: Any) -> Outcomes:
    """The mean relatedness."""
    rule = f"mean+round:{config.decimals}"
    yield from decide(inputs, "paired", "relatedness", rule, gold="relatedness")


def sort_by_majority(inputs: Inputs, config: Any) -> Outcomes:
    """Pairs with a majority, and those without."""
    answers, book = answers_of(inputs.judgements("inference")), inputs.decisions("inference")
    for pair in inputs.examples("related"):
        given = answers.get(pair.id, [])
        votes, voted = describe_answers(given), majority_label(given)
        label = book.settle(pair.id, voted)
        made = replace(pair, meta={**pair.meta, VOTES: votes})
        if not given and label is None:
            yield Dropped(made, NOBODY)
        elif label is None:
            yield Kept(made, f"no majority: {votes}", "tied")
        else:
            made = replace(made, gold={**made.gold, "label": label})
            decided = book.explain(pair.id, voted)
            rule = f"{decided}; votes: {votes}" if decided else f"majority: {votes}"
            yield Kept(made, rule, "agreed")


def majority_label(judgements: Sequence[Judgement]) -> str | None:
    """The answer given more often than any other."""
    label: str | None = most_voted(str(judgement.answer) for judgement in judgements)
    return label


def list_pairs(inputs: Inputs, config: Any) -> Outcomes:
    """The authors' list: ties, and where all is reviewed the others too, with the votes to see."""
    for name in ("tied", "agreed"):
        for pair in inputs.examples(name):
            if name == "agreed" and config.review == "ties":
                yield Kept(pair, "not reviewed", "settled")
            else:
                shown = replace(pair, inputs={**pair.inputs, VOTES: pair.meta[VOTES]})
                yield Kept(shown, "a tie" if name == "tied" else "to review", "listed")


def settle_labels(inputs: Inputs, config: Any) -> Outcomes:
    """The label the authors agreed on, else the majority, in the order of the pairs."""
    answers, book = answers_of(inputs.judgements("adjudication")), inputs.decisions("adjudication")
    pairs = {pair.id: pair for name in ("listed", "settled") for pair in inputs.examples(name)}
    for source in inputs.examples("paired"):
        if source.id not in pairs:
            continue
        pair, given = replace(pairs[source.id], inputs=source.inputs), answers.get(source.id, [])
        voted, agreed = pair.gold.get("label"), majority_label(given)
        label = book.settle(source.id, agreed)
        if not given and label is None:
            yield Kept(pair, f"majority: {pair.meta[VOTES]}")
        elif label is None:
            yield Dropped(pair, "no consensus", describe_answers(given))
        else:
            rule = "majority confirmed" if voted == label else "majority overruled"
            if voted is None:
                rule = "tie, decided"
            made = replace(pair, gold={**pair.gold, "label": label})
            decided = book.explain(source.id, agreed)
            yield Kept(made, f"{decided or rule}: {label}")


def split(inputs: Inputs, config: Any) -> Outcomes:
    """Every pair in the split of its English one, with its tags."""
    for pair in add_tags(inputs.examples("decided"), config.tags):
        part = str(pair.meta["split"])
        yield Kept(pair, f"split {part}, as the English pair", part)


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """Sentences that the splits of SICK share, and pairs that a translation makes the same."""
    shared = "the splits are those of SICK, which share sentences (JSICK 3.1)"
    same = "two English sentences may have the same translation"
    pairs = ("pairs", "unordered-pairs")
    return (
        KnownFinding(check="broken-groups", reason=shared),
        KnownFinding(check="leaked-sentences", reason=shared),
        KnownFinding(check="leaked-reversed-pairs", reason=shared),
        KnownFinding(check="shared-pairs", reason=same),
        *(KnownFinding(check=f"repeated-{name}", reason=same) for name in pairs),
        *(KnownFinding(check=f"leaked-{name}", reason=same) for name in pairs),
    )


def card(config: Any) -> Card:
    """JSICK's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Inference and relatedness of translated pairs, made as JSICK was",
        description="Pairs of Japanese sentences translated from English, with an inference label and a relatedness from 1 to 5.",
        labels=f"Inference: majority of {config.workers} workers' answers; the authors decided the ties{' and looked at the rest' if config.review == 'all' else ''}. "
        f"Relatedness: mean of the answers, rounded to {config.decimals} decimals.",
        source="English pairs, translated sentence by sentence and looked at by bilinguals",
        problems=(
            "The sentences are translations: some are less natural than what a native speaker would write.",
        ),
    )


TRANSLATE = "次の英文を、自然な日本語に訳してください。冠詞(a は「が」、the は「は」)、単数・複数、受身、否定、数量の表現を保ち、語順もできるだけ保ってください。"
VALIDATE = "訳が英文の意味を保っていれば good、そうでなければ修正した訳文を書いてください。check の欄は、確認してほしい点です。"
SAME = "2つの文は同じ状況や出来事について述べています。"
INFER = f"{SAME}文A(premise)が正しいとき、文B(hypothesis)は必ず正しい(entailment)、必ず誤り(contradiction)、どちらとも言えない(neutral)のどれですか。"
RELATE = f"{SAME}2つの文の意味の近さを、1(まったく関係がない)から5(とても近い)で答えてください。"
REVIEW = "作業者の回答(votes)を見て、正しいラベルを決めてください。"

TRANSLATION_POINTS = (
    "意味を足したり省いたりせず、自然な日本語に訳してください。",
    "主語に不定冠詞（a、an）があれば「が」、定冠詞（the）があれば「は」を使ってください。",
    "人を表す複数名詞には「たち」などを付け、単数名詞には付けないでください。",
    "否定、受身、数、量の表現を保ち、英文にない表現を加えないでください。",
    "語順もできるだけ保ち、同じ語は同じ訳語に統一してください。",
)
VALIDATION_POINTS = (
    "英文と訳文を読み比べてください。訳文が英文の意味を保っていれば、そのまま送信してください。",
    "意味の違い、訳し漏れ、余分な表現がある場合は、訳文を修正してから送信してください。",
    "「確認してほしい点」が表示されている場合は、その点を特に確認してください。問題がなければ修正は不要です。",
)

RECIPE = Recipe(
    name="jsick",
    title="inference and relatedness of translated pairs: JSICK (3.1-3.3)",
    language="ja",
    config=Jsick,
    sources=("pairs",),
    stages=(
        Stage(
            "english",
            "English pairs of the source, in their splits",
            take_pairs,
            ("pairs",),
            ("source_licence",),
        ),
        Stage(
            "sentences",
            "each English sentence once, in alphabetical order, without pairs and labels",
            take_sentences,
            ("english",),
        ),
        Ask(
            "translation",
            "the sentence in Japanese, by the guidelines",
            ("sentences",),
            "translation",
            "japanese",
            "translators",
            prompt=TRANSLATE,
            heading="英文を日本語に訳す",
            guideline=TRANSLATION_POINTS,
            simulate=simulate_translation,
        ),
        Stage(
            "translated",
            "what the guideline checks ask to look at is noted",
            check_translations,
            ("sentences", "translation"),
        ),
        Ask(
            "validation",
            "good, or a corrected translation, by bilinguals",
            ("translated",),
            "translation",
            "japanese",
            "validators",
            prompt=VALIDATE,
            heading="訳文の確認",
            guideline=VALIDATION_POINTS,
            reports=(GOOD,),
            apart=("translation",),
            simulate=simulate_validation,
        ),
        Stage(
            "validated",
            "translations as the bilinguals leave them",
            take_validated,
            ("translated", "validation"),
        ),
        Stage("paired", "the pairs in Japanese", pair_up, ("english", "validated")),
        Ask(
            "inference",
            "the relation of a premise to a hypothesis",
            ("paired",),
            "inference",
            "label",
            "workers",
            prompt=INFER,
            heading="前提と仮説の関係",
            labels=LABELS,
            simulate=simulate_inference,
        ),
        Ask(
            "relatedness",
            "how related two sentences are, 1 to 5",
            ("paired",),
            "scale",
            "relatedness",
            "workers",
            prompt=RELATE,
            heading="文の意味の関連度",
            guideline=(
                "二つの文は同じ状況や出来事について述べているものとして判断してください。",
                "単語ではなく意味がどのくらい近いかを、1〜5点で評価してください。",
                "反対のことを述べている文でも、話題が近ければ関連があるものとします。",
            ),
            names={"premise": "文1", "hypothesis": "文2"},
            anchors={"1": "まったく関係がない", "5": "とても近い"},
            scale=(1, 5),
            simulate=simulate_relatedness,
        ),
        Stage(
            "related",
            "mean relatedness, rounded",
            average_relatedness,
            ("paired", "relatedness"),
            ("decimals",),
        ),
        Stage(
            "voted",
            "the label most workers gave; ties apart",
            sort_by_majority,
            ("related", "inference"),
            writes=("agreed", "tied"),
        ),
        Stage(
            "listing",
            "ties and, where all is reviewed, the rest go on the authors' list",
            list_pairs,
            ("agreed", "tied"),
            ("review",),
            ("listed", "settled"),
        ),
        Ask(
            "adjudication",
            "the label of a pair on the list, by consensus",
            ("listed",),
            "inference",
            "label",
            "adjudicators",
            prompt=REVIEW,
            heading="正解ラベルの決定",
            guideline=(
                "作業者の回答が表示されています。最も多い回答が正しいとは限りません。",
                "二つの文は同じ場面について述べているものとして判断し、正しいと思うラベルを選んでください。",
            ),
            labels=LABELS,
            simulate=simulate_adjudication,
        ),
        Stage(
            "decided",
            "the authors' label, else the majority",
            settle_labels,
            ("paired", "listed", "settled", "adjudication"),
        ),
        splits_stage("the splits of the English pairs, with tags", split, ("decided",), ("tags",)),
    ),
    card=card,
    by_design=by_design,
    check=check_tags,
    question="label",
    notes=(
        "The paper prints only some of its guidelines; articles, number, negation, passives and quantity are checked here, word order and word choice are left to the bilinguals.",
        "The paper does not say how many bilinguals looked at a translation, nor what became of what they found: here they correct it.",
        "The paper tested its six workers with ten questions before they began; that belongs to the platform (nikawa collect has such a test), so the answers given here count as theirs.",
        "The mean relatedness takes all answers; 4,000 published ones left out a third answer.",
    ),
)
