"""What the runs of a folder have paid: one file that every process of a command reads and appends to.

A budget covers a command: all its runs, folds, seeds, settings and processes together. Each request
therefore reserves its maximum cost here before it is sent, under the lock of the file. It is sent
only if all payments and reservations of the command's runs stay within the budget. The reply then
replaces the reservation by its real cost.

What counts:

* everything ever paid for the runs of the command, in this or an earlier start that was killed,
  finished or stopped: raise the budget to continue. Requests count at the prices at which they were
  sent. Requests of an unfinished model are counted again, at the current prices, from its replies
  on disk.
* requests in flight when their process was killed, and tries that ended without a reply (a time-out,
  a broken connection). The server may have billed them, so they count with their maximum cost.
* not the cost of other runs in the folder, and not runs that `nikawa run remove` removed.

Each event is one JSON line. A line that a crash cut off is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from nikawa.io.locks import lock_descriptor

LEDGER_FILE = "spending.jsonl"
"""The ledger's name in a folder of runs."""


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line."""

    event: Literal["begin", "reserve", "pay", "release", "lose", "remove"]
    """`begin`: a model starts or resumes, and `amount` is what its replies on disk cost. `reserve`:
    a request is about to be sent. `pay`: its reply came. `release`: it was refused, so it costs
    nothing. `lose`: no reply came, and the server may have billed it. `remove`: the run is gone."""
    run: str
    part: str = ""
    """The model of the run: each fold has one."""
    request: str = ""
    amount: float = 0.0
    lost: float = 0.0
    """With `begin`: what requests without a reply may have cost."""


@dataclass
class Account:
    """What one model of one run has paid."""

    paid: float = 0.0
    lost: float = 0.0
    """What requests without a reply may have cost."""
    reserved: dict[str, float] = field(default_factory=dict)
    """Request to its dearest cost, of those under way."""

    @property
    def total(self) -> float:
        """All of it."""
        return self.paid + self.lost + sum(self.reserved.values())


class Ledger:
    """The accounts of all runs of a folder; without a file they are kept in memory only."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.accounts: dict[str, dict[str, Account]] = {}
        """Run to model to account, as of the last `locked`."""
        self._descriptor: int | None = None
        self._offset = 0

    def close(self) -> None:
        """Close the file; the next `locked` opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out other processes, after reading everything they wrote."""
        if self.path is None:
            yield
            return
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, 0o666)
            self.accounts, self._offset = {}, 0
        with lock_descriptor(self._descriptor):
            self._read_new_lines(self._descriptor)
            yield

    def add(self, *entries: LedgerEntry) -> None:
        """Append entries; call this under `locked`."""
        for entry in entries:
            self._apply(entry)
        if self._descriptor is None:
            return
        lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
        self._offset += len(lines)
        try:
            written = os.write(self._descriptor, lines)
            while written < len(lines):  # the disk is nearly full: the next write raises the error
                lines = lines[written:]
                written = os.write(self._descriptor, lines)
        except OSError as problem:
            problem.filename = str(self.path)
            raise

    def total(self, runs: Iterable[str]) -> float:
        """What runs have paid, lost and reserved."""
        return sum(
            account.total for run in set(runs) for account in self.accounts.get(run, {}).values()
        )

    def reserving_runs(self, runs: Iterable[str]) -> list[str]:
        """The runs that have requests in flight, or were killed with some."""
        return [
            run
            for run in set(runs)
            if any(account.reserved for account in self.accounts.get(run, {}).values())
        ]

    def _read_new_lines(self, descriptor: int) -> None:
        os.lseek(descriptor, self._offset, os.SEEK_SET)
        parts = []
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
        content = b"".join(parts)
        self._offset += len(content)
        self.read_lines(content)
        if content and not content.endswith(b"\n"):
            self._offset += os.write(
                descriptor, b"\n"
            )  # the next line must not join an incomplete one

    def read_lines(self, content: bytes) -> None:
        """Read lines of a ledger."""
        decoder = msgspec.json.Decoder(LedgerEntry)
        for line in content.splitlines():
            try:
                self._apply(decoder.decode(line))
            except (
                msgspec.DecodeError,
                UnicodeDecodeError,
            ):  # incomplete, or written by a later version
                continue

    def _apply(self, entry: LedgerEntry) -> None:
        if entry.event == "remove":
            self.accounts.pop(entry.run, None)
            return
        parts = self.accounts.setdefault(entry.run, {})
        if entry.event == "begin":
            parts[entry.part] = Account(entry.amount, entry.lost)
            return
        account = parts.setdefault(entry.part, Account())
        if entry.event == "reserve":
            account.reserved[entry.request] = entry.amount
            return
        account.reserved.pop(entry.request, None)
        if entry.event == "pay":
            account.paid += entry.amount
        elif entry.event == "lose":
            account.lost += entry.amount


def remove_from_ledger(folder: Path, runs: Collection[str]) -> None:
    """Delete the payments of runs that are removed."""
    path = folder / LEDGER_FILE
    if not runs or not path.is_file():
        return
    ledger = Ledger(path)
    try:
        with ledger.locked():
            known = [run for run in runs if run in ledger.accounts]
            ledger.add(*(LedgerEntry(event="remove", run=run) for run in known))
    finally:
        ledger.close()


def read_total(folder: Path, runs: Iterable[str]) -> float:
    """What runs of a folder have paid so far; nothing is written."""
    path = folder / LEDGER_FILE
    ledger = Ledger()
    if path.is_file():
        ledger.read_lines(path.read_bytes())
    return ledger.total(runs)


def add_missing_costs(folder: Path, costs: Mapping[str, float]) -> None:
    """Record the payments of runs that the ledger does not have yet."""
    ledger = Ledger(folder / LEDGER_FILE)
    try:
        with ledger.locked():
            missing = [run for run in costs if run not in ledger.accounts]
            ledger.add(*(LedgerEntry(event="begin", run=run, amount=costs[run]) for run in missing))
    finally:
        ledger.close()
