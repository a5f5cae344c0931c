"""Reading requests and writing responses; invalid requests are refused before anything is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from nikawa.errors import clip
from nikawa.serve.clients import client_network
from nikawa.serve.errors import Refused
from nikawa.serve.limits import read_body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

S = TypeVar("S", bound=msgspec.Struct)


def refuse_cross_site(request: Request) -> None:
    """Refuse a POST that a browser sends from another site's page."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise Refused("not_allowed", 403)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused("not_allowed", 403)


def sender_address(request: Request) -> str:
    """The address a request comes from, as limits count it: all of an IPv6 /64 is one."""
    return client_network(request.client.host) if request.client else "?"


async def read_json_body(request: Request, kind: type[S], max_bytes: int) -> S:
    """The JSON body of a POST of our own pages, checked against its type."""
    refuse_cross_site(request)
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type != "application/json":
        raise Refused("bad_request", 415)
    raw = await read_body(request, max_bytes)
    if b"\\u0000" in raw:  # no database keeps it in a text, and no keyboard makes it
        raise Refused("bad_request", 422)
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as problem:
        raise Refused("bad_request", 422, describe_fault(problem)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused("bad_request", 422) from None


def describe_fault(problem: msgspec.ValidationError) -> str:
    """What is wrong with which field of a body.

    >>> describe_fault(msgspec.ValidationError("Expected `str` of length <= 80 - at `$.system.name`"))
    'system.name: expected str of length <= 80'
    """
    what, _, field = str(problem).partition(" - at `")
    what = clip((what[:1].lower() + what[1:]).replace("`", ""), 200)
    field = field.rstrip("`").removeprefix("$").removeprefix(".")
    return f"{field}: {what}" if field else what


async def read_form_body(request: Request, max_bytes: int) -> dict[str, str]:
    """The fields of a form that a browser sent from our own pages."""
    refuse_cross_site(request)
    body = await read_body(request, max_bytes)
    try:
        fields = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise Refused("bad_request", 400) from None
    if any("\0" in text for field in fields for text in field):  # as in `read_json_body`
        raise Refused("bad_request", 400)
    return dict(fields)


def query_text(request: Request, name: str) -> str:
    """A text of the query, empty where it is missing."""
    value = request.query_params.get(name, "")
    if "\0" in value:
        raise Refused("bad_request", 400)
    return value


def query_number(request: Request, name: str) -> int:
    """A number of the query, 0 where it is missing."""
    value = request.query_params.get(name, "0")
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise Refused("bad_request", 400)
    return int(value)


def query_flag(request: Request, name: str) -> bool:
    """Whether the query says 1 or true."""
    return request.query_params.get(name, "") in ("1", "true")


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON response."""
    from starlette.responses import Response

    return Response(msgspec.json.encode(value), status, media_type="application/json")
