"""The rules that let a worker in after the pilot, or exclude one: control items, and answers too quick to be read.

Whoever the owner took back is judged by what they did since: what the owner knew of then is not held against them again.
"""

from __future__ import annotations

import msgspec

from nikawa.collect.settings import Settings
from nikawa.collect.turn import Plan, Turn
from nikawa.collect.workers import RECORD, audited, exclude, taken_back


def judge(turn: Turn) -> Plan[None]:
    """The pilot's verdict, or an exclusion where a rule says so."""
    worker = turn.worker
    if worker.state == "pilot":
        _judge_pilot(turn)
        return
    record = worker.record
    reason = _fault(turn.settings, record)
    if not reason:
        return
    row = yield ("SELECT value FROM meta WHERE key = ?", taken_back(worker))
    if row is not None:
        since = {name: record[name] - count for name, count in _counts(row[0]).items()}
        reason = _fault(turn.settings, since, " since they were taken back")
    if reason:
        yield None
        turn.flush()
        exclude(turn.link, worker, reason, "server", turn.now)


def _counts(value: str) -> dict[str, int]:
    found = msgspec.json.decode(value, type=dict[str, int])
    return {name: found.get(name, 0) for name in RECORD}


def _fault(settings: Settings, record: dict[str, int], more: str = "") -> str:
    """Why somebody with this record is excluded; empty where nothing speaks against them."""
    gold, speed = settings.gold, settings.speed
    if (
        record["gold"] >= gold.after
        and record["gold_right"] < gold.pass_mark * record["gold"] - 1e-9
    ):
        return f"{record['gold_right']} of {record['gold']} control items right{more}"
    if record["answered"] >= speed.after and record["quick"] > speed.share * record["answered"]:
        return (
            f"{record['quick']} of {record['answered']} answers under {speed.min_seconds:g} s{more}"
        )
    return ""


def _judge_pilot(turn: Turn) -> None:
    worker, size = turn.worker, turn.sizes["pilot"]
    if worker.pilot < size:
        return
    passed = worker.pilot_right >= turn.settings.pilot.pass_mark * size - 1e-9
    worker.state = "active" if passed else "failed"
    turn.changed = True
    detail = {"worker": worker.name, "right": worker.pilot_right, "of": size}
    turn.later(*audited("server", "pilot passed" if passed else "pilot failed", detail, turn.now))
