"""The state of a dialogue by matching values of an ontology; the ontology and the cues for each
slot are learned.

A state is carried from user turn to user turn. In each, a value that a speaker mentions (or another
slot has) goes to a slot if a linear model finds its place and the turn's words likely; slots of few
values, and `dontcare`, are filled by the words of the turn alone. Values of open kinds (numbers,
times) need not occur in training.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from nikawa.models.base import (
    Model,
    Progress,
    check_kind,
    get_gold,
    ignore_progress,
    not_fitted_error,
    read_settings,
    shuffle_indexes,
)
from nikawa.models.dialogue.turns import (
    Exchange,
    State,
    Step,
    find_training_steps,
    parse_state,
    read_exchanges,
)
from nikawa.models.dialogue.values import (
    Mention,
    NameFinder,
    find_numbers,
    find_times,
    guess_kind,
)
from nikawa.models.hashed import HashedClassifier, hash_features
from nikawa.models.text_features import char_ngrams
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("dialogue",)
DONTCARE = "dontcare"
UNMENTIONED = {DONTCARE, "none"}
"""Values that no text mentions."""
MIN_SHARED_VALUES = 2
"""Slots that share this many values may use each other's values."""
QUESTION_CHARS = 40
"""Characters at the end of the system's turn: where the question is."""
MIN_PROBABILITY = 0.5
"""A less likely candidate is ignored."""
KEEP, TAKE = "", "yes"
"""Classes: a slot that a turn leaves alone (no value is empty), and a candidate that is taken."""


class OntologySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the cues are learned."""

    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1e-5
    """Penalty on the size of weights."""
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 10
    """Passes over the training turns."""
    few: Annotated[int, msgspec.Meta(ge=0)] = 16
    """Slots of at most so many values are filled by the words of a turn too, mentioned or not."""
    ontology: dict[str, tuple[str, ...]] = {}
    """Further values of slots (`domain-slot`), such as a published ontology holds."""


class Candidate(NamedTuple):
    """A value that a slot may take in a turn."""

    slot: str
    value: str
    source: str
    """`user`, `system`, or the slot of the state it is taken from."""
    place: Mention | None


class Ontology:
    """The slots with the values they have in training, and which mentions each may take."""

    def __init__(
        self, states: Sequence[Mapping[str, str]], more_values: Mapping[str, Sequence[str]]
    ) -> None:
        """Collect the values of `states`, and add `more_values` of slots."""
        values: dict[str, set[str]] = defaultdict(set)
        for slot, names in more_values.items():
            values[slot].update(names)
        for state in states:
            for slot, value in state.items():
                values[slot].add(value)
        self.slots = sorted(values)
        self.values = {slot: sorted(values[slot] - UNMENTIONED) for slot in self.slots}
        kinds = {slot: guess_kind(self.values[slot]) for slot in self.slots}
        self._takers = self._find_takers([slot for slot in self.slots if kinds[slot] == "name"])
        """Each name to the slots that may take it."""
        self._names = NameFinder(self._takers)
        self._number_slots = [slot for slot in self.slots if kinds[slot] == "number"]
        self._time_slots = [slot for slot in self.slots if kinds[slot] == "time"]

    def _find_takers(self, slots: Sequence[str]) -> dict[str, list[str]]:
        """Each name to the slots that have it, or share enough of their names with one that has it."""
        names_of = {slot: set(self.values[slot]) for slot in slots}
        takers: dict[str, set[str]] = defaultdict(set)
        for slot, names in names_of.items():
            related = [
                other
                for other in names_of
                if other == slot or len(names & names_of[other]) >= MIN_SHARED_VALUES
            ]
            for name in names:
                takers[name].update(related)
        return {name: sorted(slots) for name, slots in takers.items()}

    def find_mentions(self, text: str) -> list[Mention]:
        """All values that a text may mention."""
        mentions = list(self._names.find(text))
        times = list(find_times(text)) if self._time_slots else []
        inside_times = {i for time in times for i in range(time.start, time.end)}
        if self._number_slots:
            mentions += [
                mention for mention in find_numbers(text) if mention.start not in inside_times
            ]
        return sorted([*mentions, *times])

    def find_candidates(self, step: Step) -> list[Candidate]:
        """What each slot may take: from the user, the system, or another slot.

        A value that the slot has already is left out.
        """
        candidates: dict[tuple[str, str], Candidate] = {}
        for source, text in (("user", step.exchange.user), ("system", step.exchange.system)):
            for mention in self.find_mentions(text):
                value = mention.value
                if mention.how == "name":
                    slots = self._takers[value]
                else:
                    slots = self._number_slots if mention.how == "number" else self._time_slots
                for slot in slots:
                    candidates.setdefault((slot, value), Candidate(slot, value, source, mention))
        for source, value in step.before.items():
            for slot in self._takers.get(value, ()):
                candidates.setdefault((slot, value), Candidate(slot, value, source, None))
        return [c for c in candidates.values() if step.before.get(c.slot) != c.value]


def _turn_features(step: Step) -> list[str]:
    """Features of a turn, for slots whose value is expressed in other words."""
    question = step.exchange.system[-QUESTION_CHARS:]
    user = step.exchange.user
    features = ["bias", "later" if step.before else "first"]
    features += [f"u{gram}" for gram in char_ngrams(user, 2, 4)]
    features += [f"s{gram}" for gram in char_ngrams(question, 2, 3)]
    features += [f"b{slot}" for slot in step.before]
    opening = user.split()[:1]
    features += [f"o{opening}{word[:2]}" for word in question.split()]
    return list(dict.fromkeys(features))


def candidate_features(step: Step, candidate: Candidate, rivals: int) -> Iterator[str]:
    """Features of a candidate, each with its slot: its place, what is around it and in the turn.

    `rivals` is the number of candidates for the same slot.
    """
    slot, source = candidate.slot, candidate.source
    text = step.exchange.system if source == "system" else step.exchange.user
    domain = slot.partition("-")[0]
    yield f"{slot}"
    yield f"{slot}|{source}"
    yield f"{slot}|{source}|rivals{min(rivals, 4)}"
    yield f"{slot}|filled{slot in step.before}"
    yield f"{slot}|domain{any(other.startswith(domain + '-') for other in step.before)}|{source}"
    if candidate.place is not None:
        start, end, value, how = candidate.place
        # Some hours are seldom meant in one half of the day.
        hour = value[:2] if how in ("time", "other-half") else ""
        yield f"{slot}|{source}|{how}|{hour}"
        for size in (1, 2, 3, 4):
            yield f"{slot}|{source}|l{text[max(0, start - size) : start]}"
            yield f"{slot}|{source}|r{text[end : end + size]}"
        yield f"{slot}|{source}|at{'start' if start < 3 else 'later'}"
    for gram in char_ngrams(step.exchange.user, 2, 3):
        yield f"{slot}|u{gram}"
    for gram in char_ngrams(step.exchange.system[-QUESTION_CHARS:], 2, 3):
        yield f"{slot}|s{gram}"


class OntologyMatch:
    """The model; it can be pickled once it has learned."""

    name = "ontology-match"

    def __init__(self, settings: OntologySettings, seed: int, progress: Progress) -> None:
        self._settings = settings
        self._seed = seed
        self._progress = progress
        self._ontology: Ontology | None = None
        self._candidate_classifier = self._make_classifier()
        """Whether a candidate is taken."""
        self._turn_classifiers: dict[str, HashedClassifier] = {}
        """By slot, the value that the words of a turn give it."""

    def _make_classifier(self) -> HashedClassifier:
        return HashedClassifier(penalty=self._settings.penalty, epochs=self._settings.epochs)

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the ontology, then what makes a turn change a slot."""
        check_kind(self.name, KINDS, task)
        gold = get_gold(task, examples)
        order = shuffle_indexes(examples, self._seed)
        states = [parse_state(gold[i], examples[i].id) for i in order]
        self._ontology = Ontology(states, self._settings.ontology)
        steps = find_training_steps([read_exchanges(task, examples[i]) for i in order], states)
        self._fit_candidates(self._ontology, steps)
        self._fit_turns(self._ontology, steps)

    def _fit_candidates(self, ontology: Ontology, steps: Sequence[tuple[Step, State]]) -> None:
        rows, gold = [], []
        for done, (step, changed) in enumerate(steps):
            for candidate, features in _describe_candidates(ontology, step):
                rows.append(features)
                gold.append(TAKE if changed.get(candidate.slot) == candidate.value else KEEP)
            self._progress("turns", done + 1, len(steps))
        self._candidate_classifier = self._make_classifier()
        self._candidate_classifier.fit(hash_features(rows) if rows else None, gold)

    def _fit_turns(self, ontology: Ontology, steps: Sequence[tuple[Step, State]]) -> None:
        """One classifier for each slot whose value the words of a turn may give: keep, or one of
        its values.
        """
        self._turn_classifiers = {}
        if not steps:
            return
        rows = hash_features(_turn_features(step) for step, _ in steps)
        for slot in ontology.slots:
            values = {DONTCARE}
            if len(ontology.values[slot]) <= self._settings.few:
                values.update(ontology.values[slot])
            gold = [changed[slot] if changed.get(slot) in values else KEEP for _, changed in steps]
            counts = Counter(gold)
            gold = [value if counts[value] > 1 else KEEP for value in gold]
            if len(set(gold)) > 1:
                self._turn_classifiers[slot] = self._make_classifier()
                self._turn_classifiers[slot].fit(rows, gold, KEEP)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The state after the last user turn of each dialogue."""
        if self._ontology is None:
            raise not_fitted_error(self.name, task)
        dialogues = [read_exchanges(task, example) for example in examples]
        states = self._follow_states(self._ontology, dialogues)
        predictions = []
        for example, dialogue in zip(examples, dialogues, strict=True):
            answer = [f"{slot}-{value}" for slot, value in sorted(states[dialogue].items())]
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions

    def _follow_states(
        self, ontology: Ontology, dialogues: Sequence[tuple[Exchange, ...]]
    ) -> dict[tuple[Exchange, ...], State]:
        """The state of every dialogue and of its beginnings, all of one length together."""
        beginnings: dict[int, dict[tuple[Exchange, ...], None]] = defaultdict(dict)
        for dialogue in dialogues:
            for size in range(1, len(dialogue) + 1):
                beginnings[size][dialogue[:size]] = None
        states: dict[tuple[Exchange, ...], State] = {(): {}}
        for size in sorted(beginnings):
            parts = list(beginnings[size])
            steps = [Step(part[-1], states[part[:-1]]) for part in parts]
            states |= dict(zip(parts, self._update_states(ontology, steps), strict=True))
        return states

    def _update_states(self, ontology: Ontology, steps: Sequence[Step]) -> list[State]:
        """The states after some steps."""
        described = [_describe_candidates(ontology, step) for step in steps]
        rows = [features for candidates in described for _, features in candidates]
        probabilities = [0.0] * len(rows)
        classes = self._candidate_classifier.names
        if rows and TAKE in classes:
            shares = self._candidate_classifier.predict_shares(hash_features(rows))
            probabilities = shares[:, classes.index(TAKE)].tolist()
        states: list[State] = []
        at = 0
        for step, candidates, by_words in zip(
            steps, described, self._read_words(steps), strict=True
        ):
            own = probabilities[at : at + len(candidates)]
            at += len(candidates)
            values = _choose_values([c for c, _ in candidates], own, by_words)
            states.append({**step.before, **values})
        return states

    def _read_words(self, steps: Sequence[Step]) -> list[dict[str, tuple[float, str]]]:
        """For each step the slots that its words fill, with probability and value."""
        filled: list[dict[str, tuple[float, str]]] = [{} for _ in steps]
        if not self._turn_classifiers:
            return filled
        rows = hash_features(_turn_features(step) for step in steps)
        for slot, classifier in self._turn_classifiers.items():
            shares = classifier.predict_shares(rows)
            for i, best in enumerate(shares.argmax(axis=1).tolist()):
                value = classifier.names[best]
                if value != KEEP:
                    filled[i][slot] = (float(shares[i, best]), value)
        return filled

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_progress": ignore_progress}


def _describe_candidates(ontology: Ontology, step: Step) -> list[tuple[Candidate, list[str]]]:
    """The candidates of a step with their features."""
    candidates = ontology.find_candidates(step)
    rivals = Counter(candidate.slot for candidate in candidates)
    return [(c, list(candidate_features(step, c, rivals[c.slot]))) for c in candidates]


def _choose_values(
    candidates: Sequence[Candidate],
    probabilities: Sequence[float],
    by_words: Mapping[str, tuple[float, str]],
) -> dict[str, str]:
    """The likeliest value of each slot; what is mentioned once goes to one slot.

    `by_words` are the slots that the words of the turn fill, with probability and value; a
    candidate must be at least as likely to replace one of them.
    """
    pairs = list(zip(probabilities, candidates, strict=True))
    pairs.sort(key=lambda pair: (-pair[0], pair[1].slot, pair[1].value))
    values: dict[str, str] = {}
    used_places: set[tuple[str, int, int]] = set()
    for probability, (slot, value, source, mention) in pairs:
        if probability < MIN_PROBABILITY:
            break
        place = (source, mention.start, mention.end) if mention else None
        likelier_by_words = slot in by_words and by_words[slot][0] > probability
        if slot in values or place in used_places or likelier_by_words:
            continue
        values[slot] = value
        if place is not None:
            used_places.add(place)
    return {**{slot: value for slot, (_, value) in by_words.items()}, **values}


MODELS = (
    Model(
        "ontology-match",
        "finds values of a learned ontology in the turns",
        KINDS,
        lambda setup: OntologyMatch(
            read_settings(OntologySettings, setup), setup.seed, setup.progress
        ),
        OntologySettings,
    ),
)
