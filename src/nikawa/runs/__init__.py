"""Run models on tasks: plan (a sweep is a list of runs), execute (here or on a cluster), store (one
folder per run).
"""

from nikawa.datasets.reader import DataVersion
from nikawa.runs.records import About, EvaluationProtocol, Outcome, RunSpec, SetScores, Variation
from nikawa.runs.store import StoredRun, open_run, stored_runs

__all__ = [
    "About",
    "DataVersion",
    "EvaluationProtocol",
    "Outcome",
    "RunSpec",
    "SetScores",
    "StoredRun",
    "Variation",
    "open_run",
    "stored_runs",
]
