"""What a leaderboard withstands: `python -m bench.board attack` (reading labels from scores), `load` (submissions and readers)."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import erf, exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from nikawa.board.flags import EarlierAnswers, find_flags
from nikawa.board.ladder import choose_step, mean_noise
from nikawa.board.leakage import TestLabels as Labels
from nikawa.board.leakage import gain_of, label_bits, make_leak
from nikawa.board.records import BoardSet, LadderState, Place, TrueScore
from nikawa.board.reveal import RevealRules, Rule, reveal_scores

Answers = NDArray[np.int64]
BLANK = -1
"""No answer: it counts as wrong."""
SET = BoardSet(task="target", split="test", role="public", dataset="target", metrics=("accuracy",))


@dataclass
class SimulatedBoard:
    """What an attacker sees of a board with hidden labels; what it shows comes from `reveal_scores`."""

    gold: Answers
    rule: Rule
    step: float = 0.0
    accounts: int = 1
    """Names that the attacker submits under in turn."""
    slices: int = 0
    """Slices of equal size that the board shows."""
    tries: int = 0
    bits: float = 0.0
    best_shown: float = 0.0
    states: dict[int, dict[Place, LadderState]] = field(default_factory=dict)
    bests: dict[tuple[int, Place], Answers] = field(default_factory=dict)

    @property
    def step_items(self) -> float:
        """The items of one step."""
        return max(1.0, self.step / 100 * len(self.gold))

    @property
    def parts(self) -> Answers:
        """The slice of each item."""
        parts: Answers = np.arange(len(self.gold)) * max(1, self.slices) // len(self.gold)
        return parts

    def submit(self, answers: Answers) -> float | None:
        """The shown score as a share; None where nothing is shown."""
        return self.submit_sliced(answers)[0]

    def submit_sliced(self, answers: Answers) -> tuple[float | None, dict[int, float]]:
        """The shown score, and those of the slices that are shown."""
        account = self.tries % self.accounts
        right = (answers == self.gold).astype(np.float64)
        states = self.states.setdefault(account, {})
        trues, noise = [], {}
        for part in range(-1, self.slices):
            where = "" if part < 0 else f"part={part}"
            chosen = slice(None) if part < 0 else self.parts == part
            place = Place(task="target", split="test", metric="accuracy", where=where)
            best = self.bests.get((account, place))
            if best is not None:
                noise[place] = mean_noise((right - (best == self.gold))[chosen])
            trues.append(_true_score(str(self.tries), where, right[chosen]))
        slices = ("part",) if self.slices else ()
        rules = RevealRules(rule=self.rule, step=self.step, intervals=False, slices=slices)
        revealed = reveal_scores(
            trues, SET, rules, states=states, noise=noise, account=str(account), at=0.0
        )
        for place, state in revealed.states.items():
            if state.best == str(self.tries):
                self.bests[account, place] = answers
        states.update(revealed.states)
        self.tries += 1
        self.bits += sum(one.bits for one in revealed.disclosures)
        main, *others = revealed.scores
        if main.value is None:
            return None, {}
        self.best_shown = max(self.best_shown, main.value / 100)
        parts = {
            int(one.where.removeprefix("part=")): one.value / 100
            for one in others
            if one.value is not None
        }
        return main.value / 100, parts


def _true_score(name: str, where: str, right: NDArray[np.float64]) -> TrueScore:
    return TrueScore(
        submission=name,
        task=SET.task,
        split=SET.split,
        metric="accuracy",
        mode="official",
        where=where,
        value=float(right.mean()),
        low=None,
        high=None,
        sd=None,
        n=len(right),
        unit="fraction",
        values=(),
    )


Attack = Callable[[SimulatedBoard, int, int, np.random.Generator], Answers]
"""Board, submissions, number of labels, randomness; returns the answers that the attacker believes in."""


def _most_voted(votes: NDArray[np.float64]) -> Answers:
    winners: Answers = votes.argmax(axis=1)
    return winners


def boost(board: SimulatedBoard, tries: int, labels: int, random: np.random.Generator) -> Answers:
    """The attack of Blum and Hardt (2015): random files, each weighted by how lucky it was; the majority of them at last.

    A file that is not shown was not above the shown best: it has the weight of such files' mean.
    """
    n = len(board.gold)
    votes = np.zeros((n, labels))
    sd = sqrt((labels - 1) / n) / labels
    best = None
    for _ in range(tries):
        file = random.integers(0, labels, n)
        shown = board.submit(file)
        if shown is None:
            z = ((best or 0.0) - 1 / labels) / sd
            below = (1 + erf(z / sqrt(2))) / 2
            weight = -sd * exp(-z * z / 2) / sqrt(2 * pi) / max(below, 1e-12)
        else:
            weight, best = shown - 1 / labels, shown
        votes[np.arange(n), file] += weight
    return _most_voted(votes)


def boost_from_below(
    board: SimulatedBoard, tries: int, labels: int, random: np.random.Generator
) -> Answers:
    """The same, begun with blank files and with ever fewer blanks, so that a ladder shows as many new bests as it can."""
    n = len(board.gold)
    votes = np.zeros((n, labels))
    best = board.submit(np.full(n, BLANK)) or 0.0
    for left in range(tries - 1, 0, -1):
        # the number of answers whose score is a new best about as often as there are levels left for the tries
        climb = max(0.0, 1 / labels - best) * n
        wanted = min(0.5, 2.0 * max(1.0, climb / 20) / left)
        size = n
        for part in np.linspace(0.02, 1.0, 50):
            mean, sd = part * n / labels, sqrt(part * n * (labels - 1)) / labels
            need = best * n + max(board.step_items, sqrt(part * n / labels))
            if (1 - erf((need - mean) / sd / sqrt(2))) / 2 >= wanted:
                size = int(part * n)
                break
        file = np.full(n, BLANK)
        chosen = random.permutation(n)[:size]
        file[chosen] = random.integers(0, labels, size)
        shown = board.submit(file)
        if shown is not None:
            weight = (shown - size / n / labels) / (size / n)
            votes[chosen, file[chosen]] += max(weight, 0.0)
            best = max(best, shown)
    return _most_voted(votes)


def probe(board: SimulatedBoard, tries: int, labels: int, random: np.random.Generator) -> Answers:
    """A search: change a block of answers, keep the change where the score rises. With exact scores a block is one answer."""
    n = len(board.gold)
    base = random.integers(0, labels, n)
    shown = board.submit(base) or 0.0
    block = 1 if board.rule == "exact" else max(1, min(n, int(board.step_items**2 * labels / 2)))
    order: list[int] = []
    for _ in range(tries - 1):
        if len(order) < block:
            order = list(random.permutation(n))
        places, order = order[:block], order[block:]
        changed = base.copy()
        changed[places] = (changed[places] + random.integers(1, labels, block)) % labels
        value = board.submit(changed)
        if value is not None and value > shown:
            base, shown = changed, value
        elif board.rule == "exact" and value is not None and value == shown and labels > 2:
            base = changed  # both were wrong: a third label is left
    return base


def boost_slices(
    board: SimulatedBoard, tries: int, labels: int, random: np.random.Generator
) -> Answers:
    """The attack of `boost` on each slice for itself, where the board shows slices."""
    n = len(board.gold)
    votes = np.zeros((n, labels))
    for _ in range(tries):
        file = random.integers(0, labels, n)
        _, shown = board.submit_sliced(file)
        weights = np.zeros(max(1, board.slices))
        for part, value in shown.items():
            weights[part] = value - 1 / labels
        votes[np.arange(n), file] += weights[board.parts]
    return _most_voted(votes)


ATTACKS: dict[str, Attack] = {
    "boost": boost,
    "from below": boost_from_below,
    "probe": probe,
    "slices": boost_slices,
}
SLICES = 10
"""That the board shows to the attack on slices."""


@dataclass(frozen=True)
class Outcome:
    """What an attack reached."""

    rule: Rule
    attack: str
    tries: int
    accounts: int
    accuracy: float
    """On the hidden labels of the test, without any model."""
    shown: float
    """The highest score that the board showed to it."""
    bits: float
    bound: float
    """The highest accuracy that so many bits allow."""


def attack_board(
    rule: Rule,
    name: str,
    *,
    items: int,
    labels: int,
    tries: int,
    accounts: int = 1,
    seed: int = 0,
) -> Outcome:
    """Play one attack against a board whose labels are drawn evenly."""
    random = np.random.default_rng((seed, 1))
    gold = np.random.default_rng((seed, 0)).integers(0, labels, items)
    step = 0.0 if rule == "exact" else choose_step(items)
    slices = SLICES if name == "slices" else 0
    board = SimulatedBoard(gold, rule, step, accounts, slices)
    answers = ATTACKS[name](board, tries, labels, random)
    counts = np.bincount(gold, minlength=labels)
    test = Labels("target", "test", items, label_bits(counts), counts.max() / items)
    return Outcome(
        rule=rule,
        attack=name,
        tries=tries,
        accounts=accounts,
        accuracy=float((answers == gold).mean()),
        shown=board.best_shown,
        bits=board.bits,
        bound=make_leak(test, "attacker", {"score": board.bits}).accuracy,
    )


def run_attacks(arguments: Sequence[str]) -> None:
    """Print what each attack reaches against each rule: means over seeds."""
    parser = argparse.ArgumentParser(prog="python -m bench.board attack", description=__doc__)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--tries", type=int, nargs="+", default=[50, 100, 1_000])
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    print(f"{chosen.items:,} items, step {choose_step(chosen.items)} points")
    print("labels  tries  rule     attack      accounts  accuracy  shown   bits  of labels  bound")
    rules: tuple[Rule, ...] = ("exact", "rounded", "ladder")
    for labels in chosen.labels:
        for tries in chosen.tries:
            plans = [(rule, name, 1) for rule in rules for name in ATTACKS]
            plans += [("ladder", "boost", 10), ("ladder", "boost", tries)]
            for rule, name, accounts in plans:
                rows = [
                    attack_board(
                        rule,
                        name,
                        items=chosen.items,
                        labels=labels,
                        tries=tries,
                        accounts=accounts,
                        seed=seed,
                    )
                    for seed in range(chosen.seeds)
                ]
                accuracy, shown, bits, bound = (
                    float(np.mean([getattr(row, column) for row in rows]))
                    for column in ("accuracy", "shown", "bits", "bound")
                )
                share = bits / (chosen.items * np.log2(labels))
                print(
                    f"{labels:6}  {tries:5}  {rule:7}  {name:10}  {accounts:8}  {accuracy:7.1%}  {shown:6.1%}"
                    f"  {bits:6.0f}  {min(1.0, share):8.1%}  {bound:6.1%}",
                    flush=True,
                )


def run_bounds(arguments: Sequence[str]) -> None:
    """Print what so many submissions of one account can tell at most, by rule and size of the test."""
    parser = argparse.ArgumentParser(prog="python -m bench.board bounds", description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[500, 2_000, 10_000])
    parser.add_argument("--tries", type=int, nargs="+", default=[10, 100, 1_000])
    parser.add_argument("--start", type=float, default=0.5)
    chosen = parser.parse_args(arguments)
    print("items   step  tries  rule       bits  accuracy at most")
    for items in chosen.items:
        step = choose_step(items)
        for tries in chosen.tries:
            for rule, (bits, accuracy) in gain_of(tries, items, chosen.start, step).items():
                print(f"{items:6,} {step:5g}  {tries:5,}  {rule:7}  {bits:6,.0f}  {accuracy:8.1%}")


def run_flags(arguments: Sequence[str]) -> None:
    """Print how long a file is compared with earlier ones."""
    parser = argparse.ArgumentParser(prog="python -m bench.board flags", description=__doc__)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--submissions", type=int, default=1_000)
    chosen = parser.parse_args(arguments)
    random = np.random.default_rng(0)
    size = (chosen.submissions, chosen.items)
    codes = random.integers(0, 3, size).astype(np.int32)
    earlier = EarlierAnswers([str(n) for n in range(len(codes))], ["a"] * len(codes), codes)
    times = []
    for n in range(20):
        file = (codes[n] + 1) % 3 if n % 2 else random.integers(0, 3, chosen.items).astype(np.int32)
        began = time.process_time()
        find_flags(file, "a", earlier, 0.0, 3)
        times.append(1000 * (time.process_time() - began))
    print(
        f"{size[0]:,} files of {size[1]:,} answers: median {np.median(times):.0f} ms, most {max(times):.0f} ms"
    )


def run_load(arguments: Sequence[str]) -> None:
    """Readers and submitters against a served board: see `tests.soak.board_load`."""
    from tests.soak.board_load import main as load

    load(list(arguments))


COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "attack": run_attacks,
    "bounds": run_bounds,
    "flags": run_flags,
    "load": run_load,
}


def main() -> None:
    """Run the command that is named; without one, the attacks."""
    name, *arguments = [one for one in sys.argv[1:] if one != "board"] or ["attack"]
    COMMANDS[name](arguments)


if __name__ == "__main__":
    main()
