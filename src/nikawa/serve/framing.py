"""Where the requests of a connection begin and end, decided before a parser of HTTP sees a byte.

Two programs that disagree about where a request ends can be made to answer one person with what was meant for
another (request smuggling). The parsers that uvicorn may use differ in what they forgive: h11 takes folded header
lines, bare line feeds, and a length together with chunks; httptools takes a request without a host. Here
everything that RFC 9112 lets a server refuse is refused, whichever parser follows: a request has one line end
(CR LF), a target that is a path, one host, and either one length or chunks without extensions and trailers.
"""

from __future__ import annotations

import re

MAX_HEAD_BYTES = 16_384
"""Of the request line and all headers together."""
MAX_HEADERS = 100
MAX_CHUNK_LINE_BYTES = 18
"""Sixteen digits and the line end."""

_REQUEST_LINE = re.compile(rb"[A-Z]{1,16} /[\x21-\x7e]* HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)")
_HOST = re.compile(rb"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_HALF_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}\r?")
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")


class MalformedRequest(Exception):
    """The bytes are no request that is taken; the connection cannot be used any further."""

    def __init__(self, status: int = 400) -> None:
        self.status = status
        super().__init__(str(status))


class RequestFraming:
    """Follows the bytes of one connection; `feed` hands on what may be parsed.

    The head of a request is kept back until all of it is there and was checked, so that a parser never holds half
    of one. The bytes of a body are handed on as they come.
    """

    def __init__(self) -> None:
        self._head = bytearray()
        """Bytes of a head, or of the line before a chunk, that is not whole yet."""
        self._left = 0
        """Bytes of the body, or of the chunk with its line end, still to come."""
        self._chunked = False
        """Whether the body comes in chunks."""
        self._last_chunk = False

    @property
    def is_between_requests(self) -> bool:
        """Whether no byte of a further request has come."""
        return not (self._head or self._left or self._chunked)

    @property
    def is_in_body(self) -> bool:
        """Whether the head of a request is known and its body is not whole."""
        return bool(self._left or self._chunked)

    def feed(self, data: bytes) -> bytes:
        """What of these bytes, and of those kept back before, may be parsed.

        Raises `MalformedRequest`; nothing of the connection may be parsed after that.
        """
        ready = bytearray()
        rest = memoryview(data)
        while rest:
            if self._left:
                part = rest[: self._left]
                if self._chunked and self._left <= 2 + len(rest):
                    self._require_line_end(part)
                self._left -= len(part)
                ready += part
                rest = rest[len(part) :]
                if not self._left and self._last_chunk:
                    self._chunked = self._last_chunk = False
            elif self._chunked:
                rest = self._read_chunk_line(rest, ready)
            else:
                rest = self._read_head(rest, ready)
        return bytes(ready)

    def _require_line_end(self, part: memoryview) -> None:
        """The two bytes behind a chunk must be a line end; `part` reaches into them, or up to them."""
        expected = b"\r\n"[max(0, 2 - self._left) :][: max(0, len(part) - max(0, self._left - 2))]
        if expected and bytes(part[len(part) - len(expected) :]) != expected:
            raise MalformedRequest

    def _read_head(self, rest: memoryview, ready: bytearray) -> memoryview:
        """Keep the bytes of a head; once it is whole, check it and hand it on."""
        known = len(self._head)
        self._head += rest[: MAX_HEAD_BYTES + 4 - known]
        end = self._head.find(b"\r\n\r\n", max(0, known - 3))
        head_end = len(self._head) if end < 0 else end
        if _BARE_LINE_FEED.search(self._head, max(0, known - 1), head_end):
            raise MalformedRequest
        if head_end > MAX_HEAD_BYTES:
            raise MalformedRequest(431)
        if end < 0:
            return rest[len(rest) :]
        head = bytes(self._head[: end + 4])
        self._head.clear()
        self._left, self._chunked = check_head(head[:-4])
        ready += head
        return rest[len(head) - known :]

    def _read_chunk_line(self, rest: memoryview, ready: bytearray) -> memoryview:
        """Keep the bytes of the line before a chunk; once it is whole, it says how long the chunk is."""
        known = len(self._head)
        self._head += rest[: MAX_CHUNK_LINE_BYTES - known]
        end = self._head.find(b"\r\n")
        if end < 0:
            if _HALF_CHUNK_SIZE.fullmatch(self._head) is None:
                raise MalformedRequest
            return rest[len(rest) :]
        size = bytes(self._head[:end])
        if _CHUNK_SIZE.fullmatch(size) is None:
            raise MalformedRequest
        self._left = (
            int(size, 16) + 2
        )  # of the last chunk the empty line remains: no trailers are taken
        self._last_chunk = self._left == 2
        self._head.clear()
        ready += size + b"\r\n"
        return rest[end + 2 - known :]


def check_head(head: bytes) -> tuple[int, bool]:
    """How long the body of a request is, and whether it comes in chunks; `head` has no empty line at its end.

    >>> check_head(b"POST /login HTTP/1.1\\r\\nHost: here\\r\\nContent-Length: 3")
    (3, False)
    """
    first, *lines = head.split(b"\r\n")
    request_line = _REQUEST_LINE.fullmatch(first)
    if request_line is None or len(lines) > MAX_HEADERS:
        raise MalformedRequest
    hosts, lengths, codings = [], [], []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:  # a folded line, a control character, a blank before the colon
            raise MalformedRequest
        name = header[1].lower()
        if name == b"content-length":
            lengths.append(header[2].strip(b" \t"))
        elif name == b"transfer-encoding":
            codings.append(header[2].strip(b" \t").lower())
        elif name == b"host":
            hosts.append(header[2].strip(b" \t"))
    is_old = request_line[1] == b"0"
    if len(hosts) > 1 or not (hosts or is_old) or not all(map(_HOST.fullmatch, hosts)):
        raise MalformedRequest
    if codings:
        if lengths or is_old or codings != [b"chunked"]:
            raise MalformedRequest
        return 0, True
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise MalformedRequest
    return int(lengths[0]) if lengths else 0, False
