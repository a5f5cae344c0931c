"""Why a server does not do what a request asks for."""

from __future__ import annotations

from nikawa.errors import NikawaError


class Refused(NikawaError):
    """A request that cannot be done; `code` is also the key of its message."""

    def __init__(self, code: str, status: int = 409) -> None:
        self.code, self.status = code, status
        super().__init__(code)


class Unavailable(NikawaError):
    """The database did not take it; nothing was acknowledged, so the same request may be sent again."""
