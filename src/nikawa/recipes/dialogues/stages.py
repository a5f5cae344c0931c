"""The stages that recipes of dialogue states share: goals, dialogues, states checked by others, splits by dialogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace

from nikawa.collect.forms.dialogue import FORM, Dialogue
from nikawa.datasets.subsets import group_by
from nikawa.errors import BadInput
from nikawa.io.ontology import (
    Entities,
    Ontology,
    complete_ontology,
    list_values,
    read_entities,
    read_ontology,
)
from nikawa.recipes.decide import (
    assign_splits,
    check_split,
    random_key,
    seeded_random,
    settled_answers,
)
from nikawa.recipes.dialogues.goals import Goal, GoalSettings, check_phrases, draw_goal
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
    Share,
    Stage,
    found_in,
)
from nikawa.records import Example, Judgement, Origin

SETS = {split: f"{split}-dialogues" for split in SPLITS}
STYLE = Literal["", "polite", "plain"]
MAX_TRIES = 20
"""Draws of a goal before one that was drawn already is dropped."""


class DialogueConfig(Config, kw_only=True):
    """Settings of a recipe of dialogue states."""

    ontology: str = ""
    """File of domains and slots with the sentences of goals; docs/dialogue.md shows one."""
    entities: str = ""
    """File with the entities of each domain."""
    source_licence: str = ""
    """Licence of the ontology and the table."""
    goals: Positive = 10000
    """Number of goals drawn, and so of dialogues (8,000, 1,000 and 1,000 are published)."""
    domain_shares: str = "0.3,0.4,0.3"
    """Shares of goals with one domain, two, three; the available paper does not give them."""
    constraints_least: NotNegative = 1
    """Fewest properties of an entity that a goal asks for; own choice."""
    constraints_most: Positive = 3
    """Most of them; own choice."""
    bookings: Share = 0.7
    """Share of domains with entities in which the user also books; own choice."""
    carried: Share = 0.4
    """Share of slots that take over the value of an earlier domain where they can; own choice."""
    dontcare: Share = 0.1
    """Share of slots whose value is all the same to the user, where the ontology has a sentence for it; own choice."""
    asks_most: NotNegative = 2
    """Most questions about an entity; own choice."""
    mode: Literal["self", "live"] = "self"
    """self: one worker writes both sides; live: two workers meet."""
    writers: Annotated[int, Meta(ge=1, le=2)] = 1
    """Workers who write a dialogue: 1 with mode self, 2 with mode live."""
    turns_least: Positive = 2
    """Fewest turns of the user; own choice."""
    turns_most: Positive = 20
    """Most turns of the user; own choice."""
    user_style: STYLE = ""
    """How turns of the user must end: polite, plain, or any."""
    agent_style: STYLE = "polite"
    """How turns of the agent must end."""
    validators: NotNegative = 2
    """Workers other than the writers who mark the states; their votes and the writer's decide slot by slot. Own choice."""
    held_out: NotNegative = 0
    """Combinations of domains that only dev and test have; own choice."""
    split: str = "0.8,0.1,0.1"
    """Shares of dialogues: the published sizes."""


def goal_settings(config: Any) -> GoalSettings:
    """How goals are drawn; raises `BadInput` for a text that has no shares."""
    try:
        shares = tuple(float(part) for part in config.domain_shares.split(","))
    except ValueError:
        shares = ()
    if not shares or min(shares) < 0 or not abs(sum(shares) - 1) <= 1e-6:  # a NaN too
        what = f"the setting domain_shares = {config.domain_shares!r} cannot be used"
        raise BadInput(what, cure='write shares that add up to 1, such as "0.3,0.4,0.3"')
    return GoalSettings(
        shares,
        config.constraints_least,
        config.constraints_most,
        config.bookings,
        config.carried,
        config.dontcare,
        config.asks_most,
    )


def check(config: Any) -> None:
    """Refuse settings that would fail when people have answered."""
    check_split(config)
    goal_settings(config)
    if config.constraints_least > config.constraints_most:
        what = f"constraints_least = {config.constraints_least} is more than constraints_most = {config.constraints_most}"
        raise BadInput(what, cure="lower one or raise the other")
    if config.turns_least > config.turns_most:
        what = f"turns_least = {config.turns_least} is more than turns_most = {config.turns_most}"
        raise BadInput(what, cure="lower one or raise the other")
    wanted = 2 if config.mode == "live" else 1
    if config.writers != wanted:
        what = f"mode = {config.mode!r} takes writers = {wanted}, and writers is {config.writers}"
        raise BadInput(what, cure=f"write writers = {wanted}")


def read_sources(inputs: Inputs) -> tuple[Ontology, Entities]:
    """The ontology with the values of the table, and the table."""
    path = inputs.file("ontology")
    ontology = read_ontology(path)
    try:
        check_phrases(ontology)
    except BadInput as problem:
        raise BadInput(problem.what, file=path, cure=problem.cure) from None
    entities = read_entities(inputs.file("entities"), ontology)
    return complete_ontology(ontology, entities), entities


def published_ontology(inputs: Inputs) -> dict[str, list[str]]:
    """The values of each slot, as WoS publishes its ontology."""
    ontology, _ = read_sources(inputs)
    return list_values(ontology)


FILES = {"ontology.json": published_ontology}
"""Further files of a release."""


def draw_goals(inputs: Inputs, config: Any) -> Outcomes:
    """So many goals by chance, each once."""
    ontology, entities = read_sources(inputs)
    how = goal_settings(config)
    where = found_in(Path(inputs.file("ontology")), 1, licence=config.source_licence)
    offers = names_of_offers(ontology)
    seen = set[tuple[str, ...]]()
    width = len(str(config.goals))
    for number in range(1, config.goals + 1):
        for attempt in range(MAX_TRIES):
            random = seeded_random(config.seed, "goal", str(number), str(attempt))
            goal = draw_goal(ontology, entities, how, random)
            if tuple(goal.sentences) not in seen:
                break
        example = to_example(f"g{number:0{width}}", goal, offers, where)
        if tuple(goal.sentences) in seen:
            yield Dropped(example, "the same goal was drawn before")
            continue
        seen.add(tuple(goal.sentences))
        yield Kept(example, f"{len(goal.domains)} domains, {len(goal.constraints)} constraints")


def to_example(
    name: str, goal: Goal, offers: Mapping[str, str], where: Mapping[str, Any]
) -> Example:
    """A goal as an item; `offers` are the slots of names by domain."""
    inputs = {"goal": goal.sentences, "constraints": goal.constraints, "asks": goal.asks}
    known = {"domains": goal.domains, "combination": goal.combination}
    return Example(
        id=name,
        inputs=inputs,
        meta={**known, "plan": goal.plan, "offers": offers, **where},
        group=name,
        origin=Origin(recipe="goals"),
    )


def form_options(ontology: Ontology, entities: Entities, config: Any) -> Dialogue:
    """The settings by which written dialogues are checked: also those that two workers wrote, whatever the `mode`."""
    return Dialogue(
        mode="live",
        ontology=ontology,
        entities=entities,
        turns_least=config.turns_least,
        turns_most=config.turns_most,
        politeness=politeness_of(config),
    )


def politeness_of(config: Any) -> dict[Any, Any]:
    """The setting of the form: how turns must end, by role."""
    styles = {"user": config.user_style, "sys": config.agent_style}
    return {role: style for role, style in styles.items() if style}


def take_dialogues(inputs: Inputs, config: Any) -> Outcomes:
    """Each goal's dialogue, if it keeps the rules of the form; the two answers of workers who met are one dialogue."""
    ontology, entities = read_sources(inputs)
    options = form_options(ontology, entities, config)
    written = settled_answers(inputs, "dialogues")
    seen: dict[tuple[str, ...], str] = {}
    for goal in inputs.examples("goals"):
        for judgement in written.get(goal.id, ())[:1]:
            answer = judgement.answer
            turns = [{"role": turn["role"], "text": turn["text"]} for turn in answer["turns"]]
            states = [turn["state"] for turn in answer["turns"] if turn["role"] == "user"]
            meta = {name: goal.meta[name] for name in ("domains", "combination")}
            made = Example(
                id=f"{goal.id}d",
                inputs={"turns": turns, "states": states},
                meta={**meta, "how": answer["how"]},
                group=goal.id,
                origin=Origin(recipe="dialogues", parents=(goal.id,)),
            )
            problems = FORM.validate({"dialogue": answer}, goal, options)
            wrong = next((problem for problem in problems if not problem.warning), None)
            texts = tuple(turn["text"] for turn in turns)
            first = seen.setdefault(texts, made.id)
            if first != made.id:  # in another split it would be a leak
                yield Dropped(made, "the turns of another dialogue", f"those of {first}")
            elif wrong is not None:
                values = ", ".join(f"{name} {value}" for name, value in wrong.values.items())
                yield Dropped(made, f"breaks a rule: {wrong.code}", values)
            else:
                yield Kept(made, f"{len(turns)} turns, written {answer['how']}")


WRITER = "writer"
"""Who the writer's own states are counted for."""


def decide_states(inputs: Inputs, config: Any) -> Outcomes:
    """Dialogues with the states on which more than half of the writer and the validators agree, slot by slot."""
    from nikawa.aggregation.decisions import add_decided_items, apply_decisions
    from nikawa.aggregation.dialogue_states import DIALOGUE_STATES, States
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.trees import freeze_answers
    from nikawa.aggregation.verdicts import ACCEPTED, apply_rule

    dialogues = list(inputs.examples("written"))
    if not dialogues:
        return
    votes = group_by(inputs.judgements("states"), lambda judgement: judgement.example)
    judged = [
        judgement
        for dialogue in dialogues
        for judgement in (
            Judgement(
                example=dialogue.id,
                worker=WRITER,
                question="states",
                answer=list(dialogue.inputs["states"]),
            ),
            *votes.get(dialogue.id, ()),
        )
    ]
    book = inputs.decisions("states")
    table = add_decided_items(Table.from_judgements(freeze_answers(judged)), book.items())
    verdicts = apply_decisions(apply_rule(table, "majority", "drop"), book)
    places = {name: place for place, name in enumerate(verdicts.table.items)}
    values = verdicts.answers()
    for dialogue in dialogues:
        place = places[dialogue.id]
        answers = [DIALOGUE_STATES.read(row.answer) for row in judged if row.example == dialogue.id]
        shown_votes = DIALOGUE_STATES.format_votes(
            [one for one in answers if isinstance(one, States)]
        )
        if verdicts.state[place] != ACCEPTED:
            yield Dropped(dialogue, "no majority for a slot", shown_votes)
            continue
        made = replace(dialogue, gold={"states": values[place]})
        met = book.explain(dialogue.id) if place in verdicts.decided else "majority slot by slot"
        yield Kept(made, f"{met}: {shown_votes}")


def split_dialogues(inputs: Inputs, config: Any) -> Outcomes:
    """Dialogues in splits; some combinations of domains are kept from train where that is asked for."""
    dialogues = list(inputs.examples("agreed"))
    if not dialogues:
        return
    unseen = hold_out(dialogues, config)
    kept = [one for one in dialogues if one.meta["combination"] not in unseen]
    if unseen:
        yield from _split_with_unseen(dialogues, kept, config, unseen)
    else:
        yield from assign_splits(kept, config.split, config.seed, lambda one: one.id, SETS)


def hold_out(dialogues: Sequence[Example], config: Any) -> set[str]:
    """The combinations that train does not get, drawn by chance; their dialogues must fit into dev and test."""
    if not config.held_out:
        return set()
    counts = Counter(one.meta["combination"] for one in dialogues)
    if config.held_out >= len(counts):
        what = f"held_out = {config.held_out}, and the dialogues have {len(counts)} combinations of domains"
        raise BadInput(what, cure="hold out fewer combinations, or draw more goals")
    order = sorted(counts, key=lambda name: (random_key(config.seed, "held out", name), name))
    return set(order[: config.held_out])


def _split_with_unseen(
    dialogues: Sequence[Example], kept: Sequence[Example], config: Any, unseen: set[str]
) -> Outcomes:
    """Dev and test share the unseen combinations, and are filled up with others."""
    from nikawa.splitting.base import parse_sizes

    sizes = parse_sizes(config.split, len(dialogues), tuple(SETS))
    held = [one for one in dialogues if one.meta["combination"] in unseen]
    if len(held) > sizes["dev"] + sizes["test"]:
        what = f"{len(held)} dialogues have the combinations held out, and dev and test take {sizes['dev'] + sizes['test']}"
        raise BadInput(what, cure="lower held_out, or give dev and test larger shares in split")
    order = sorted(held, key=lambda one: (random_key(config.seed, "unseen", one.id), one.id))
    part = round(len(held) * sizes["dev"] / max(1, sizes["dev"] + sizes["test"]))
    home = {one.id: "dev" if place < part else "test" for place, one in enumerate(order)}
    rest = {split: sizes[split] - list(home.values()).count(split) for split in ("dev", "test")}
    for split, name in (("dev", SETS["dev"]), ("test", SETS["test"])):
        for one in held:
            if home[one.id] == split:
                yield Kept(one, f"split {split}: {one.meta['combination']} is held out", name)
    text = f"rest,{max(0, rest['dev'])},{max(0, rest['test'])}"
    yield from assign_splits(kept, text, config.seed, lambda one: one.id, SETS)


def expand_turns(inputs: Inputs, config: Any) -> Outcomes:
    """An example for each turn of the user: the dialogue up to it, and its state."""
    seen = {one.meta["combination"] for one in inputs.examples(SETS["train"])}
    for split, name in SETS.items():
        for dialogue in inputs.examples(name):
            turns = dialogue.inputs["turns"]
            users = [place for place, turn in enumerate(turns) if turn["role"] == "user"]
            for count, place in enumerate(users):
                meta = {**dialogue.meta, "turn": count}
                if split != "train":
                    is_seen = dialogue.meta["combination"] in seen
                    meta["combination_in_train"] = "seen" if is_seen else "unseen"
                made = Example(
                    id=f"{dialogue.id}-{count}",
                    inputs={"turns": turns[: place + 1]},
                    gold={"state": list(dialogue.gold["states"][count])},
                    meta=meta,
                    group=dialogue.id,
                    origin=Origin(recipe="turns", parents=(dialogue.id,)),
                )
                yield Kept(made, f"split {split}: turn {count + 1} of {dialogue.id}", split)


def describe_combinations(splits: Mapping[str, Sequence[Example]]) -> tuple[str, ...]:
    """How many dialogues of each part have a combination of domains that train does not have."""
    sentences = []
    for split, examples in splits.items():
        by_dialogue = {one.group: one for one in examples}
        unseen = [
            one.meta["combination"]
            for one in by_dialogue.values()
            if one.meta.get("combination_in_train") == "unseen"
        ]
        if split == "train":
            continue
        names = f": {', '.join(sorted(set(unseen)))}" if unseen else ""
        sentences.append(
            f"{len(unseen)} of {len(by_dialogue)} dialogues of {split} have a combination of domains that train does not have{names}."
        )
    return tuple(sentences)


# Simulated workers


def simulate_writer(words: Mapping[str, str]) -> Any:
    """A simulated worker who writes dialogues in a language, with the sentences of the goal."""

    def write(example: Example, config: Any, random: Random) -> dict[str, Any]:
        turns = list(_write_turns(example, words))
        if random.random() < 0.1:  # now and then one that forgets the end of the goal
            turns = turns[:2]
        how = config.mode
        for place, turn in enumerate(turns):
            if how == "live" and place % 2:
                turn["by"] = 1
        return {"how": how, "turns": turns}

    return write


def _write_turns(goal: Example, words: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Of each domain a turn with what is looked for, and one with the rest."""
    state: dict[str, str] = {}
    plan = goal.meta["plan"]
    sentences, offers = goal.inputs["goal"], goal.meta.get("offers", {})

    def say(role: str, text: str) -> dict[str, Any]:
        turn: dict[str, Any] = {"role": role, "text": text}
        if role == "user":
            turn["state"] = [f"{slot}-{value}" for slot, value in state.items()]
        return turn

    for domain in goal.meta["domains"]:
        rows = [
            row for row in goal.inputs["constraints"] if row["slot"].partition("-")[0] == domain
        ]
        for row in rows:
            state[row["slot"]] = row.get("value") or state.get(row.get("same", ""), "")
        request = " ".join(sentences[row["sentence"]] for row in rows) or words["hello"]
        yield say("user", request)
        name = plan.get(domain, "")
        yield say("sys", words["offer"].replace("{name}", name) if name else words["done"])
        if name:
            offer = offers.get(domain)
            if offer:
                state[offer] = name
            yield say("user", words["accept"].replace("{name}", name))
            yield say("sys", words["done"])
    if len(goal.meta["domains"]) == 1 and not plan:
        yield say("user", words["thanks"])
        yield say("sys", words["done"])


def simulate_states(example: Example, config: Any, random: Random) -> list[list[str]]:
    """The states of the writer; now and then one entry is missing from a turn on."""
    states = [list(state) for state in example.inputs["states"]]
    entries = sorted({entry for state in states for entry in state})
    if entries and random.random() < 0.2:
        lost = random.choice(entries)
        states = [[entry for entry in state if entry != lost] for state in states]
    return states


def enough_dialogues(answers: Sequence[Any]) -> bool:
    """Whether a dialogue is complete with the answers there are: of two workers, one may have written it alone."""
    return any(answer.get("how") in ("self", "alone") for answer in answers)


def make_stages(words: Mapping[str, str], prompts: Mapping[str, str]) -> tuple[Stage | Ask, ...]:
    """The stages of a recipe; `words` are those of simulated workers, `prompts` those of the sheets."""
    drawn = (
        "goals",
        "domain_shares",
        "constraints_least",
        "constraints_most",
        "bookings",
        "carried",
        "dontcare",
        "asks_most",
        "seed",
        "source_licence",
    )
    rules = ("turns_least", "turns_most", "user_style", "agent_style")
    files = ("ontology", "entities")
    return (
        Stage(
            "goals",
            "goals with one to three domains, drawn from the ontology and the table",
            draw_goals,
            files,
            drawn,
        ),
        Ask(
            "dialogues",
            "a dialogue that reaches the goal, with the state after each turn of the user",
            ("goals",),
            "dialogue",
            "dialogue",
            "writers",
            prompt=prompts["dialogues"],
            heading=prompts["dialogues_heading"],
            settings={
                "ontology": "ontology",
                "entities": "entities",
                "mode": "mode",
                "turns_least": "turns_least",
                "turns_most": "turns_most",
            },
            options=lambda config: {"politeness": politeness_of(config)},
            enough=enough_dialogues,
            simulate=simulate_writer(words),
            uses=("mode",),
        ),
        Stage(
            "written",
            "dialogues that keep the rules of the form; of two with the same turns the first",
            take_dialogues,
            ("goals", "dialogues", *files),
            rules,
            edition=2,
        ),
        Ask(
            "states",
            "the states of a dialogue, checked by workers who did not write it",
            ("written",),
            "dialogue-states",
            "states",
            "validators",
            prompt=prompts["states"],
            heading=prompts["states_heading"],
            settings={"ontology": "ontology", "entities": "entities"},
            apart=("dialogues",),
            simulate=simulate_states,
        ),
        Stage(
            "agreed",
            "more than half of the writer and the validators agree on every slot of every turn",
            decide_states,
            ("written", "states"),
        ),
        Stage(
            "parts",
            "train, dev and test by dialogue; combinations of domains may be held out of train",
            split_dialogues,
            ("agreed",),
            ("split", "held_out", "seed"),
            tuple(SETS.values()),
        ),
        Stage(
            "turns",
            "an example for each turn of the user",
            expand_turns,
            tuple(SETS.values()),
            (),
            tuple(SPLITS),
        ),
    )


def names_of_offers(ontology: Ontology) -> dict[str, str]:
    """By domain the slot that calls an entity by its name."""
    return {
        domain: f"{domain}-{slot}"
        for domain, one in ontology.domains.items()
        for slot, about in one.slots.items()
        if about.kind == "offer"
    }
