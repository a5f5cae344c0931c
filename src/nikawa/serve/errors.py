"""Why a server does not do what a request asks for."""

from __future__ import annotations

from nikawa.errors import NikawaError


class Refused(NikawaError):
    """A request that cannot be done; `code` is also the key of its message.

    `detail` says more to a program: which field of what it sent is wrong.
    """

    def __init__(self, code: str, status: int = 409, detail: str = "") -> None:
        self.code, self.status, self.detail = code, status, detail
        super().__init__(code)


class Unavailable(NikawaError):
    """The database did not take it; nothing was acknowledged, so the same request may be sent again."""
