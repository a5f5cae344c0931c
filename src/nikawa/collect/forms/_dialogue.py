"""What the forms of dialogues share: their settings, the shape of turns and states, and the rules of a dialogue.

A goal is a list of sentences; the input `constraints` says which slots they name, the input `asks` what the user asks about
an entity:

    {"slot": "hotel-area", "value": "east", "sentence": 1}
    {"slot": "taxi-to", "same": "hotel-name", "sentence": 4}    the value that the dialogue gave an earlier slot
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Options, Problem
from nikawa.collect.forms._base import FormSettings
from nikawa.errors import BadInput
from nikawa.io.ontology import (
    DONTCARE,
    Ontology,
    complete_ontology,
    fold_text,
    parse_entities,
    parse_ontology,
    state_values,
)
from nikawa.records import Example
from nikawa.text.politeness import Level, keeps_level

USER, SYSTEM = "user", "sys"
ROLES = (USER, SYSTEM)
"""In the order of their turns: a user begins, the system has the last word."""
MAX_STATE = 200
"""Most entries of one state."""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A turn; the user's has the state after it."""

    role: Literal["user", "sys"]
    text: str
    state: tuple[str, ...] | None = None
    by: int = 0
    """Which speaker wrote it, in the order in which they came; 0 where one writes both sides."""


class Constraint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A slot of a goal."""

    slot: str
    value: str = ""
    """Empty where it is that of the slot `same`, as the dialogue has it."""
    same: str = ""
    """The slot of an earlier domain whose value it takes over."""
    sentence: int = -1
    """The sentence of the goal that names it."""


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something about an entity that the user asks."""

    slot: str
    sentence: int = -1


class OntologySettings(FormSettings, frozen=True, kw_only=True):
    """Settings of every form with an ontology."""

    ontology: Any = ""
    """A JSON file of domains and slots, which the project keeps as ontology.json; docs/dialogue.md shows one."""
    entities: Any = ""
    """A JSON file with the entities of each domain, kept as entities.json; no page gets the whole of it."""


def prepare_ontology(options: Options, paths: Mapping[str, Path]) -> Options:
    """The settings with the ontology and the table of entities in them, both checked."""
    if not options.ontology:
        cure = "pass --set ontology=FILE; docs/dialogue.md shows one"
        raise BadInput("the form needs an ontology", cure=cure)
    ontology = parse_ontology(options.ontology, paths.get("ontology", "ontology"))
    entities = parse_entities(options.entities or {}, ontology, paths.get("entities", "entities"))
    return msgspec.structs.replace(
        options, ontology=complete_ontology(ontology, entities), entities=entities
    )


def read_turns(value: Any) -> list[Turn] | None:
    """The turns of an answer or an input; None where they are not that."""
    try:
        turns = msgspec.convert(value, list[Turn])
    except (msgspec.ValidationError, RecursionError):
        return None
    return turns


def read_states(value: Any, ontology: Ontology, count: int) -> list[dict[str, str]] | None:
    """The states after so many turns of the user, by slot; None where one is not in the ontology or names a slot twice."""
    if not isinstance(value, list | tuple) or len(value) != count:
        return None
    states = []
    for state in value:
        if not is_state(state, ontology):
            return None
        states.append(state_values(state))
    return states


def is_state(state: Any, ontology: Ontology) -> bool:
    """Whether a value is a list of entries of the ontology, each slot once."""
    if not isinstance(state, list | tuple) or len(state) > MAX_STATE:
        return False
    if not all(isinstance(entry, str) and ontology.allows(entry) for entry in state):
        return False
    return len(state_values(state)) == len(state)


def goal_of(example: Example) -> tuple[list[Constraint], list[Ask]]:
    """The constraints and questions of an item; raises `ValueError` where they have another form."""
    try:
        constraints = msgspec.convert(example.inputs.get("constraints", []), list[Constraint])
        asks = msgspec.convert(example.inputs.get("asks", []), list[Ask])
    except msgspec.ValidationError as problem:
        raise ValueError(str(problem)) from None
    return constraints, asks


class DialogueRules(OntologySettings, frozen=True, kw_only=True):
    """The rules of what is written."""

    turns_least: Annotated[int, Meta(ge=1, le=100)] = 2
    """Fewest turns of the user."""
    turns_most: Annotated[int, Meta(ge=1, le=100)] = 20
    """Most turns of the user."""
    characters_least: Annotated[int, Meta(ge=1, le=2000)] = 2
    """Fewest characters of a turn."""
    characters_most: Annotated[int, Meta(ge=1, le=2000)] = 200
    """Most characters of a turn."""
    politeness: dict[Literal["user", "sys"], Level] = msgspec.field(default_factory=dict)
    """How turns must end, by role: polite or plain; any where a role is not named."""


def check_turn(text: str, role: str, where: str, options: Options) -> list[Problem]:
    """The rules of one turn."""
    text = text.strip()
    if not text:
        return [Problem("turn_missing", where=where)]
    if "\n" in text or "\r" in text:
        return [Problem("text_lines", where=where)]
    if len(text) < options.characters_least:
        return [Problem("turn_short", {"least": options.characters_least}, where)]
    if len(text) > options.characters_most:
        return [Problem("text_long", {"most": options.characters_most}, where)]
    level = options.politeness.get(role)
    if level and not keeps_level(text, level, options.ontology.language):
        return [Problem(f"turn_{level}", where=where)]
    return []


def check_dialogue(
    turns: Sequence[Turn], example: Example, options: Options, *, live: bool = False
) -> list[Problem]:
    """All rules of a dialogue.

    Where two workers wrote it (`live`), the agent did not know the goal: only the last state must be that of the goal, so
    that the user can put right what the agent misunderstood.
    """
    if not _alternates(turns) or len(turns) > 2 * options.turns_most + 2:
        return [Problem(REFUSED)]
    problems = []
    last = 2 * ((len(turns) - 1) // 2)
    for place, turn in enumerate(turns):
        problems += check_turn(turn.text, turn.role, f"turn-{place}", options)
        if turn.role != USER:
            continue
        if not live or place == last:
            problems += check_state(turns, place, example, options)
        elif not is_state(turn.state, options.ontology):
            return [Problem(REFUSED)]
    if any(problem.code == REFUSED for problem in problems):
        return [Problem(REFUSED)]
    users = (len(turns) + 1) // 2
    if users > options.turns_most:
        problems.append(Problem("turns_many", {"most": options.turns_most}, GOAL))
    if len(turns) % 2 or users < options.turns_least:
        problems.append(Problem("turns_few", {"least": options.turns_least}, GOAL))
    return problems + check_goal(turns, example, options)


GOAL = "goal"
"""Where problems of a whole dialogue are shown."""


def _alternates(turns: Sequence[Turn]) -> bool:
    return all(turn.role == ROLES[place % 2] for place, turn in enumerate(turns))


def check_state(
    turns: Sequence[Turn], place: int, example: Example, options: Options
) -> list[Problem]:
    """Whether the state after a turn of the user holds what the goal says, and nothing of which it says nothing."""
    state, where = turns[place].state, f"turn-{place}"
    if not is_state(state, options.ontology):
        return [Problem(REFUSED)]
    if not example.inputs.get("goal"):
        return []  # nothing was asked for
    constraints, asks = goal_of(example)
    wanted = {one.slot: one for one in constraints}
    domains = {domain_of(slot) for slot in [*wanted, *(ask.slot for ask in asks)]}
    values = state_values(state or ())
    problems = []
    for slot, value in values.items():
        kind = getattr(options.ontology.find_slot(slot), "kind", "")
        domain = domain_of(slot)
        if slot in wanted:
            expected = wanted[slot].value or values.get(wanted[slot].same, "")
            if expected and value != expected:
                shown = {"slot": show_slot(slot), "value": expected}
                problems.append(Problem("value_other", shown, where))
        elif kind != "offer" or domain not in domains:
            problems.append(Problem("slot_invented", {"slot": show_slot(slot)}, where))
        elif options.entities.rows.get(domain):
            entity = options.entities.find(options.ontology, domain, value)
            known = {one.slot: one.value for one in wanted.values() if one.value}
            if entity not in options.entities.search(options.ontology, domain, known):
                problems.append(Problem("entity_unfit", {"name": value}, where))
    return problems + _find_unsaid(turns, place, values, where)


def domain_of(slot: str) -> str:
    """The domain of a slot `domain-slot`."""
    return slot.partition("-")[0]


def show_slot(slot: str) -> str:
    """A slot as workers read it.

    >>> show_slot("hotel-area")
    'hotel area'
    """
    return slot.replace("-", " ")


def _find_unsaid(
    turns: Sequence[Turn], place: int, values: Mapping[str, str], where: str
) -> list[Problem]:
    """A warning for each value that is new in a state and that is in no turn yet."""
    before = state_values(turns[place - 2].state or ()) if place > 1 else {}
    text_so_far = fold_text("\n".join(turn.text for turn in turns[: place + 1]))
    new = [value for slot, value in values.items() if before.get(slot) != value]
    unsaid = [
        value
        for value in new
        if value not in (DONTCARE, *YES_NO) and fold_text(value) not in text_so_far
    ]
    return [Problem("value_unsaid", {"value": value}, where, warning=True) for value in unsaid[:1]]


YES_NO = ("yes", "no")
"""Values of slots that are there or not: no turn has these words."""


def check_goal(turns: Sequence[Turn], example: Example, options: Options) -> list[Problem]:
    """Whether the last state has every slot of the goal; a warning for each question that is not answered."""
    constraints, _ = goal_of(example)
    values = last_values(turns)
    missing = [show_slot(one.slot) for one in constraints if one.slot not in values]
    problems = [Problem("slot_missing", {"slot": ", ".join(missing)}, GOAL)] if missing else []
    return problems + find_open_asks(turns, example, options)


def last_values(turns: Sequence[Turn]) -> dict[str, str]:
    """The value of each slot in the last state that was marked."""
    states = [turn.state for turn in turns if turn.role == USER and turn.state is not None]
    return state_values(states[-1]) if states else {}


def find_open_asks(turns: Sequence[Turn], example: Example, options: Options) -> list[Problem]:
    """A warning for each question of the goal to which no turn of the agent has the answer that the table gives."""
    _, asks = goal_of(example)
    values = last_values(turns)
    agent_text = fold_text("\n".join(turn.text for turn in turns if turn.role == SYSTEM))
    problems = []
    for ask in asks:
        domain, _, name = ask.slot.partition("-")
        rows = options.entities.search(options.ontology, domain, values)
        answers = [fold_text(row[name]) for row in rows if row.get(name)]
        if answers and not any(answer in agent_text for answer in answers):
            shown = {"slot": show_slot(ask.slot)}
            problems.append(Problem("ask_open", shown, GOAL, warning=True))
    return problems


def shown_goal(example: Example, options: Options) -> dict[str, Any]:
    """The goal as the page has it: its sentences, and the slots that each names.

    Raises `ValueError` for one that no dialogue can reach: what it names must be in the ontology.
    """
    constraints, asks = goal_of(example)
    goal = example.inputs.get("goal", ())
    if not isinstance(goal, list | tuple) or not all(isinstance(one, str) for one in goal):
        raise ValueError("the goal is not a list of sentences")
    for one in constraints:
        _check_constraint(one, options.ontology)
        _check_sentence(one.slot, one.sentence, len(goal))
    for ask in asks:
        if getattr(options.ontology.find_slot(ask.slot), "kind", "") != "ask":
            raise ValueError(f"{ask.slot!r} is no slot of the kind ask in the ontology")
        _check_sentence(ask.slot, ask.sentence, len(goal))
    return {
        "goal": list(goal),
        "constraints": msgspec.to_builtins(constraints),
        "asks": msgspec.to_builtins(asks),
    }


def _check_constraint(one: Constraint, ontology: Ontology) -> None:
    slots = dict(ontology.slots())
    for slot in filter(None, (one.slot, one.same)):
        if slot not in slots:
            raise ValueError(f"{slot!r} is no slot of a state in the ontology")
    if not (one.value or one.same):
        raise ValueError(f"{one.slot!r} has neither a value nor same")
    if one.value and not ontology.allows(f"{one.slot}-{one.value}"):
        raise ValueError(f"{one.value!r} is no value of {one.slot!r} in the ontology")


def _check_sentence(slot: str, sentence: int, count: int) -> None:
    if sentence >= count:
        raise ValueError(f"{slot!r} names sentence {sentence} of {count}, counted from 0")


STATE_WORDS = {
    "ja": {
        "role_user": "利用者",
        "role_sys": "案内係",
        "state": "要望",
        "state_of": "{number}回目の発言までの要望",
        "state_none": "まだありません",
        "state_remove": "「{entry}」を削除",
        "state_added": "「{entry}」を追加しました",
        "state_removed": "「{entry}」を削除しました",
        "state_add": "追加",
        "state_slot": "項目",
        "state_value": "値",
        "state_more": "ほかの項目",
        "state_offered": "候補",
        "label_dontcare": "こだわらない",
        "label_yes": "あり",
        "label_no": "なし",
        "key_offered": "候補を追加",
        "key_turn": "前後の発言へ移る",
    },
    "ko": {
        "role_user": "이용자",
        "role_sys": "안내원",
        "state": "요구 사항",
        "state_of": "{number}번째 발화까지의 요구 사항",
        "state_none": "아직 없습니다",
        "state_remove": "‘{entry}’ 삭제",
        "state_added": "‘{entry}’ 항목을 추가했습니다",
        "state_removed": "‘{entry}’ 항목을 삭제했습니다",
        "state_add": "추가",
        "state_slot": "항목",
        "state_value": "값",
        "state_more": "다른 항목",
        "state_offered": "후보",
        "label_dontcare": "상관없음",
        "label_yes": "있음",
        "label_no": "없음",
        "key_offered": "후보 추가",
        "key_turn": "앞뒤 발화로 이동",
    },
    "en": {
        "role_user": "User",
        "role_sys": "Agent",
        "state": "Requests",
        "state_of": "Requests up to turn {number} of the user",
        "state_none": "None yet",
        "state_remove": "Remove “{entry}”",
        "state_added": "“{entry}” was added",
        "state_removed": "“{entry}” was removed",
        "state_add": "Add",
        "state_slot": "Slot",
        "state_value": "Value",
        "state_more": "Other slots",
        "state_offered": "Suggestions",
        "label_dontcare": "does not matter",
        "label_yes": "yes",
        "label_no": "no",
        "key_offered": "add a suggestion",
        "key_turn": "go to the previous or next turn",
    },
}
"""The words of the part of a page in which states are marked."""
