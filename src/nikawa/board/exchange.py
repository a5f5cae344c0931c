"""The whole board for programs and spreadsheets: JSON with everything that pages show, CSV with a score in each row."""

from __future__ import annotations

import csv
import io

import msgspec

from nikawa.board.rendering import format_iso, format_provenance
from nikawa.board.views import BoardView
from nikawa.io.judgements.formula_escape import guard_cell

COLUMNS = (
    "task", "split", "metric", "slice", "rank", "system", "id", "kind", "submitter", "value", "low", "high", "sd", "n",
    "unit", "seeds", "submitted", "published", "parameters", "training_data", "licence", "provenance", "withheld",
)  # fmt: skip


def board_json(board: BoardView) -> bytes:
    """The board as JSON: every field of the views. Moments are seconds since 1970."""
    return msgspec.json.format(msgspec.json.encode({"version": 1, **_fields(board)}), indent=1)


def _fields(board: BoardView) -> dict[str, object]:
    fields = msgspec.to_builtins(board)
    assert isinstance(fields, dict)
    return fields


def board_csv(board: BoardView) -> bytes:
    """A row per score, with a mark for Unicode; no cell is run as a formula by a spreadsheet."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for entry in board.shown:
        for score in entry.scores:
            task = board.task(score.task)
            is_main = task is not None and score.metric == task.metrics[0].name and not score.where
            rank = entry.rank(score.task, score.split) if is_main else None
            row = (
                score.task, score.split, score.metric, score.where, rank.rank if rank else None, entry.name, entry.id,
                entry.kind, entry.by, score.value, score.low, score.high, score.sd, score.n, score.unit,
                " ".join(map(str, score.seeds)),
                None if score.scored is None else format_iso(score.scored),
                None if entry.published is None else format_iso(entry.published),
                entry.parameters, entry.training_data, entry.licence, format_provenance(entry.provenance), score.reason,
            )  # fmt: skip
            writer.writerow([guard_cell(cell) for cell in row])
    return b"\xef\xbb\xbf" + stream.getvalue().encode("utf-8", "replace")
