"""The same small files as the tests of the readers."""

from tests.datasets.klue.conftest import *  # noqa: F403
