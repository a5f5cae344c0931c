"""Mark the state after each turn of the user of a dialogue, or check the states that its writer marked (KLUE-DST).

An answer is `{"states": [["hotel-area-east"], ["hotel-area-east", "hotel-name-…"]]}`, a list for each turn of the user, in
their order. The input `states` has those marked before, where there are any. A control item is right where the share of
turns with just the state of its gold reaches the setting `share`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms._base import make_guideline, only_answer
from nikawa.collect.forms._dialogue import (
    STATE_WORDS,
    USER,
    OntologySettings,
    Turn,
    prepare_ontology,
    read_states,
    read_turns,
)
from nikawa.collect.forms.dialogue import SAMPLE_ENTITIES, SAMPLE_ONTOLOGY, SAMPLE_TURNS
from nikawa.io.ontology import split_entry
from nikawa.records import Example


class DialogueStates(OntologySettings, frozen=True, kw_only=True):
    """The ontology, and how near a control item must come to its gold."""

    question: str = "states"
    share: Annotated[float, Meta(ge=0, le=1)] = 0.8
    """The share of turns with the right state from which a control item counts as right."""


def shown_turns(example: Example) -> list[Turn]:
    """The turns of an item; raises `ValueError` where they have another form."""
    turns = read_turns(example.inputs.get("turns"))
    if not turns or not any(turn.role == USER for turn in turns):
        raise ValueError("the input 'turns' is not a list of {role, text} with a turn of the user")
    return turns


def count_users(example: Example) -> int:
    """How many turns of an item are the user's."""
    return sum(turn.role == USER for turn in shown_turns(example))


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A state of the ontology for each turn of the user."""
    states = only_answer(answer, options.question)
    turns = read_states(states, options.ontology, count_users(example))
    return [Problem(REFUSED)] if turns is None else []


def is_near_gold(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether enough states are those of the gold."""
    states, right = answer[options.question], gold.get(options.question) or []
    equal = sum(set(one) == set(other) for one, other in zip(states, right, strict=False))
    return bool(equal >= options.share * max(len(states), len(right)) - 1e-9)


def states_differ(answers: Sequence[Answer], options: Options) -> bool:
    """Whether the states of two answers differ; the order of their entries does not matter."""
    given = (answer.get(options.question) or () for answer in answers)
    return len({tuple(frozenset(state) for state in states) for states in given}) > 1


def view(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The turns, and the states that were marked before."""
    turns = shown_turns(example)
    rows = [{"role": turn.role, "text": turn.text} for turn in turns]
    states = msgspec.to_builtins(example.inputs.get("states"))
    if states is not None:
        _check_states(states, count_users(example), options)
    return {"turns": rows, "states": states}


def _check_states(states: Any, count: int, options: Options) -> None:
    """Raise `ValueError` for states that workers could not mark themselves: an entry that is dropped would look like a mistake."""
    if read_states(states, options.ontology, count) is not None:
        return
    if not (isinstance(states, list) and all(isinstance(state, list) for state in states)):
        raise ValueError("the input 'states' is not a list of lists of texts")
    if len(states) != count:
        raise ValueError(f"the input 'states' has {len(states)} states, and the user {count} turns")
    odd = next(
        (entry for state in states for entry in state if not options.ontology.allows(str(entry))),
        "",
    )
    what = f"{odd!r} is not in the ontology" if odd else "a state names a slot twice"
    raise ValueError(f"the input 'states': {what}")


def change_value(
    gold: Mapping[str, Any], example: Example, options: Options, chance: float
) -> Answer | None:
    """The gold with another value in all turns for the entry that is in most of them; None without such an entry."""
    states = gold.get(options.question)
    if read_states(states, options.ontology, count_users(example)) is None:
        return None
    for entry, _ in Counter(entry for state in states or () for entry in state).most_common():
        slot, value = split_entry(entry)
        known = options.ontology.find_slot(slot)
        others = [one for one in known.values if one != value] if known else []
        if others:
            wrong = f"{slot}-{others[int(chance * len(others))]}"
            changed = [[wrong if one == entry else one for one in state] for state in states or ()]
            return {options.question: changed}
    return None


FORM = Form(
    name="dialogue-states",
    title={
        "ja": "対話の要望を発言ごとに選ぶ",
        "ko": "대화의 요구 사항을 발화마다 고르기",
        "en": "States of a dialogue",
    },
    questions=("states",),
    inputs=("turns",),
    optional=("states",),
    validate=validate,
    settings=DialogueStates,
    files=("ontology", "entities"),
    prepare=prepare_ontology,
    server_only=("entities",),
    gold_matches=is_near_gold,
    differ=states_differ,
    mislead=change_value,
    view=view,
    words={
        "ja": {
            **STATE_WORDS["ja"],
            "prompt": "利用者の発言ごとに、それまでに伝えられた要望が正しいか確かめ、誤りがあれば直してください。",
            "dialogue": "対話",
            "input_turns": "発言",
            "input_states": "要望",
        },
        "ko": {
            **STATE_WORDS["ko"],
            "prompt": "이용자 발화마다 그때까지 말한 요구 사항이 맞는지 확인하고, 틀린 것은 고쳐 주세요.",
            "dialogue": "대화",
            "input_turns": "발화",
            "input_states": "요구 사항",
        },
        "en": {
            **STATE_WORDS["en"],
            "prompt": "Check the requests after each turn of the user, and correct what is wrong.",
            "dialogue": "Dialogue",
            "input_turns": "Turns",
            "input_states": "Requests",
        },
    },
    guideline=make_guideline(
        ja=(
            "利用者の発言ごとに、対話の始めからその発言までに利用者が伝えた要望を、すべて選んでください。",
            "案内係が提案したものは、利用者が受け入れた発言から要望に含めてください。",
            "最初から選ばれている要望は、書いた人が選んだものです。誤りや抜けがあれば直してください。",
            "どれでもよいと言ったときは「こだわらない」を選んでください。",
        ),
        ko=(
            "이용자 발화마다 대화 처음부터 그 발화까지 이용자가 말한 요구 사항을 모두 골라 주세요.",
            "안내원이 제안한 것은 이용자가 받아들인 발화부터 요구 사항에 넣어 주세요.",
            "처음부터 골라져 있는 것은 대화를 쓴 사람이 고른 것입니다. 틀렸거나 빠진 것이 있으면 고쳐 주세요.",
            "아무거나 괜찮다고 말했으면 ‘상관없음’을 골라 주세요.",
        ),
        en=(
            "After each turn of the user, select everything that the user has asked for since the dialogue began.",
            "What the agent suggested counts from the turn in which the user accepts it.",
            "The requests that you see at the start were marked by the writer of the dialogue. Correct wrong ones and add missing ones.",
            "If the user has no preference, choose “does not matter”.",
        ),
    ),
    sample=Sample(
        inputs={
            "turns": [{"role": turn["role"], "text": turn["text"]} for turn in SAMPLE_TURNS],
            "states": [["숙소-지역-강변"], ["숙소-지역-강변", "숙소-예약 요일-토요일"]],
        },
        answer={"states": [turn["state"] for turn in SAMPLE_TURNS if turn["role"] == USER]},
        refused=(
            {},
            {"states": [["숙소-지역-강변"]]},
            {"states": [["숙소-지역-산"], []]},
            {"states": [["숙소-전화번호-070"], []]},
            {"states": [["숙소-지역-강변", "숙소-지역-시장"], []]},
            {"states": [["숙소-이름-dontcare"], []]},
            {"states": ["숙소-지역-강변", []]},
            {"states": [[3], []]},
        ),
        settings={"ontology": SAMPLE_ONTOLOGY, "entities": SAMPLE_ENTITIES},
    ),
)
