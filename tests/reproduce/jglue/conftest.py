"""The same small files as the tests of the readers."""

from tests.datasets.jglue.conftest import *  # noqa: F403
