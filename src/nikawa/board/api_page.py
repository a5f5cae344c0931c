"""The OpenAPI document as rows that a page can show: no script and no other host is needed to read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

REFERENCE = "#/components/schemas/"


class FieldRow(msgspec.Struct, frozen=True):
    """A field of a type, or a parameter of a query."""

    name: str
    type: str
    """Such as `text`, `list of Link` or `public | final`."""
    refers: str
    """The type of ours that it is or holds; empty if there is no such type."""
    is_required: bool
    about: str


class TypeRow(msgspec.Struct, frozen=True):
    """A type of a body or an answer."""

    name: str
    about: str
    fields: tuple[FieldRow, ...]


class OperationRow(msgspec.Struct, frozen=True):
    """One operation."""

    method: str
    path: str
    about: str
    needs_token: bool
    query: tuple[FieldRow, ...]
    body: str
    """A type of ours, `the file` or empty."""
    answer: str
    """A type of ours, or the media type."""
    is_type: bool
    """Whether `answer` names a type of ours."""


def list_operations(document: Mapping[str, Any]) -> list[OperationRow]:
    """The operations of an OpenAPI document, in its order."""
    rows = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            [(media, content)] = operation["responses"]["200"]["content"].items()
            answer = content["schema"].get("$ref", "").removeprefix(REFERENCE)
            rows.append(
                OperationRow(
                    method.upper(),
                    path,
                    operation["summary"],
                    "security" in operation,
                    tuple(
                        FieldRow(
                            one["name"],
                            describe_type(one["schema"])[0],
                            "",
                            one["required"],
                            one.get("description", ""),
                        )
                        for one in operation["parameters"]
                        if one["in"] == "query"
                    ),
                    _describe_body(operation),
                    answer or media,
                    bool(answer),
                )
            )
    return rows


def _describe_body(operation: Mapping[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    [content] = operation["requestBody"]["content"].values()
    return str(content["schema"].get("$ref", "the file")).removeprefix(REFERENCE)


def list_types(document: Mapping[str, Any]) -> list[TypeRow]:
    """The types of an OpenAPI document with their fields."""
    rows = []
    for name, schema in document["components"]["schemas"].items():
        required = schema.get("required", ())
        fields = tuple(
            FieldRow(field, *describe_type(one), field in required, str(one.get("description", "")))
            for field, one in schema.get("properties", {}).items()
        )
        rows.append(TypeRow(name, str(schema.get("description", "")), fields))
    return rows


def describe_type(schema: Mapping[str, Any]) -> tuple[str, str]:
    """The type in words, and the type of ours that it refers to.

    >>> describe_type({"type": "array", "items": {"$ref": "#/components/schemas/TaskInfo"}})
    ('list of TaskInfo', 'TaskInfo')
    >>> describe_type({"anyOf": [{"type": "integer"}, {"type": "null"}]})
    ('integer | null', '')
    """
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(REFERENCE)
        return name, name
    if "anyOf" in schema:
        parts = [describe_type(part) for part in schema["anyOf"]]
        refers = next((refer for _, refer in parts if refer), "")
        return " | ".join(text for text, _ in parts), refers
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"])), ""
    kind = schema.get("type", "any")
    if kind == "array":
        inside, refers = describe_type(schema.get("items", {}))
        return f"list of {inside}", refers
    return {"string": "text"}.get(kind, kind), ""
