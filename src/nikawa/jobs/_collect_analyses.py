"""What a dashboard shows that other stages compute, by name: given to the server, which knows no other stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.jobs._collect_gate import gate
from nikawa.jobs._collect_judged import judged

ANALYSES: Mapping[str, Callable[[Project, Store], Any]] = {"judged": judged, "gate": gate}
"""Name to a function of project and store; its result must be JSON."""
