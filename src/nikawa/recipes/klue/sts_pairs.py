"""Sentences to pairs of KLUE-STS (KLUE 3.2.1): round trips, greedy matching, queries of one or of two intents.

Sentences with an intent are paired by it. Of the others some go through a translator and back, which gives similar
pairs; the rest are matched greedily by ROUGE within their corpus (Algorithm 1), which gives less similar ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nikawa.pairing.linked import Linked, different, same
from nikawa.recipes.decide import draw
from nikawa.recipes.klue.texts import counts_of, drawn_by, texts
from nikawa.recipes.recipe import Dropped, Inputs, Kept, Outcome
from nikawa.records import Example, Origin

PAIRED = ("translated", "matched", "alike", "unlike")
"""The sets of pairs, by how they were paired."""


def take(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Each sentence once, to be translated, to be matched, or to be paired by its intent."""
    for outcome in texts(inputs.file("sentences"), "klue-sts", ("source",), config):
        yield (
            outcome._replace(into=_way(outcome.example, config))
            if isinstance(outcome, Kept)
            else outcome
        )


def _way(sentence: Example, config: Any) -> str:
    if "intent" in sentence.meta:
        return "queries"
    if "round_trip" in sentence.meta:
        return "to-translate"
    share = int.from_bytes(draw(config.seed, "round trip", sentence.id)) / 2**64
    return "to-translate" if config.translators and share < config.round_trip_share else "to-match"


def translate_back(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """A sentence and what became of it there and back, unless it came back as it was or not at all."""
    from nikawa.pairing.translate import round_trip

    sentences = list(inputs.examples("to-translate"))
    open_ = [s for s in sentences if "round_trip" not in s.meta]
    back = round_trip([s.inputs["text"] for s in open_], *config.translators) if open_ else []
    known = {sentence.id: text for sentence, text in zip(open_, back, strict=True)}
    for sentence in sentences:
        text = " ".join(str(sentence.meta.get("round_trip", known.get(sentence.id, ""))).split())
        made = _pair("rtt", (sentence,), text, "rtt")
        if not text or text == sentence.inputs["text"]:
            yield Dropped(made, "comes back unchanged or empty")
        else:
            yield Kept(made, "a sentence and its round trip")


def match(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """A random sentence with that of the highest ROUGE of its corpus, both leave, and so on."""
    from nikawa.pairing.greedy import algorithm1
    from nikawa.pairing.units import encode, units_of

    units = units_of("words" if config.units == "none" else config.units)
    for members in _by_source(inputs.examples("to-match")):
        coded, left = encode(units(s.inputs["text"] for s in members)), {*range(len(members))}
        for one, other, score in algorithm1(coded, config.rouge, seed=config.seed):
            left -= {one, other}
            made = _pair(
                "gsm", (members[one], members[other]), members[other].inputs["text"], "sampled"
            )
            yield Kept(made, f"greedy sentence matching, ROUGE-{config.rouge} {score:.3f}")
        yield from (
            Dropped(members[place], "no partner left in its corpus") for place in sorted(left)
        )


def pair_alike(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Queries of one intent."""
    for members in _by_source(inputs.examples("queries")):
        for one, other in same(_linked(members), most=config.same_intent, seed=config.seed):
            made = _pair(
                "same", (members[one], members[other]), members[other].inputs["text"], "para"
            )
            yield Kept(made, "the same intent")


def pair_unlike(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Queries of two intents that share a topic."""
    for members in _by_source(inputs.examples("queries")):
        for one, other in different(_linked(members), seed=config.seed):
            made = _pair(
                "other", (members[one], members[other]), members[other].inputs["text"], "sampled"
            )
            yield Kept(made, "different intents of one topic")


def choose(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """So many pairs of each corpus by chance, without those a pilot used and those that come twice."""
    limits, pilot = counts_of(config.pairs, "pairs"), set(config.pilot)
    seen: set[frozenset[str]] = set()
    fresh = []
    for pair in (pair for name in PAIRED for pair in inputs.examples(name)):
        both = frozenset(pair.inputs.values())
        if pair.id in pilot:
            yield Dropped(pair, "used in the pilot")
        elif both in seen:
            yield Dropped(pair, "the same two sentences came before")
        else:
            fresh.append(pair)
        seen.add(both)
    yield from drawn_by(fresh, lambda pair: str(pair.meta["corpus"]), limits.get, config.seed)


def _by_source(sentences: Iterable[Example]) -> Iterator[list[Example]]:
    found: dict[str, list[Example]] = {}
    for sentence in sentences:
        found.setdefault(str(sentence.meta["source"]), []).append(sentence)
    yield from found.values()


def _linked(queries: Sequence[Example]) -> list[Linked]:
    return [Linked(q.id, str(q.meta["intent"]), str(q.meta.get("topic", ""))) for q in queries]


def _pair(way: str, sentences: Sequence[Example], second: str, kind: str) -> Example:
    names, corpus = tuple(sentence.id for sentence in sentences), str(sentences[0].meta["source"])
    return Example(
        id="-".join((way, *names)),
        inputs={"sentence1": sentences[0].inputs["text"], "sentence2": second},
        meta={"source": f"{corpus}-{kind}", "corpus": corpus},
        origin=Origin(recipe="klue-sts", parents=names, step=way),
    )
