"""Read Python code without running it: constants, calls as they are written, and the few operations that tasks use on texts.

An `Evaluator` computes values from the syntax tree. Nothing is imported and no attribute of an object is reached: only the operations
of this file exist, on texts, numbers, lists and mappings. What needs more raises `Computed`, with the code that needs it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

from nikawa.exchange.reading.definition import ReadFault

MAX_STEPS = 100_000
"""Operations for one value."""
MAX_TEXT = 1 << 20
"""Characters of a text, and items of a list, that an operation may give."""
MAX_CALLS = 8
"""Calls inside each other."""
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
TEXT_METHODS = frozenset(
    (
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "capitalize",
        "title",
        "removeprefix",
        "removesuffix",
        "split",
        "splitlines",
        "join",
        "startswith",
        "endswith",
        "index",
        "find",
        "isdigit",
    )
)
LIST_METHODS = frozenset(("index", "count"))
MAPPING_METHODS = frozenset(("get", "keys", "values", "items"))
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "len": len,
    "ord": ord,
    "chr": chr,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "zip": lambda *lists: list(zip(*lists, strict=False)),
    "enumerate": lambda values, start=0: list(enumerate(values, start)),
    "sorted": sorted,
    "min": min,
    "max": max,
}
"""Functions that the evaluator knows, all on plain values."""


class Computed(Exception):
    """A value that the code computes in a way that cannot be read."""

    def __init__(self, node: ast.AST | str, why: str = "") -> None:
        self.line = getattr(node, "lineno", None)
        text = node if isinstance(node, str) else ast.unparse(node)
        self.code = text if len(text) <= 60 else f"{text[:57]}…"
        super().__init__(f"{self.code}{': ' + why if why else ''}")


@dataclass(frozen=True)
class Call:
    """A call as it is written, of a function that is not in the module."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    node: ast.Call


@dataclass(frozen=True)
class Unknown:
    """A value that cannot be read; it becomes an error only where it is needed."""

    computed: Computed


@dataclass(frozen=True)
class Function:
    """A function of the file, with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    names: Mapping[str, Any]


@dataclass
class Evaluator:
    """Reads the values of a module."""

    tree: ast.Module
    steps: int = 0
    depth: int = 0
    constants: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.assigned: dict[str, ast.expr] = {}
        counts: dict[str, int] = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name) and node.value is not None:
                        self.assigned[target.id] = node.value
                        counts[target.id] = counts.get(target.id, 0) + 1
        for name, count in counts.items():
            if count > 1:
                del self.assigned[name]

    def name(self, node: ast.Name) -> Any:
        """The value of a name of the module."""
        if node.id not in self.constants:
            if node.id not in self.assigned:
                raise Computed(node, "is not a constant of this file")
            self.constants[node.id] = Unknown(Computed(node, "refers to itself"))
            self.constants[node.id] = self.lazy(self.assigned[node.id], {})
        return self.constants[node.id]

    def lazy(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """A value, or `Unknown`."""
        try:
            return self.value(node, names)
        except Computed as computed:
            return Unknown(computed)

    def value(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """The value of an expression; raises `Computed`."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise ReadFault("takes too many operations to read", "simplify the code")
        method = getattr(self, f"read_{type(node).__name__.lower()}", None)
        if method is None:
            raise Computed(node)
        try:
            result = method(node, names)
        except (Computed, ReadFault):
            raise
        except KeyError as problem:
            raise Computed(node, f"has no {problem}") from None
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as problem:
            raise Computed(node, str(problem)) from None
        if isinstance(result, str | list | tuple) and len(result) > MAX_TEXT:
            raise ReadFault("computes a text or list that is too long", "simplify the code")
        return result

    def needed(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """A value that must be known."""
        value = self.value(node, names)
        if isinstance(value, Unknown):
            raise value.computed
        return value

    def read_constant(self, node: ast.Constant, names: dict[str, Any]) -> Any:
        """A constant."""
        if isinstance(node.value, bytes | complex) or node.value is ...:
            raise Computed(node)
        return node.value

    def read_name(self, node: ast.Name, names: dict[str, Any]) -> Any:
        """A local name, or one of the module."""
        if node.id in names:
            return names[node.id]
        if node.id in self.functions:
            return Function(self.functions[node.id], {})
        return self.name(node)

    def read_list(self, node: ast.List, names: dict[str, Any]) -> list[Any]:
        """A list."""
        if any(isinstance(part, ast.Starred) for part in node.elts):
            raise Computed(node)
        return [self.lazy(part, names) for part in node.elts]

    def read_tuple(self, node: ast.Tuple, names: dict[str, Any]) -> list[Any]:
        """A tuple, as a list."""
        return [self.needed(part, names) for part in node.elts]

    def read_dict(self, node: ast.Dict, names: dict[str, Any]) -> dict[Any, Any]:
        """A mapping."""
        if any(key is None for key in node.keys):
            raise Computed(node)
        keys = [self.needed(key, names) for key in node.keys if key is not None]
        return dict(zip(keys, (self.lazy(value, names) for value in node.values), strict=True))

    def read_subscript(self, node: ast.Subscript, names: dict[str, Any]) -> Any:
        """A part of a list, text or mapping."""
        whole = self.needed(node.value, names)
        if isinstance(node.slice, ast.Slice):
            ends = [
                None if end is None else self.needed(end, names)
                for end in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return whole[slice(*ends)]
        if not isinstance(whole, str | list | dict):
            raise Computed(node)
        return whole[self.needed(node.slice, names)]

    def read_joinedstr(self, node: ast.JoinedStr, names: dict[str, Any]) -> str:
        """A text with values in it."""
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif (
                isinstance(part, ast.FormattedValue)
                and not part.format_spec
                and part.conversion < 0
            ):
                parts.append(write_plain(self.needed(part.value, names), node))
            else:
                raise Computed(node)
        return "".join(parts)

    def read_binop(self, node: ast.BinOp, names: dict[str, Any]) -> Any:
        """A sum of texts, lists or numbers, or a difference of numbers."""
        left, right = self.needed(node.left, names), self.needed(node.right, names)
        is_number = all(isinstance(side, int | float) for side in (left, right))
        is_joined = isinstance(left, str | list) and type(left) is type(right)
        if isinstance(node.op, ast.Add) and (is_joined or is_number):
            return left + right
        if isinstance(node.op, ast.Sub) and is_number:
            return left - right
        raise Computed(node)

    def read_unaryop(self, node: ast.UnaryOp, names: dict[str, Any]) -> Any:
        """A negative number, or a negation."""
        value = self.needed(node.operand, names)
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return -value
        raise Computed(node)

    def read_boolop(self, node: ast.BoolOp, names: dict[str, Any]) -> Any:
        """The first value that decides."""
        value: Any = None
        for part in node.values:
            value = self.needed(part, names)
            if bool(value) != isinstance(node.op, ast.And):
                return value
        return value

    def read_compare(self, node: ast.Compare, names: dict[str, Any]) -> bool:
        """A comparison of plain values."""
        left = self.needed(node.left, names)
        for operator, side in zip(node.ops, node.comparators, strict=True):
            right = self.needed(side, names)
            if (
                type(operator) not in COMPARISONS
                or isinstance(left, Call)
                or isinstance(right, Call)
            ):
                raise Computed(node)
            if not COMPARISONS[type(operator)](left, right):
                return False
            left = right
        return True

    def read_ifexp(self, node: ast.IfExp, names: dict[str, Any]) -> Any:
        """One of two values."""
        return self.value(node.body if self.needed(node.test, names) else node.orelse, names)

    def read_listcomp(
        self, node: ast.ListComp | ast.GeneratorExp, names: dict[str, Any]
    ) -> list[Any]:
        """A list made of another."""
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise Computed(node)
        part = node.generators[0]
        made = []
        for each in self.iterate(part.iter, names):
            inner = {**names, **bind(part.target, each, node)}
            if all(self.needed(test, inner) for test in part.ifs):
                made.append(self.needed(node.elt, inner))
        return made

    read_generatorexp = read_listcomp

    def iterate(self, node: ast.expr, names: dict[str, Any]) -> list[Any]:
        """The items of a list."""
        items = self.needed(node, names)
        if isinstance(items, dict):
            return list(items)
        if not isinstance(items, list | str):
            raise Computed(node)
        return list(items)

    def read_lambda(self, node: ast.Lambda, names: dict[str, Any]) -> Function:
        """A function without a name."""
        return Function(node, names)

    def read_attribute(self, node: ast.Attribute, names: dict[str, Any]) -> Any:
        """No attribute is read, except as the name of a method that is called."""
        raise Computed(node)

    def read_call(self, node: ast.Call, names: dict[str, Any]) -> Any:
        """A call: of a method of a plain value, of a known function, of a function of the module, or as it is written."""
        if any(isinstance(part, ast.Starred) for part in node.args) or any(
            part.arg is None for part in node.keywords
        ):
            raise Computed(node)
        function = node.func
        if isinstance(function, ast.Attribute):
            return self.call_method(node, function, names)
        if not isinstance(function, ast.Name):
            raise Computed(node)
        kwargs = {str(part.arg): self.lazy(part.value, names) for part in node.keywords}
        args = tuple(self.lazy(part, names) for part in node.args)
        own = names.get(function.id)
        if isinstance(own, Function):
            return self.call_function(own, args, kwargs, node)
        if function.id in self.functions and function.id not in names:
            return self.call_function(Function(self.functions[function.id], {}), args, kwargs, node)
        if function.id in FUNCTIONS and function.id not in names:
            for part in (*args, *kwargs.values()):
                if isinstance(part, Unknown):
                    raise part.computed
                if isinstance(part, Call):
                    raise Computed(node)
            result = FUNCTIONS[function.id](*args, **kwargs)
            return list(result) if isinstance(result, tuple) else to_plain(result)
        return Call(function.id, args, kwargs, node)

    def call_method(self, node: ast.Call, function: ast.Attribute, names: dict[str, Any]) -> Any:
        """A method of a text, list or mapping; of a module, the call as it is written."""
        if isinstance(function.value, ast.Name) and function.value.id not in names:
            known = {*self.functions, *self.assigned}
            if function.value.id not in known:
                args = tuple(self.lazy(part, names) for part in node.args)
                kwargs = {str(part.arg): self.lazy(part.value, names) for part in node.keywords}
                return Call(function.attr, args, kwargs, node)
        owner = self.needed(function.value, names)
        args = tuple(self.needed(part, names) for part in node.args)
        kwargs = {str(part.arg): self.needed(part.value, names) for part in node.keywords}
        if isinstance(owner, Call):
            raise Computed(node)
        if isinstance(owner, str) and function.attr == "format":
            return fill_format(owner, args, kwargs, node)
        if isinstance(owner, str) and function.attr == "replace" and len(args) == 2 and not kwargs:
            if owner.count(str(args[0])) * len(str(args[1])) > MAX_TEXT:
                raise ReadFault("computes a text that is too long", "simplify the code")
            return owner.replace(*args)
        known_methods = (
            TEXT_METHODS
            if isinstance(owner, str)
            else LIST_METHODS
            if isinstance(owner, list)
            else MAPPING_METHODS
            if isinstance(owner, dict)
            else frozenset[str]()
        )
        if function.attr not in known_methods:
            raise Computed(node)
        return to_plain(getattr(owner, function.attr)(*args, **kwargs))

    def call_function(
        self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.AST
    ) -> Any:
        """What a function of the file returns."""
        if self.depth >= MAX_CALLS:
            raise Computed(node, "calls functions too deeply")
        self.depth += 1
        try:
            own = function.node
            names = {**function.names, **self.bind_arguments(own, args, kwargs, node)}
            if isinstance(own, ast.Lambda):
                return self.value(own.body, names)
            return self.run(own.body, names)[1]
        finally:
            self.depth -= 1

    def bind_arguments(
        self,
        function: ast.FunctionDef | ast.Lambda,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        node: ast.AST,
    ) -> dict[str, Any]:
        """The names of a function's arguments with their values, or their defaults."""
        own = function.args
        if own.vararg or own.kwarg:
            raise Computed(node)
        places = [*own.posonlyargs, *own.args]
        names: dict[str, Any] = {}
        for place, default in zip(
            places[len(places) - len(own.defaults) :], own.defaults, strict=True
        ):
            names[place.arg] = self.lazy(default, {})
        for place, value in zip(own.kwonlyargs, own.kw_defaults, strict=True):
            if value is not None:
                names[place.arg] = self.lazy(value, {})
        names |= dict(zip((place.arg for place in places), args, strict=False))
        names |= kwargs
        for place in (*places, *own.kwonlyargs):
            names.setdefault(place.arg, Unknown(Computed(place.arg, "has no value")))
        return names

    def run(self, body: list[ast.stmt], names: dict[str, Any]) -> tuple[bool, Any]:
        """Follow statements up to `return`: whether there was one, and its value."""
        for statement in body:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise ReadFault("takes too many operations to read", "simplify the code")
            if isinstance(statement, ast.Return):
                return True, self.value(statement.value, names) if statement.value else None
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                if statement.value is not None:
                    value = self.lazy(statement.value, names)
                    for target in targets:
                        self.assign(target, value, names, statement)
            elif isinstance(statement, ast.If):
                branch = statement.body if self.needed(statement.test, names) else statement.orelse
                done, value = self.run(branch, names)
                if done:
                    return True, value
            elif isinstance(statement, ast.FunctionDef):
                names[statement.name] = Function(statement, dict(names))
            elif isinstance(statement, ast.Expr) and is_harmless(statement.value, names):
                continue
            elif isinstance(statement, ast.Expr | ast.AugAssign):
                # `values.append(x)` changes a value in place
                for part in ast.walk(statement):
                    if isinstance(part, ast.Name) and part.id in names:
                        names[part.id] = Unknown(Computed(statement))
            elif not isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom | ast.Assert):
                raise Computed(statement)
        return False, None

    def assign(
        self, target: ast.expr, value: Any, names: dict[str, Any], statement: ast.stmt
    ) -> None:
        """Give a name a value; what is changed inside becomes unknown."""
        if isinstance(value, Unknown) or isinstance(target, ast.Name):
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    names[part.id] = value
        elif isinstance(target, ast.Tuple):
            names |= bind(target, value, statement)
        else:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and part.id in names:
                    names[part.id] = Unknown(Computed(statement))


def is_harmless(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a statement changes no value: a docstring, a message, or another order of the items."""
    if isinstance(node, ast.Constant):
        return True
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Name):
        return function.id == "print"
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    is_order = function.attr in ("shuffle", "shuffle_choices")
    return is_order or function.value.id in ("logger", "logging", "log")


def bind(target: ast.expr, value: Any, node: ast.AST) -> dict[str, Any]:
    """The names of a target with their values."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple) and isinstance(value, list) and len(target.elts) == len(value):
        return {
            name: part
            for each, own in zip(target.elts, value, strict=True)
            for name, part in bind(each, own, node).items()
        }
    raise Computed(node)


def to_plain(value: Any) -> Any:
    """Views and tuples as lists."""
    if isinstance(value, tuple) or type(value).__name__.startswith("dict_"):
        return [to_plain(part) for part in value]
    if isinstance(value, list):
        return [to_plain(part) if isinstance(part, tuple) else part for part in value]
    return value


def write_plain(value: Any, node: ast.AST) -> str:
    """A plain value as Python writes it in a text."""
    if isinstance(value, Call | Unknown | Function):
        raise Computed(node)
    return str(value)


def fill_format(text: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.AST) -> str:
    """`text.format(…)` with plain fields: a format, an attribute or an index in a field is refused."""
    parts = []
    count = 0
    for plain, name, form, conversion in Formatter().parse(text):
        parts.append(plain)
        if name is None:
            continue
        if form or conversion:
            raise Computed(node)
        if name == "" or name.isdecimal():
            place = int(name) if name else count
            count += 1
            parts.append(write_plain(args[place], node))
        elif name.isidentifier():
            parts.append(write_plain(kwargs[name], node))
        else:
            raise Computed(node)
    return "".join(parts)
