"""Background scoring: submissions in the order they came, from the queue in the database to what may be shown.

One thread of the server takes a submission, asks the scorer for its true scores, has `reveal` decide what may be shown, and writes all of it
in one transaction. Nothing of a submission is visible before the tick that `reveal` chose. A server that is killed leaves the submission in
the queue; the next one scores it. At each tick the tie letters are brought up to date, and after the closing date the final
splits are scored, once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from nikawa.board.folder import Board
from nikawa.board.leakage import TestLabels
from nikawa.board.records import (
    BoardSet,
    Disclosure,
    Flag,
    Place,
    ShownComparison,
    ShownScore,
    Submission,
    SubmittedFile,
    TrueComparison,
    TrueScore,
)
from nikawa.board.reveal import (
    Revealed,
    RevealRules,
    choose_visible_at,
    comparison_bits,
    next_tick,
    reveal_comparison,
    reveal_scores,
    tie_letters,
)
from nikawa.board.rules import rules_of
from nikawa.board.store import (
    BoardStore,
    add_disclosure,
    add_flag,
    decode_true_score,
    find_submission,
    list_systems,
    list_waiting,
    read_ladders,
    read_shown_comparisons,
    read_shown_scores,
    save_ladders,
    save_shown_comparison,
    save_shown_scores,
    save_shown_ties,
    save_true_comparisons,
    save_true_scores,
)
from nikawa.board.submissions import (
    read_predictions_of,
    remove_orphans,
    remove_stale_uploads,
)
from nikawa.board.wire import Helper, HelperFailed, HelperGone, HelperUnreachable, Message
from nikawa.metrics import metrics
from nikawa.records import Unit
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection
from nikawa.serve.errors import Unavailable
from nikawa.serve.store import get_value, set_value

IDLE_SECONDS = 1.0
"""Between two looks at an empty queue; a submission wakes it at once."""
MAX_ATTEMPTS = 3
"""A submission that ends the scorer so often has failed."""
RETRY_SECONDS = (1.0, 2.0, 5.0)
"""Waits after the scorer could not be reached."""
NEVER = 1e12
"""The tick of what is never shown; a moment that all databases can store."""
MAX_TIED = 200
"""Systems of one task whose ties are computed: the best ones."""
CLEAN_SECONDS = 3600.0
FAILED_TOO_OFTEN = (
    "the scoring process ended several times on this submission; the owner of the board knows"
)
FILE_MISSING = (
    "its file is missing on the server; the owner of the board can restore it from a backup"
)
_log = logging.getLogger("nikawa.board")

FindFlags = Callable[[Connection, Board, Submission], list[Flag]]


class ScoringQueue:
    """Scores what waits. `start` runs it in a thread; `run_once` does what there is to do and returns."""

    def __init__(
        self,
        board: Board,
        store: BoardStore,
        scorer: Helper,
        *,
        clock: Callable[[], float] = time.time,
        find_flags: FindFlags | None = None,
    ) -> None:
        self.board, self.store, self.scorer, self.clock = board, store, scorer, clock
        self.find_flags = find_flags
        self._wake, self._is_stopping = threading.Event(), False
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._comparing = threading.Lock()
        self._labels: list[TestLabels] | None = None
        self._rules: dict[BoardSet, RevealRules] = {}
        self._ticked, self._cleaned = float("-inf"), float("-inf")
        self._ended: Counter[tuple[str, ...]] = Counter()
        """How often the scorer ended on a final split or a comparison, or refused it."""
        self.problem = ""
        """Why nothing is scored at the moment, for the owner; empty: all is well."""

    # The thread

    def start(self) -> None:
        """Score in the background until `stop`."""
        self._thread = threading.Thread(target=self._run, name="nikawa-scoring", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what is being scored is scored again by the next server."""
        self._is_stopping = True
        self._wake.set()
        self.scorer.close()
        if self._thread is not None:
            self._thread.join(10)

    def wake(self) -> None:
        """There is something to score."""
        self._wake.set()

    def _run(self) -> None:
        while not self._is_stopping:
            wait = IDLE_SECONDS
            try:
                self._wake.clear()
                if self.run_once():
                    wait = 0.0
                self._failures, self.problem = 0, ""
            except (HelperGone, Unavailable) as problem:
                if self._is_stopping:
                    return
                wait = RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS) - 1)]
                self._failures += 1
                if str(problem) != self.problem:  # once, however long it lasts
                    _log.error("scoring waits: %s", problem)
                self.problem = str(problem)
            except Exception:
                if self._is_stopping:
                    return
                wait = RETRY_SECONDS[-1]
                self.problem = "scoring failed because of a bug; see the log"
                _log.exception("scoring failed")
            self._wake.wait(wait)

    def run_once(self) -> bool:
        """Score what waits, and do what a tick asks for; whether anything was scored."""
        has_scored = self.score_waiting()
        self.tick()
        return has_scored

    def score_waiting(self) -> bool:
        """Score what waits; whether there was anything."""
        waiting = self.store.read(list_waiting, 20)
        for submission in waiting:
            if self._is_stopping:
                return False
            self._score_or_fail(submission)
        return bool(waiting)

    def tick(self) -> None:
        """Bring ties up to date, score final splits after the close, remove stale uploads; each as seldom as it needs."""
        now = self.clock()
        seconds = self.board.settings.scoring.release_seconds
        # a clock that was ahead and is set back must not stop the ticks until it is there again
        self._ticked = min(self._ticked, next_tick(now, seconds))
        self._cleaned = min(self._cleaned, now)
        if next_tick(now, seconds) > self._ticked:
            self.score_finals()
            if self.update_ties():
                self._ticked = next_tick(now, seconds)
        if now > self._cleaned + CLEAN_SECONDS:
            self._cleaned = now
            self.store.write(remove_stale_uploads, now)
            self.store.read(lambda db: remove_orphans(self.board, db, now))

    # One submission

    def _score_or_fail(self, submission: Submission) -> None:
        self.store.write(_begin, submission.id)
        try:
            self.score_submission(submission)
        except HelperFailed as problem:
            self.store.write(_fail, submission, str(problem), self.clock())
        except FileNotFoundError:
            _log.error("a file of the submission %s is missing", submission.id)
            self.store.write(_fail, submission, FILE_MISSING, self.clock())
        except HelperUnreachable:  # nothing was tried
            raise
        except HelperGone:
            if self._is_stopping:
                raise
            if self.store.write(_count_attempt, submission.id) >= MAX_ATTEMPTS:
                self.store.write(_fail, submission, FAILED_TOO_OFTEN, self.clock())
            raise

    def score_submission(self, submission: Submission) -> None:
        """Score the public sets of a submission and write what comes of it."""
        scored: list[tuple[BoardSet, list[TrueScore], Mapping[Place, float]]] = []
        for one in self.board.sets:
            files = files_of(submission, one)
            if one.role == "public" and files:
                scores = self.ask_scores(submission, one)
                scored.append((one, scores, self._ask_noise(submission, one)))
        flags: list[Flag] = []
        if self.find_flags is not None:
            try:
                flags = self.store.read(self.find_flags, self.board, submission)
            except Unavailable:
                raise
            except Exception:  # a hint for the owner stops no score
                _log.exception("the flags of the submission %s could not be found", submission.id)
        self.store.write(self._finish, submission, scored, flags)

    def _finish(
        self,
        db: Connection,
        submission: Submission,
        scored: Sequence[tuple[BoardSet, list[TrueScore], Mapping[Place, float]]],
        flags: Sequence[Flag],
    ) -> None:
        """All that a submission brought, in one transaction."""
        row = db.required("SELECT state FROM submissions WHERE id = ?", submission.id)
        if row[0] not in ("received", "scoring"):
            return  # a copy of the board elsewhere was quicker: scored twice, it would be no new best
        now = self.clock()
        latest = 0.0
        for one, scores, noise in scored:
            visible_at = self._visible_at(submission, one, now)
            latest = max(latest, visible_at)
            self._show(db, submission, one, scores, noise, visible_at)
        for flag in flags:
            add_flag(db, submission.id, flag)
        db.execute(
            "UPDATE submissions SET state = 'scored', scored_at = ?, visible_at = ?, problem = '' WHERE id = ?",
            now,
            latest,
            submission.id,
        )

    def _visible_at(self, submission: Submission, one: BoardSet, now: float) -> float:
        count = len(submission.files)
        settings = self.board.settings
        moment = choose_visible_at(settings, one.role, submission.received, now, count)
        return NEVER if moment is None else moment

    def _show(
        self,
        db: Connection,
        submission: Submission,
        one: BoardSet,
        scores: Sequence[TrueScore],
        noise: Mapping[Place, float],
        visible_at: float,
    ) -> Revealed:
        """Write true scores, and what `reveal` makes of them."""
        save_true_scores(db, scores)
        revealed = reveal_scores(
            scores,
            one,
            self.rules_of(one),
            states=read_ladders(db, submission.account, one.task, one.split),
            noise=noise,
            account=submission.account,
            at=visible_at,
        )
        save_shown_scores(
            db, [msgspec.structs.replace(s, visible_at=visible_at) for s in revealed.scores]
        )
        save_ladders(db, submission.account, revealed.states)
        for disclosure in revealed.disclosures:
            add_disclosure(db, disclosure)
        return revealed

    def ask_scores(self, submission: Submission, one: BoardSet) -> list[TrueScore]:
        """The true scores of a submission on a set."""
        answer = self.scorer.ask(self._request("score", one, submission))
        return [
            msgspec.structs.replace(decode_true_score(body), submission=submission.id)
            for body in answer.header["scores"]
        ]

    def _ask_noise(self, submission: Submission, one: BoardSet) -> dict[Place, float]:
        """The noise of each ladder of the account: that of the difference from the submission that set its shown best."""
        noise: dict[Place, float] = {}
        if self.rules_of(one).rule != "ladder" or submission.account is None:
            return noise
        states = self.store.read(read_ladders, submission.account, one.task, one.split)
        for best in sorted({state.best for state in states.values() if state.best}):
            earlier = self.store.read(find_submission, best)
            if earlier is None:
                continue
            try:
                request = self._request("noise", one, earlier, submission)
            except FileNotFoundError:  # its own files were there for the scores
                _log.error("a file of the submission %s is missing: nothing beats it", best)
                continue
            answer = self.scorer.ask(request)
            measured = {(metric, where): value for metric, where, value in answer.header["noise"]}
            for place, state in states.items():
                value = measured.get((place.metric, place.where))
                if state.best == best and value is not None:
                    noise[place] = value
        return noise

    def _request(self, do: str, one: BoardSet, *submissions: Submission) -> Message:
        """A request with the answers of submissions to a set."""
        sides = [
            [read_predictions_of(self.board, file) for file in files_of(submission, one)]
            for submission in submissions
        ]
        header: dict[str, Any] = {"do": do, "task": one.task, "split": one.split}
        if len(sides) > 1:
            header["first"] = len(sides[0])
        return Message(header, [block for side in sides for block in side])

    def describe_labels(self) -> list[TestLabels]:
        """How much the labels of each set hold, for the leak budget; the scorer is asked once."""
        if self._labels is None:
            answer = self.scorer.ask(Message({"do": "labels"}))
            self._labels = [
                TestLabels(one["task"], one["split"], one["n"], one["bits"], one["start"])
                for one in answer.header["labels"]
            ]
        return self._labels

    def rules_of(self, one: BoardSet) -> RevealRules:
        """What the settings say about showing the scores of a set."""
        if one not in self._rules:
            self._rules[one] = rules_of(self.board, one)
        return self._rules[one]

    # Comparisons and ties

    def compare_shown(
        self, task: str, split: str, first: str, second: str
    ) -> list[ShownComparison]:
        """What may be shown of a comparison of two shown submissions, by metric; computed and counted once."""
        one = self.board.find_set(task, split)
        a, b = sorted((first, second))
        with self._comparing:  # two who ask at once are one disclosure
            kept = self.store.read(read_shown_comparisons, task, split, a, b)
            kept = kept or self._compare(one, a, b)
        return kept if (a, b) == (first, second) else [turn_comparison(c) for c in kept]

    def _compare(self, one: BoardSet, first: str, second: str) -> list[ShownComparison]:
        now = self.clock()
        scores = {
            id: {
                s.metric: s
                for s in self.store.read(
                    read_shown_scores, now, submission=id, task=one.task, split=one.split
                )
                if not s.where
            }
            for id in (first, second)
        }
        main = one.metrics[0]
        if any(main not in own or own[main].value is None for own in scores.values()):
            return []
        submissions = [self.store.read(find_submission, id) for id in (first, second)]
        if any(submission is None for submission in submissions):
            return []
        try:
            request = self._request("compare", one, *filter(None, submissions))
        except FileNotFoundError as problem:
            _log.error("a comparison lacks a file: %s", problem.filename)
            return []
        answer = self.scorer.ask(request)
        decoded = [_decode_comparison(body) for body in answer.header["comparisons"]]
        true = [msgspec.structs.replace(c, first=first, second=second) for c in decoded]
        rules = self.rules_of(one)
        shown = []
        for comparison in true:
            sides = [scores[id].get(comparison.metric) for id in (first, second)]
            if None in sides or any(side.value is None for side in sides if side):
                continue
            left, right = sides
            assert left is not None
            assert right is not None
            unit = self._unit(one, comparison.metric)
            shown.append(reveal_comparison(comparison, left, right, rules, unit))
        account = find_informed_account([s.account for s in submissions if s is not None])
        bits = comparison_bits(rules)
        self.store.write(_save_comparisons, one, true, shown, account, bits, now)
        return shown

    def _unit(self, one: BoardSet, metric: str) -> Unit:
        return metrics()[metric].unit(self.board.tasks[one.task])

    def update_ties(self) -> bool:
        """Compare the shown systems of each set that were not compared yet, and write the tie letters; whether all is done.

        A board of a hundred systems has thousands of pairs. A submission does not wait for them: it is scored first, and the pairs
        go on where they stopped.
        """
        now = self.clock()
        for one in self.board.sets:
            rows = self.store.read(read_shown_scores, now, task=one.task, split=one.split)
            best = self.find_best(rows)
            signature = ",".join(f"{m}:{s.submission}" for m, own in best.items() for s in own)
            key = f"ties {one.task}:{one.split}"
            if self.store.read(get_value, key) == signature:
                continue
            for metric, scores in best.items():
                if self._is_stopping:
                    return False
                p_of: dict[tuple[str, str], str] = {}
                for left, right in combinations(scores, 2):
                    if are_far_apart(left, right):
                        p_of[left.submission, right.submission] = "<0.0001"
                        continue
                    waiting = self.store.read(list_waiting, 1)
                    if waiting or self._is_stopping:
                        return False
                    pair = (one.task, one.split, left.submission, right.submission)
                    if self._ended[pair] >= MAX_ATTEMPTS:
                        continue
                    try:
                        compared = self.compare_shown(*pair)
                    except HelperFailed:
                        self._ended[pair] = MAX_ATTEMPTS
                        continue
                    except HelperGone as problem:
                        self._count_end(pair, problem)
                        continue
                    for comparison in compared:
                        if comparison.metric == metric and comparison.p:
                            p_of[left.submission, right.submission] = comparison.p
                names = [score.submission for score in scores]
                letters = dict(zip(names, tie_letters(scores, p_of), strict=True))
                self.store.write(
                    save_shown_ties, one.task, one.split, metric, letters, self.clock()
                )
            self.store.write(set_value, key, signature)
        return True

    def _count_end(self, work: tuple[str, ...], problem: HelperGone) -> None:
        """Count that the scorer ended on something; raises again until it did so too often, then the rest goes on without it."""
        if isinstance(problem, HelperUnreachable) or self._is_stopping:
            raise problem
        self._ended[work] += 1
        if self._ended[work] < MAX_ATTEMPTS:
            raise problem
        _log.error("the scorer ended %d times on %s", MAX_ATTEMPTS, ", ".join(work))

    def find_best(self, rows: Sequence[ShownScore]) -> dict[str, list[ShownScore]]:
        """The scores of the submission of each published system that has its best shown main score, by metric, the best first."""
        system_of = self.store.read(_system_of_submissions)
        published = {
            system.id
            for system in self.store.read(list_systems, published=True)
            if system.kind != "human"  # people are no answers that could be compared item by item
        }
        mains = {(one.task, one.split): one.metrics[0] for one in self.board.sets}
        whole = [row for row in rows if not row.where and row.value is not None]
        best: dict[str, ShownScore] = {}
        for row in whole:
            system = system_of.get(row.submission, "")
            if row.metric == mains.get((row.task, row.split)) and system in published:
                kept = best.get(system)
                if kept is None or (kept.value or 0.0) < (row.value or 0.0):
                    best[system] = row
        chosen = {row.submission for row in best.values()}
        by_metric: dict[str, list[ShownScore]] = {}
        for row in sorted(whole, key=lambda s: (-(s.value or 0.0), s.submission)):
            if row.submission in chosen:
                by_metric.setdefault(row.metric, []).append(row)
        return {metric: own[:MAX_TIED] for metric, own in by_metric.items()}

    # The final split

    def score_finals(self) -> None:
        """After the closing date, score the final splits: of each account the submission that it chose, else its best."""
        closes = self.board.settings.dates.closes_at
        if closes is None or self.clock() < closes or self.store.read(list_waiting, 1):
            return
        for one in self.board.sets:
            if one.role == "final":
                for submission in self.store.read(self._list_finalists, one):
                    work = (one.task, one.split, submission.id)
                    if self._ended[work] >= MAX_ATTEMPTS:
                        continue
                    try:
                        scores = self.ask_scores(submission, one)
                    except (HelperFailed, FileNotFoundError) as problem:
                        self._ended[work] = MAX_ATTEMPTS
                        _log.error("a final split is not scored: %s: %s", submission.id, problem)
                        continue
                    except HelperGone as problem:
                        self._count_end(work, problem)
                        continue
                    self.store.write(self._finish_final, submission, one, scores)

    def _list_finalists(self, db: Connection, one: BoardSet) -> list[Submission]:
        """The submissions to score on a final set that are not scored on it yet."""
        sql = "SELECT account, submission, scored_at FROM finals WHERE task = ?"
        chosen = {account: (id, scored_at) for account, id, scored_at in db.rows(sql, one.task)}
        rows = db.rows(
            "SELECT DISTINCT s.id, s.account FROM submissions s JOIN files f ON f.submission = s.id"
            " JOIN systems y ON y.id = s.system"
            " WHERE f.task = ? AND f.split = ? AND s.state = 'scored' AND y.state <> 'withdrawn'",
            one.task,
            one.split,
        )
        public = self.board.sets_of(one.task, "public")
        by_account: dict[str | None, list[str]] = {}
        for id, account in rows:
            by_account.setdefault(account, []).append(id)
        finalists: list[str] = []
        for account, ids in by_account.items():
            if account is None:
                finalists += ids
            elif account in chosen and (chosen[account][0] in ids or chosen[account][1]):
                finalists += [id for id in ids if id == chosen[account][0]]
            else:  # also if the chosen one failed or was withdrawn
                finalists += find_best_shown(db, ids, public)
        done = {
            row[0]
            for row in db.rows(
                "SELECT DISTINCT submission FROM true_scores WHERE task = ? AND split = ?",
                one.task,
                one.split,
            )
        }
        submissions = [find_submission(db, id) for id in finalists if id not in done]
        return [submission for submission in submissions if submission is not None]

    def _finish_final(
        self,
        db: Connection,
        submission: Submission,
        one: BoardSet,
        scores: Sequence[TrueScore],
    ) -> None:
        now = self.clock()
        visible_at = self._visible_at(submission, one, now)
        self._show(db, submission, one, scores, {}, visible_at)
        if submission.account is not None:
            db.execute(
                "INSERT INTO finals (account, task, submission, chosen_at, scored_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (account, task) DO UPDATE SET submission = excluded.submission, scored_at = excluded.scored_at",
                submission.account,
                one.task,
                submission.id,
                now,
                now,
            )


def files_of(submission: Submission, one: BoardSet) -> list[SubmittedFile]:
    """The files of a submission for a set, by seed."""
    own = [f for f in submission.files if (f.task, f.split) == (one.task, one.split)]
    return sorted(own, key=lambda file: file.seed)


def are_far_apart(left: ShownScore, right: ShownScore) -> bool:
    """Whether shown scores alone make two systems differ: by more than both intervals, twice.

    The standard error of a paired difference is at most the sum of both, so p is below 0.0001 then.
    """
    if None in (left.value, left.low, left.high, right.value, right.low, right.high):
        return False
    halves = sum(((s.high or 0.0) - (s.low or 0.0)) / 2 for s in (left, right))
    return abs((left.value or 0.0) - (right.value or 0.0)) > 2.5 * halves


def find_informed_account(accounts: Sequence[str | None]) -> str | None:
    """The account whose leak budget a comparison counts for: the one that knows the answers of both sides, its own or the owner's.

    Of two accounts, neither knows those of the other: their comparison counts for everybody together.

    >>> find_informed_account(["a", "a"]), find_informed_account(["a", None]), find_informed_account(["a", "b"])
    ('a', 'a', None)
    """
    names = set(accounts) - {None}
    return names.pop() if len(names) == 1 else None


def turn_comparison(comparison: ShownComparison) -> ShownComparison:
    """The same comparison with the sides exchanged."""
    c = comparison
    return msgspec.structs.replace(
        c,
        first=c.second,
        second=c.first,
        difference=None if c.difference is None else -c.difference,
        low=None if c.high is None else -c.high,
        high=None if c.low is None else -c.low,
    )


def _decode_comparison(body: str) -> TrueComparison:
    fields = msgspec.json.decode(body)
    nan = float("nan")
    return msgspec.convert({k: nan if v is None else v for k, v in fields.items()}, TrueComparison)


def _save_comparisons(
    db: Connection,
    one: BoardSet,
    true: Sequence[TrueComparison],
    shown: Sequence[ShownComparison],
    account: str | None,
    bits: float,
    now: float,
) -> None:
    save_true_comparisons(db, true, now)
    for comparison in shown:
        save_shown_comparison(db, comparison, now)
        add_disclosure(
            db,
            Disclosure(
                at=now,
                account=account,
                task=one.task,
                split=one.split,
                kind="comparison",
                bits=bits,
                detail={
                    "first": comparison.first,
                    "second": comparison.second,
                    "metric": comparison.metric,
                },
            ),
        )


def _begin(db: Connection, id: str) -> None:
    db.execute("UPDATE submissions SET state = 'scoring' WHERE id = ?", id)


def _count_attempt(db: Connection, id: str) -> int:
    """Count that the scorer ended on a submission; how often it did."""
    db.execute("UPDATE submissions SET attempts = attempts + 1 WHERE id = ?", id)
    return int(db.required("SELECT attempts FROM submissions WHERE id = ?", id)[0])


def _fail(db: Connection, submission: Submission, problem: str, now: float) -> None:
    db.execute(
        "UPDATE submissions SET state = 'failed', problem = ?, scored_at = ?, visible_at = ? WHERE id = ?",
        problem,
        now,
        now,
        submission.id,
    )
    add_audit(db, "scorer", "failed", {"submission": submission.id, "problem": problem}, now)


def _system_of_submissions(db: Connection) -> dict[str, str]:
    return {str(id): str(system) for id, system in db.rows("SELECT id, system FROM submissions")}


def find_best_shown(db: Connection, ids: Sequence[str], public: Sequence[BoardSet]) -> list[str]:
    """The one of some submissions with the best shown main score on a public set of the task; none where no score is shown."""
    mains = {(one.task, one.split): one.metrics[0] for one in public}
    best: tuple[float, str] | None = None
    for id in sorted(ids):
        for score in read_shown_scores(db, NEVER, submission=id):
            is_main = mains.get((score.task, score.split)) == score.metric and not score.where
            if is_main and score.value is not None and (best is None or score.value > best[0]):
                best = (score.value, id)
    return [] if best is None else [best[1]]
