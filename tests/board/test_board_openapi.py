"""Schemathesis against the interface: whatever programs send, the server answers as its document says, and never fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.board.conftest import BoardMaker, HiddenData

from nikawa.board.accounts import make_token
from nikawa.board.app import create_app
from nikawa.board.interface import OPERATIONS

pytestmark = pytest.mark.slow
CHECKS = (
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)


@pytest.fixture(scope="module")
def app(
    hidden_data: HiddenData, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, str]]:
    """The application, and the token of an account."""
    changes = {"requests_per_second = 20": "requests_per_second = 100000"}
    with BoardMaker(hidden_data, tmp_path_factory.mktemp("fuzzed"), "") as make:
        under = make(changes)
        parts: dict[str, Any] = {
            "queue": under.queue,
            "checker": under.checker,
            "clock": lambda: under.now,
        }
        token = under.store.write(make_token, under.account("ann").id, "test", under.now)
        yield create_app(under.board, under.store, **parts), token


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
def test_whatever_is_sent(app: tuple[Any, str], operation: Any) -> None:
    asgi, token = app
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", asgi)

    @settings(
        max_examples=5,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[operation.path][operation.method.upper()].as_strategy())
    def run(case: Any) -> None:
        case.headers = {"Authorization": f"Bearer {token}"}
        case.call_and_validate(checks=CHECKS)

    run()
