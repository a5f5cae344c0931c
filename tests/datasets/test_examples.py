"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import nikawa.cleaning
import nikawa.datasets
import nikawa.pairing
import nikawa.splitting

PACKAGES = (nikawa.datasets, nikawa.splitting, nikawa.pairing, nikawa.cleaning)
MODULES = [
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
