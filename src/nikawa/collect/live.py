"""Two workers who meet and write a dialogue: who sits where, their turns, and the answer that both give.

Each of the two has a lease on the same item, so an item asks for two workers (`workers_per_item = 2`). A lease has a seat in
the dialogue of its item: `user`, `sys`, or `both` where one writes alone. Who comes first is the user. A seat whose lease is
no longer open is free; so is, for the next who comes, that of a worker who is away (`is_away`). A worker who returns to a seat
that was not taken has it again.

A turn has a number and a key of the page's own. A turn that came before is acknowledged again; one whose number is taken by
another is refused, and its page shows the other one. A turn is acknowledged once it is committed.

As in `submissions`, each function runs in a transaction of its own, `token_hash` is the hash of the worker's link, and `now`
the moment of the request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec

from nikawa.collect.assignment import lease_end
from nikawa.collect.form import REFUSED, Options, Problem
from nikawa.collect.forms._dialogue import GOAL as WHOLE
from nikawa.collect.forms._dialogue import (
    ROLES,
    SYSTEM,
    USER,
    Turn,
    check_dialogue,
    check_state,
    check_turn,
    find_open_asks,
    is_state,
    shown_goal,
)
from nikawa.collect.interface import AnswerBody, TurnBody
from nikawa.collect.project import Project
from nikawa.collect.seats import BOTH, SEATS, Seat, free_seat, is_away
from nikawa.collect.store import decode_example
from nikawa.collect.submissions import (
    PageState,
    SaveResult,
    Submission,
    read_request_state,
    save_answer,
    save_for_partner,
)
from nikawa.collect.workers import find_worker
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused

Partner = Literal["none", "here", "away", "alone"]


class StoredTurn(NamedTuple):
    """A turn as the store has it."""

    place: int
    role: str
    text: str
    state: str | None
    """The state after a turn of the user, as JSON; the agent adds it with the reply."""
    speaker: int
    key: str
    at: float

    def plain(self) -> Turn:
        """The turn of an answer."""
        state = None
        if self.role == USER:
            state = tuple(msgspec.json.decode(self.state)) if self.state else ()
        return Turn(self.role, self.text, state, self.speaker)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Talk:
    """A dialogue as one of its workers finds it."""

    id: int
    item: int
    body: str
    """The item's example, as JSON."""
    is_alone: bool
    begun: float
    own: Seat
    others: tuple[Seat, ...]
    """The seats of everybody else, also of those who left."""
    turns: tuple[StoredTurn, ...]

    @property
    def next_role(self) -> str:
        """Whose turn it is."""
        return ROLES[len(self.turns) % 2]

    @property
    def partners(self) -> list[Seat]:
        """Who holds the other seat: one or no one."""
        return [seat for seat in self.others if seat.state == "open"]

    def partner(self, options: Options, now: float) -> Partner:
        """Whether there is somebody to write with."""
        if self.is_alone:
            return "alone"
        last = self.turns[-1].at if self.turns else self.begun
        for seat in self.partners:
            return "away" if is_away(seat, self.next_role, last, options, now) else "here"
        return "away" if self.others else "none"


def read_talk(db: Connection, token_hash: str, lease: str) -> Talk | str:
    """The dialogue of a lease, or the state of a lease that is not open any more."""
    row = db.one(
        "SELECT l.state, l.item, t.body, d.id, d.alone, d.begun FROM workers w JOIN leases l ON l.worker = w.id"
        " JOIN texts t ON t.item = l.item LEFT JOIN seats s ON s.lease = l.id"
        " LEFT JOIN dialogues d ON d.id = s.dialogue WHERE w.link = ? AND l.id = ?",
        token_hash,
        lease,
    )
    if row is None:
        find_worker(db, token_hash)
        raise Refused("lease_unknown", 404)
    state, item, body, dialogue, is_alone, begun = row
    if state != "open" or dialogue is None:
        return str(state)
    return _read_dialogue(db, dialogue, item, body, bool(is_alone), begun, lease)


def _read_dialogue(
    db: Connection, dialogue: int, item: int, body: str, is_alone: bool, begun: float, lease: str
) -> Talk:
    seats = [
        Seat(*row) for row in db.rows(f"{SEATS} WHERE s.dialogue = ? ORDER BY s.since", dialogue)
    ]
    turns = db.rows(
        "SELECT place, role, text, state, speaker, key, at FROM turns WHERE dialogue = ? ORDER BY place",
        dialogue,
    )
    return Talk(
        dialogue,
        item,
        body,
        is_alone,
        begun,
        next(seat for seat in seats if seat.lease == lease),
        tuple(seat for seat in seats if seat.lease != lease),
        tuple(StoredTurn(*turn) for turn in turns),
    )


def require_talk(db: Connection, token_hash: str, lease: str) -> Talk:
    """The dialogue of a lease that is open; raises `Refused` for another."""
    talk = read_talk(db, token_hash, lease)
    if isinstance(talk, str):
        raise Refused("already_answered" if talk == "answered" else "seat_lost")
    return talk


def touch_seat(db: Connection, project: Project, token_hash: str, lease: str, now: float) -> None:
    """Note that the page of a seat sent a request; its lease is prolonged."""
    if isinstance(read_talk(db, token_hash, lease), str):
        return
    _touch(db, project, lease, now)


def _touch(
    db: Connection, project: Project, lease: str, now: float, *, is_active: bool = False
) -> None:
    active = ", active = ?" if is_active else ""
    values = (now, now) if is_active else (now,)
    db.execute(f"UPDATE seats SET seen = ?{active} WHERE lease = ?", *values, lease)  # noqa: S608
    end = lease_end(project.settings, now)
    db.execute("UPDATE leases SET expires = ? WHERE id = ? AND state = 'open'", end, lease)


def describe_talk(talk: Talk, options: Options, now: float) -> dict[str, Any]:
    """What the page of a worker shows; only the user sees the goal, and who writes alone."""
    knows_goal = talk.own.role != SYSTEM
    turns = []
    for turn in talk.turns:
        row: dict[str, Any] = {"role": turn.role, "text": turn.text}
        if turn.role == USER:
            row["state"] = None if turn.state is None else msgspec.json.decode(turn.state)
        row["own"] = turn.speaker == talk.own.speaker
        turns.append(row)
    example = decode_example(talk.body)
    return {
        "stage": "open",
        "role": talk.own.role,
        "partner": talk.partner(options, now),
        "turns": turns,
        "goal": shown_goal(example, options) if knows_goal else None,
        "problems": _find_misunderstood(talk, options) if knows_goal else [],
        "open_asks": _find_open_asks(talk, options) if knows_goal else [],
    }


def _find_misunderstood(talk: Talk, options: Options) -> list[Problem]:
    """What the agent marked otherwise than the goal has it, in the last state."""
    marked = [turn for turn in talk.turns if turn.role == USER and turn.state is not None]
    if not marked:
        return []
    turns = [turn.plain() for turn in talk.turns]
    problems = check_state(turns, marked[-1].place, decode_example(talk.body), options)
    return [problem for problem in problems if not problem.warning]


def _find_open_asks(talk: Talk, options: Options) -> list[str]:
    """The questions of the goal that no turn answers yet, by what was marked so far."""
    turns = [turn.plain() for turn in talk.turns if turn.role == SYSTEM or turn.state is not None]
    problems = find_open_asks(turns, decode_example(talk.body), options)
    return [problem.values["slot"] for problem in problems]


def mark_of(state: dict[str, Any]) -> str:
    """A short text that changes with what a page shows."""
    return blake2b(msgspec.json.encode(state), digest_size=9).hexdigest()


def save_turn(
    db: Connection, project: Project, token_hash: str, body: TurnBody, now: float
) -> tuple[list[Problem], int]:
    """Add a turn, unless it is known; the problems of one that breaks a rule, and the dialogue.

    A reply of the agent brings the state after the turn before it.
    """
    known = _find_known(db, token_hash, body)
    if known is not None:
        return [], known
    talk = require_talk(db, token_hash, body.lease)
    count = len(talk.turns)
    if body.place != count:
        raise Refused("turn_taken")
    role = ROLES[count % 2]
    if talk.own.role not in (role, BOTH):
        raise Refused("turn_theirs")
    options = project.options
    problems = check_turn(body.text, role, f"turn-{count}", options)
    if role == USER and count // 2 + 1 > options.turns_most:
        problems.append(Problem("turns_many", {"most": options.turns_most}, WHOLE))
    if role == SYSTEM and not is_state(body.state, options.ontology):
        problems.append(
            Problem(REFUSED) if body.state is not None else Problem("state_first", where=WHOLE)
        )
    if body.check or any(not problem.warning for problem in problems):
        return problems, talk.id
    if role == SYSTEM:
        state = msgspec.json.encode(body.state).decode()
        db.execute(
            "UPDATE turns SET state = ? WHERE dialogue = ? AND place = ?", state, talk.id, count - 1
        )
    db.execute(
        "INSERT INTO turns (dialogue, place, role, text, state, speaker, key, at) VALUES (?, ?, ?, ?, NULL, ?, ?, ?)",
        talk.id,
        count,
        role,
        body.text.strip(),
        talk.own.speaker,
        body.key,
        now,
    )
    _touch(db, project, body.lease, now, is_active=True)
    return problems, talk.id


def _find_known(db: Connection, token_hash: str, body: TurnBody) -> int | None:
    """The dialogue that has a turn already, whatever became of the lease; raises `Refused` where the key is another turn's."""
    row = db.one(
        "SELECT t.dialogue, t.place, t.text FROM workers w JOIN seats s ON s.worker = w.id AND s.lease = ?"
        " JOIN turns t ON t.dialogue = s.dialogue AND t.key = ? WHERE w.link = ?",
        body.lease,
        body.key,
        token_hash,
    )
    if row is None:
        return None
    if (row[1], row[2]) != (body.place, body.text.strip()):
        raise Refused("key_used")
    return int(row[0])


def write_alone(db: Connection, project: Project, token_hash: str, lease: str, now: float) -> int:
    """Let a worker write the rest of a dialogue alone; refused while the partner is there. Returns the dialogue."""
    talk = require_talk(db, token_hash, lease)
    if talk.is_alone:
        return talk.id
    if talk.partner(project.options, now) == "here":
        raise Refused("partner_here")
    for seat in talk.partners:
        free_seat(db, seat.lease, talk.item)
    db.execute("UPDATE dialogues SET alone = 1 WHERE id = ?", talk.id)
    db.execute("UPDATE seats SET role = ? WHERE lease = ?", BOTH, lease)
    db.execute("UPDATE items SET asked = done + 1 WHERE id = ?", talk.item)
    _touch(db, project, lease, now, is_active=True)
    return talk.id


def finish_dialogue(
    db: Connection, project: Project, token_hash: str, body: AnswerBody, now: float
) -> tuple[list[Problem], tuple[SaveResult, PageState] | None, int]:
    """End a dialogue: it becomes the answer of both workers, once it keeps the rules.

    Returns the problems, what was saved with the state of the page, and the dialogue. What the page sends as the answer
    does not count: the turns are stored already.
    """
    request = read_request_state(db, token_hash, now, lease=body.lease, key=body.key)
    submission = Submission(body.lease, body.key, "{}", body.comment, body.seconds)
    if request.earlier is not None:
        return [], save_answer(db, project, token_hash, submission, now), 0
    talk = require_talk(db, token_hash, body.lease)
    if talk.own.role == SYSTEM:
        raise Refused("turn_theirs")
    turns, how, numbers = describe_speakers(talk)
    problems = check_dialogue(turns, decode_example(talk.body), project.options, live=True)
    if any(not problem.warning for problem in problems):
        return problems, None, talk.id
    members = [talk.own, *(seat for seat in talk.others if _answers_too(seat, talk))]
    left = [seat for seat in talk.partners if seat not in members]
    db.execute("UPDATE dialogues SET state = 'over' WHERE id = ?", talk.id)
    for seat in left:  # sat down and wrote nothing
        free_seat(db, seat.lease, talk.item)
    db.execute("UPDATE items SET asked = done + ? WHERE id = ?", len(members), talk.item)

    def answer(seat: Seat) -> str:
        value: dict[str, Any] = {"how": how, "turns": msgspec.to_builtins(turns)}
        if number := numbers.get(seat.speaker, 0):
            value["speaker"] = number
        return msgspec.json.encode(
            {project.options.question: value}, order="deterministic"
        ).decode()

    for seat in members[1:]:
        (link,) = db.required("SELECT link FROM workers WHERE id = ?", seat.worker)
        own = Submission(seat.lease, f"dialogue {talk.id}", answer(seat))
        save_for_partner(db, project, link, own, now)
    saved = save_answer(db, project, token_hash, replace(submission, body=answer(talk.own)), now)
    return problems, saved, talk.id


def describe_speakers(talk: Talk) -> tuple[list[Turn], str, dict[int, int]]:
    """The turns with their speakers numbered in the order in which they spoke, how the dialogue came about, and the numbers."""
    numbers: dict[int, int] = {}
    for stored in talk.turns:
        numbers.setdefault(stored.speaker, len(numbers))
    turns = [msgspec.structs.replace(turn.plain(), by=numbers[turn.speaker]) for turn in talk.turns]
    how = "alone" if talk.is_alone else "replaced" if len(numbers) > 2 else "live"
    return turns, how, numbers


def _answers_too(seat: Seat, talk: Talk) -> bool:
    """Whether a dialogue is the answer of another worker too: the last who spoke for the other side, even if just gone."""
    spoken = [turn.speaker for turn in talk.turns if turn.role == seat.role]
    is_last = bool(spoken) and spoken[-1] == seat.speaker and seat.role != talk.own.role
    return is_last and not talk.is_alone and seat.state in ("open", "expired")


def authors_of(db: Connection, item: int) -> list[str]:
    """The names of all who wrote a turn of the dialogues of an item."""
    rows = db.rows(
        "SELECT DISTINCT w.name FROM dialogues d JOIN seats s ON s.dialogue = d.id JOIN workers w ON w.id = s.worker"
        " WHERE d.item = ? AND EXISTS (SELECT 1 FROM turns t WHERE t.dialogue = d.id AND t.speaker = s.speaker)"
        " ORDER BY w.name",
        item,
    )
    return [str(name) for (name,) in rows]
