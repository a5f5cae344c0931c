"""Markup of pages and pictures: everything that is shown is escaped here or by the templates, so that text stays text.

Pages and their parts are Jinja2 templates in `templates/` with auto-escaping. Small fragments are made by `html`, and pictures by
functions that pass every text through `text`. What is markup already has the type `Markup`; any plain string that reaches a
template is text, and is escaped.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from nikawa.printable import printable

TEMPLATES = Path(__file__).parent / "templates"


def text(value: object) -> Markup:
    """Text for a page or a picture, with visible escapes for what has no shape.

    XML cannot contain control characters, and bidirectional controls would reorder the text around a name.
    """
    return escape(_show(value if isinstance(value, str) else str(value)))


def _show(value: Any) -> Any:
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value, "\t\n\r") if is_text else value


def html(pattern: str, *values: object) -> Markup:
    """A fragment of a page: the pattern is markup, the values that stand for `{}` in it are escaped unless they are markup.

    >>> html("<b>{}</b>", "a < b")
    Markup('<b>a &lt; b</b>')
    """
    return Markup(pattern).format(*map(_show, values))  # noqa: S704 — a pattern is never from data


def join(parts: Any) -> Markup:
    """Fragments one after the other."""
    return Markup("").join(parts)


def source(place: str, title: str = "") -> Markup:
    """Attributes with the source of a number; the script of the page adds the source to the tooltip."""
    shown = html(' title="{}"', title) if title else Markup("")
    return html(' data-src="{}"', place) + shown if place else shown


def slug(name: str) -> str:
    """A name that can be an id and a file's name."""
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-") or "x"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_show,
    )
    environment.globals["source"] = source
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["slug"] = slug
    return environment


def render(name: str, /, **values: object) -> Markup:
    """A template of `templates/` with its values."""
    return Markup(_environment().get_template(name).render(values))  # noqa: S704 — templates escape


@cache
def _macros() -> Any:
    return _environment().get_template("fragments.html").module


def fragment(name: str, /, **values: object) -> Markup:
    """A macro of `fragments.html` with its values."""
    made: Markup = getattr(_macros(), name)(**values)
    return made
