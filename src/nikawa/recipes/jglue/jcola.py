"""Acceptability of sentences from the literature, made as what is known of JCoLA allows: labels by the marks that the authors
of a work printed, in-domain and out-of-domain parts, phenomena as tags. Native speakers judge each sentence too, with its
minimal pair next to it; their answers are figures of the data, and may drop sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from nikawa.datasets.jglue.jcola import DATASET, LABELS, PHENOMENA
from nikawa.datasets.known import KnownFinding
from nikawa.datasets.subsets import group_by
from nikawa.errors import BadInput, list_names, suggest
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import (
    answers_of,
    assign_splits,
    check_split,
    describe_answers,
    require_value,
)
from nikawa.recipes.recipe import (
    SPLITS,
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    NotNegative,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    found_in,
)
from nikawa.records import Card, Example, Origin

UNACCEPTABLE, ACCEPTABLE = LABELS
KEPT_FIELDS = ("source", "domain", "diacritic", "original", "translation", "gloss", "situation")
REPORTS = ("undecidable", "broken")
OUTSIDE = {"ood": "ood", "ood-test": "ood-test"}
OTHER = "other"
"""The minimal pair of a sentence, in its meta until it is released."""


class Jcola(Config, kw_only=True):
    """Settings of the recipe; the sizes are those of the published dataset."""

    sentences: str = ""
    """File of example sentences: JSON lines of {id, text, source, diacritic or label, domain, phenomena, pair, original,
    translation, gloss, situation, url, licence}."""
    out_of_domain: tuple[str, ...] = ()
    """Sources that are out-of-domain, such as "JEAL*", where a line has no domain of its own."""
    acceptable_marks: tuple[str, ...] = ("", "g")
    """Marks of the authors that leave a sentence acceptable; any other makes it unacceptable (JCoLA: any but g)."""
    unclear_marks: tuple[str, ...] = ("%",)
    """Marks of sentences that are left out, as speakers differ; a choice made here."""
    longest: Positive = 200
    """Maximum number of characters of a sentence; a choice made here."""
    workers: NotNegative = 5
    """Native speakers who judge a sentence; 0 asks no one. A choice made here: in JCoLA the authors of the works judged."""
    disagreement: Literal["keep", "drop"] = "keep"
    """What happens to a sentence that most speakers judge differently from its author; a choice made here."""
    split: str = "0.8,0.1,0.1"
    """Shares of train, dev and test in-domain (published: 6,919, 865, 865)."""
    ood_split: str = "0.5,0.5"
    """Shares of the two out-of-domain parts (published: 685, 686)."""


class Line(msgspec.Struct):
    """A sentence of a JSON line; in records the values are in `inputs`, `meta`, `gold` and `tags`."""

    id: str | int
    text: str = ""
    label: str | int = ""
    phenomena: list[str] = []
    pair: str | int = ""
    source: str = ""
    domain: str = ""
    diacritic: str | None = None
    original: str = ""
    translation: str = ""
    gloss: str = ""
    situation: str = ""
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    gold: dict[str, Any] = {}
    tags: list[str] = []

    def value(self, name: str) -> str:
        """A value of the line itself, else of its inputs or meta."""
        own = getattr(self, name)
        value = own if own not in ("", None) else self.inputs.get(name, self.meta.get(name))
        return "" if value is None else str(value)


def read_sentences(path: Path, config: Any) -> Iterator[tuple[Example, str]]:
    """The sentences of a file with their labels, and why one cannot be used."""
    for number, line in read_json_lines(path, Line):
        text = " ".join(str(require_value(line.value("text"), "text", path, number)).split())
        source = require_value(line.value("source"), "source", path, number)
        label, why = find_label(line, config, path, number)
        phenomena = line.phenomena or line.tags
        if odd := [name for name in phenomena if name not in PHENOMENA]:
            what = f"has the phenomenon {odd[0]!r}, which is not known"
            raise BadInput(what, file=path, line=number, cure=suggest(odd[0], PHENOMENA))
        domain = line.value("domain") or (
            "out" if any(fnmatchcase(source, one) for one in config.out_of_domain) else "in"
        )
        if domain not in ("in", "out"):
            what = f"has the domain {domain!r}"
            raise BadInput(what, file=path, line=number, cure="write in or out")
        values = {name: line.value(name) for name in KEPT_FIELDS} | {"domain": domain}
        meta = {name: value for name, value in values.items() if value}
        where = found_in(path, number, url=line.value("url"), licence=line.value("licence"))
        pair = line.value("pair")
        example = Example(
            id=str(line.id),
            inputs={"text": text},
            gold={"label": label},
            tags=frozenset(phenomena),
            meta={**meta, **where},
            group=f"{source}/{pair}" if pair else None,
            origin=Origin(recipe="jcola"),
        )
        yield (
            example,
            why or ("" if len(text) <= config.longest else f"over {config.longest} characters"),
        )


def find_label(line: Line, config: Any, path: Path, number: int) -> tuple[str, str]:
    """The label that a line states, or that its mark means; and why the sentence is unclear."""
    given = line.gold.get("label", line.label)
    mark = line.value("diacritic").strip()
    is_stated = line.diacritic is not None or "diacritic" in line.meta
    if given == "" and not is_stated:
        what = "has neither a label nor a diacritic"
        cure = 'add "diacritic": "*", or "" for a sentence without a mark'
        raise BadInput(what, file=path, line=number, cure=cure)
    if mark in config.unclear_marks and mark:
        return UNACCEPTABLE, f"marked {mark}"
    by_mark = ACCEPTABLE if mark in config.acceptable_marks else UNACCEPTABLE
    if given == "":
        return by_mark, ""
    names = {"1": ACCEPTABLE, "0": UNACCEPTABLE, **{label: label for label in LABELS}}
    label = names.get(str(given))
    if label is None:
        what = f"has the label {given!r}"
        raise BadInput(what, file=path, line=number, cure=f"write {' or '.join(LABELS)}")
    if is_stated and label != by_mark:
        what = f"is {label} and has the mark {mark!r}"
        raise BadInput(what, file=path, line=number, cure="correct one, or set acceptable_marks")
    return label, ""


def take_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences with a clear judgement, each once; of a pair each knows the other."""
    rows = list(read_sentences(inputs.file("sentences"), config))
    labels: dict[str, set[str]] = {}
    for sentence, _ in rows:
        labels.setdefault(sentence.inputs["text"], set()).add(sentence.gold["label"])
    partners = find_partners([sentence for sentence, why in rows if not why])
    seen: set[str] = set()
    for sentence, why in rows:
        text = sentence.inputs["text"]
        if why:
            yield Dropped(sentence, why)
        elif len(labels[text]) > 1:
            yield Dropped(sentence, "judged both ways in the literature")
        elif text in seen:
            yield Dropped(sentence, "the same sentence came before")
        else:
            seen.add(text)
            partner = partners.get(sentence.id)
            meta = {**sentence.meta, **({OTHER: partner} if partner else {})}
            mark = sentence.meta.get("diacritic", "")
            rule = f"{sentence.gold['label']} in the literature{f' ({mark})' if mark else ''}"
            yield Kept(replace(sentence, meta=meta), rule)


def find_partners(sentences: Sequence[Example]) -> dict[str, str]:
    """The text next to each sentence that has a minimal pair: the first of its pair with another label, else another text."""
    partners: dict[str, str] = {}
    paired = [one for one in sentences if one.group is not None]
    for members in group_by(paired, lambda one: str(one.group)).values():
        for sentence in members:
            others = [one for one in members if one.inputs["text"] != sentence.inputs["text"]]
            others.sort(key=lambda one: one.gold["label"] == sentence.gold["label"])
            if others:
                partners[sentence.id] = str(others[0].inputs["text"])
    return partners


def show_sentence(sentence: Example) -> dict[str, Any]:
    """The sentence as speakers see it: its situation, and its minimal pair next to it."""
    names = ("situation", OTHER)
    return {
        **sentence.inputs,
        **{name: sentence.meta[name] for name in names if name in sentence.meta},
    }


def compare_judgements(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences with how many speakers share the judgement of the literature."""
    answers, book = (
        answers_of(inputs.judgements("acceptability")),
        inputs.decisions("acceptability"),
    )
    for sentence in inputs.examples("taken"):
        label = sentence.gold["label"]
        given = answers.get(sentence.id, [])
        votes = Counter(one.answer for one in given if one.answer in LABELS)
        reports = [one for one in given if one.answer in REPORTS]
        meta = {name: value for name, value in sentence.meta.items() if name != OTHER}
        if total := sum(votes.values()):
            meta |= {"speakers": total, "agree": round(votes[label] / total, 6)}
        made = replace(sentence, meta=meta)
        votes_text = describe_answers(given) or "no speaker was asked"
        decision = book.find(sentence.id, has_gold=True)
        if decision is not None and decision.answer in LABELS:
            made = replace(made, gold={"label": decision.answer})
            yield Kept(made, f"{book.explain(sentence.id, label)}; {votes_text}")
        elif 2 * len(reports) > len(given):
            yield Dropped(made, "reported by most speakers", votes_text)
        elif config.disagreement == "drop" and 2 * votes[label] < total:
            yield Dropped(made, "most speakers disagree with the literature", votes_text)
        else:
            yield Kept(made, f"{label} in the literature; speakers: {votes_text}")


def split(inputs: Inputs, config: Any) -> Outcomes:
    """In-domain sentences for train, dev and test, out-of-domain ones for two parts; pairs stay whole."""
    sentences = list(inputs.examples("judged"))
    parts = {"in": (config.split, SPLITS), "out": (config.ood_split, OUTSIDE)}
    for domain, (sizes, sets) in parts.items():
        members = [one for one in sentences if one.meta["domain"] == domain]
        if members:
            yield from assign_splits(
                members, sizes, config.seed, lambda one: one.group or one.id, sets
            )


def simulate(example: Example, config: Any, random: Random) -> str:
    """A speaker who mostly agrees with the literature."""
    chance = random.random()
    if chance < 0.02:
        return random.choice(REPORTS)
    return str(example.gold["label"]) if chance < 0.87 else random.choice(LABELS)


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    both = set(config.acceptable_marks) & set(config.unclear_marks)
    if both:
        what = f"{list_names(sorted(both))} is in acceptable_marks and in unclear_marks"
        raise BadInput(what, cure="remove it from one of them")
    from nikawa.splitting.base import parse_sizes

    try:
        parse_sizes(config.ood_split, 1_000_000, tuple(OUTSIDE))
    except BadInput as problem:
        what = f"the setting ood_split = {config.ood_split!r} cannot be used: {problem.what}"
        raise BadInput(what, cure="write 2 shares that add up to 1") from None


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """The marks of the authors, of which labels are made, and the share of speakers who agree."""
    reasons = {
        "diacritic": "labels are made of the authors' marks: show a model the text alone",
        "original": "the sentence as it was printed, with its marks: show a model the text alone",
        "agree": "the share of speakers who agree with the label: show a model the text alone",
    }
    return tuple(
        KnownFinding(check="giveaway", where=f"meta.{name} in *", reason=reason)
        for name, reason in reasons.items()
    )


def card(config: Any) -> Card:
    """JCoLA's own card, for a dataset made here."""
    speakers = (
        f"{config.workers} native speakers judged each sentence too (meta.agree)"
        if config.workers
        else "no speaker was asked"
    )
    return built_card(
        DATASET.card,
        config,
        title="Acceptability of sentences from the literature, made as JCoLA can be",
        labels=f"The judgement of the authors, as their marks print it; {speakers}.",
        source="Example sentences of linguistics literature, in-domain and out-of-domain",
        problems=(
            "Most sentences are acceptable in such collections: read accuracy together with the Matthews correlation.",
            "Never mix the out-of-domain splits with the in-domain ones.",
        ),
    )


RECIPE = Recipe(
    name="jcola",
    title="acceptability of sentences from the literature: JCoLA (as far as it is known)",
    language="ja",
    config=Jcola,
    sources=("sentences",),
    stages=(
        Stage(
            "taken",
            "sentences with a clear judgement of their authors, each once",
            take_sentences,
            ("sentences",),
            ("out_of_domain", "acceptable_marks", "unclear_marks", "longest"),
        ),
        Ask(
            "acceptability",
            "whether speakers would say a sentence",
            ("taken",),
            "acceptability",
            "label",
            "workers",
            prompt="この文は、自然な文として言えますか。",
            heading="文が自然に言えるか判断する",
            names={"report_broken": "文として読めない"},
            show=show_sentence,
            labels=(ACCEPTABLE, UNACCEPTABLE),
            reports=REPORTS,
            simulate=simulate,
        ),
        Stage(
            "judged",
            "sentences with the share of speakers who agree with the literature",
            compare_judgements,
            ("taken", "acceptability"),
            ("disagreement",),
        ),
        Stage(
            "splits",
            "in-domain sentences for train, dev and test, out-of-domain ones for two parts; pairs stay whole",
            split,
            ("judged",),
            ("split", "ood_split", "seed"),
            (*SPLITS, *OUTSIDE),
        ),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="label",
    splits={**SPLITS, **OUTSIDE},
    notes=(
        "The available papers do not describe how JCoLA was made; that labels are the authors' and phenomena are annotated is generally known of it.",
        "Native speakers judge the sentences too, which JCoLA's labels do not come from: workers = 0 asks no one.",
        "Sentences that different works judge differently are dropped.",
    ),
)
