"""Schemathesis against the interface: whatever is sent, the server answers as its document says, and never fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from nikawa.collect.app import create_app
from nikawa.collect.interface import openapi_document
from nikawa.collect.items import sync_items
from nikawa.collect.project import Project
from nikawa.collect.routes_owner import OwnerRoutes
from nikawa.collect.store import open_store
from nikawa.collect.workers import add_worker
from nikawa.serve.login import Person, hash_token

pytestmark = pytest.mark.slow
Make = Callable[..., Project]
CHECKS = (
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
PATHS = sorted(
    (path, method) for path, methods in openapi_document("t")["paths"].items() for method in methods
)


@pytest.fixture
def app(make: Make, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, str]]:
    """The application with somebody logged in for good, and the token of a worker."""

    async def somebody(_self: OwnerRoutes, _request: object, _role: str = "") -> Person:
        return Person("owner", "owner", "token")

    monkeypatch.setattr(OwnerRoutes, "person", somebody)
    limits = {"requests_per_second": 100_000}
    project = make(items=50, control=5, trial=1, limits=limits, gold={"rate": 0.2})
    with open_store("", project.folder, project.name) as store:
        sync_items(project, store)
        token = project.token("w")
        store.write(
            lambda db: add_worker(db, "w", hash_token(token), "link", language="ko", now=1.0)
        )
        yield create_app(project, store), token


@pytest.mark.parametrize(("path", "method"), PATHS, ids=str)
def test_whatever_is_sent(app: tuple[Any, str], path: str, method: str) -> None:
    asgi, token = app
    schema = schemathesis.openapi.from_asgi("/openapi.json", asgi)
    client = TestClient(asgi, base_url="http://here")

    @settings(
        max_examples=6,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path][method.upper()].as_strategy(), real=st.booleans())
    def run(case: Any, real: bool) -> None:
        """A link and a lease that exist, every other time: nobody guesses them."""
        if "token" in (case.path_parameters or {}):
            case.path_parameters["token"] = token
        if real and isinstance(case.body, dict) and "lease" in case.body:
            item = client.get(f"/w/{token}/next").json()["item"]
            case.body["lease"] = item["lease"] if item else "none"
            if "answer" in case.body:
                case.body["answer"] = {"label": "neutral"}
        case.call_and_validate(checks=CHECKS)

    run()
