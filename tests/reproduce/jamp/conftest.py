"""The same small files as the tests of the readers."""

from tests.datasets.jamp.conftest import *  # noqa: F403
