"""The Jinja templates of other tools: rendered in a sandbox, and analysed for the columns and choices that they use.

The environment is that of the tools: undefined columns are errors, a newline at the end stays, and their own filters exist
(`regex_replace` of lm-eval and flexeval, `truncate_middle` and `literal_eval` of flexeval). The sandbox refuses attributes that
reach into Python. It does not limit time and memory: `child.py` does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from string import ascii_uppercase
from typing import Any

import jinja2
from jinja2 import meta, nodes, sandbox

from nikawa.exchange.reading.definition import ReadFault

MAX_RENDERED = 1 << 20
"""Characters that a template may give for one row."""
MARKER = re.compile(r"(?:^|\n)[ \t]*[(（]?([A-Z])[)）.．:：][ \t]*$")
"""The letter of a choice at the end of a plain text, before the choice itself."""


def replace_pattern(text: str, pattern: str, replace: str, count: int = 0) -> str:
    """The filter `regex_replace` of lm-eval and flexeval."""
    return re.sub(pattern, replace, text, count=count)


def truncate_middle(text: str, length: int, filler: str = "...") -> str:
    """The filter `truncate_middle` of flexeval."""
    if len(text) + len(filler) <= length:
        return text
    kept = length - len(filler)
    return text[: kept // 2] + filler + text[len(text) - (kept + 1) // 2 :]


def evaluate_literal(value: Any) -> Any:
    """The filter `literal_eval` of flexeval."""
    return ast.literal_eval(value) if isinstance(value, str) else value


@cache
def make_environment() -> sandbox.ImmutableSandboxedEnvironment:
    """The environment of all templates."""
    environment = sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are texts, not pages
        keep_trailing_newline=True,
    )
    environment.filters["regex_replace"] = replace_pattern
    environment.filters["truncate_middle"] = truncate_middle
    environment.filters["literal_eval"] = evaluate_literal
    return environment


Renderer = Callable[[Mapping[str, Any]], str]


def parse(source: str, part: str) -> nodes.Template:
    """The tree of a template; raises `ReadFault` if it has a fault."""
    try:
        return make_environment().parse(source)
    except jinja2.TemplateError as problem:
        line = getattr(problem, "lineno", None)
        where = f" (line {line} of the template)" if line and line > 1 else ""
        raise ReadFault(
            f"the template {part} is not valid{where}: {problem}", "correct it"
        ) from None
    except RecursionError:
        raise ReadFault(f"the template {part} is nested too deeply", "simplify it") from None


def compile_template(tree: nodes.Template, part: str) -> Renderer:
    """A function that renders a template for a row; it raises `ReadFault` with the fault of the row."""
    environment = make_environment()
    try:
        code = environment.compile(tree)
    except jinja2.TemplateError as problem:
        raise ReadFault(f"the template {part} is not valid: {problem}", "correct it") from None
    except (RecursionError, SyntaxError):
        raise ReadFault(f"the template {part} is nested too deeply", "simplify it") from None
    template = jinja2.Template.from_code(environment, code, environment.globals.copy())

    def render(row: Mapping[str, Any]) -> str:
        parts: list[str] = []
        size = 0
        try:
            for text in template.generate(row):
                size += len(text)
                parts.append(text)
                if size > MAX_RENDERED:
                    break
        except jinja2.UndefinedError as problem:
            cure = "correct the template, or pass data with all its columns"
            raise ReadFault(f"the template {part} does not fit the row: {problem}", cure) from None
        except jinja2.exceptions.SecurityError as problem:
            what = f"the template {part} is refused: {problem}"
            raise ReadFault(what, "write it without this attribute") from None
        except MemoryError:
            raise
        except Exception as problem:  # whatever a template does to a value
            name = type(problem).__name__
            what = f"the template {part} does not fit the row: {name}: {problem}"
            raise ReadFault(what, "correct the template or the row") from None
        if size > MAX_RENDERED:
            what = f"the template {part} gives more than {MAX_RENDERED:,} characters"
            raise ReadFault(what, "correct the template or the row")
        return "".join(parts)

    return render


def find_columns(tree: nodes.Template) -> tuple[str, ...]:
    """The columns that a template uses, in their order."""
    names = meta.find_undeclared_variables(tree)
    order = [node.name for node in tree.find_all(nodes.Name) if node.name in names]
    return tuple(dict.fromkeys(order))


def list_pieces(tree: nodes.Template) -> tuple[tuple[str, str], ...]:
    """The template as pairs of plain text and column; nothing if it has other expressions or statements."""
    pieces: list[tuple[str, str]] = []
    text = ""
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            return ()
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                text += part.data
            elif isinstance(part, nodes.Name):
                pieces.append((text, part.name))
                text = ""
            else:
                return ()
    return (*pieces, (text, "")) if pieces else ()


def list_outcomes(tree: nodes.Template) -> tuple[str, ...]:
    """All texts that a template can give, if it lists them: `{{ ["a", "b"][label] }}`, or `{% if %}` with plain texts."""
    body = [
        node
        for node in tree.body
        if not (isinstance(node, nodes.Output) and _plain(node) is not None and not _plain(node))
    ]
    if len(body) != 1:
        return ()
    node = body[0]
    if isinstance(node, nodes.If):
        return _branches(node) or ()
    if isinstance(node, nodes.Output):
        parts = [
            part
            for part in node.nodes
            if not (isinstance(part, nodes.TemplateData) and not part.data.strip())
        ]
        return (_outcomes(parts[0]) or ()) if len(parts) == 1 else ()
    return ()


def _plain(node: nodes.Output) -> str | None:
    parts = [part.data for part in node.nodes if isinstance(part, nodes.TemplateData)]
    return "".join(parts).strip() if len(parts) == len(node.nodes) else None


def _branches(node: nodes.If) -> tuple[str, ...] | None:
    texts: list[str] = []
    for branch in (node.body, *(part.body for part in node.elif_), node.else_):
        if not branch:
            continue
        text = (
            _plain(branch[0]) if len(branch) == 1 and isinstance(branch[0], nodes.Output) else None
        )
        if text is None:
            return None
        texts.append(text)
    return tuple(dict.fromkeys(text for text in texts if text))


def _outcomes(node: nodes.Expr | nodes.Node) -> tuple[str, ...] | None:
    """The values of an expression, if all are written in it."""
    if isinstance(node, nodes.Const):
        return (str(node.value),)
    if isinstance(node, nodes.CondExpr):
        ends = [_outcomes(node.expr1), _outcomes(node.expr2) if node.expr2 else None]
        return None if None in ends else tuple(dict.fromkeys(t for end in ends for t in end or ()))
    if isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.List | nodes.Tuple):
        values = node.node.items
    elif isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Dict):
        values = [pair.value for pair in node.node.items]
    else:
        return None
    if not isinstance(node.arg, nodes.Const) and all(isinstance(v, nodes.Const) for v in values):
        return tuple(dict.fromkeys(str(value.value) for value in values))  # type: ignore[attr-defined]
    return None


class LetteredPrompt:
    """A prompt that lists its choices under letters, in parts: the question, and an expression for each choice.

    >>> prompt = LetteredPrompt.find(parse("問: {{ q.strip() }}\\nA. {{ a }}\\nB. {{ b }}\\n答え:", "prompt"))
    >>> prompt.question({"q": "海は？ "}), [choice({"a": "青い", "b": "赤い"}) for choice in prompt.choices]
    ('海は？', ['青い', '赤い'])
    """

    def __init__(
        self,
        question: Renderer,
        choices: Sequence[Renderer],
        question_columns: tuple[str, ...] = (),
        choices_columns: tuple[str, ...] = (),
    ) -> None:
        self.question, self.choices = question, choices
        self.question_columns, self.choices_columns = question_columns, choices_columns

    @classmethod
    def find(cls, tree: nodes.Template) -> LetteredPrompt | None:
        """The parts of a prompt; None if it has no choices under A, B and so on."""
        parts: list[Any] = []
        for node in tree.body:
            if isinstance(node, nodes.Output):
                parts += node.nodes
            else:
                parts.append(node)
        choices: list[nodes.Expr] = []
        rest: list[Any] = []
        for before, part in zip([None, *parts], parts, strict=False):
            match = MARKER.search(before.data) if isinstance(before, nodes.TemplateData) else None
            is_next = match and match[1] == ascii_uppercase[len(choices) % 26]
            if (
                is_next
                and isinstance(part, nodes.Expr)
                and not isinstance(part, nodes.TemplateData)
            ):
                assert match is not None, "a marker was found"
                choices.append(part)
                rest[-1] = nodes.TemplateData(MARKER.sub("", before.data))
            else:
                rest.append(part)
        expressions = [part for part in rest if not isinstance(part, nodes.TemplateData)]
        if len(choices) < 2 or not expressions:
            return None
        after = max(place for place, part in enumerate(rest) if part is expressions[-1])
        question = expressions if len(expressions) == 1 else rest[: after + 1]
        template = _template(question)
        trees = [_template([choice]) for choice in choices]
        names = dict.fromkeys(name for tree in trees for name in find_columns(tree))
        return cls(
            _strip(compile_template(template, "of the question")),
            [compile_template(tree, "of a choice") for tree in trees],
            find_columns(template),
            tuple(names),
        )


def _strip(render: Renderer) -> Renderer:
    return lambda row: render(row).strip()


def _template(parts: Sequence[Any]) -> nodes.Template:
    body = [
        part if isinstance(part, nodes.Stmt) else nodes.Output([part], lineno=1) for part in parts
    ]
    tree = nodes.Template(body, lineno=1)
    for node in tree.find_all(nodes.Node):
        if node.lineno is None:
            node.lineno = 1
    tree.set_environment(make_environment())
    return tree
