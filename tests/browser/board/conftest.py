"""Boards for the browser are those of the other tests of the board."""

from tests.board.conftest import hidden_data

__all__ = ["hidden_data"]
