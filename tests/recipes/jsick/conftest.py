"""The same small files as the tests of the readers."""

from tests.datasets.jsick.conftest import *  # noqa: F403
