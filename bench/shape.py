"""Figures of the source with their targets, and the same figures of peers: `python -m bench.shape [--json] [--peers] [--ref REV]`.

The definitions are those of the summary that developers see before they stop. Tokens are counted as Python 3.11 does,
with an f-string as one, so that newer versions give the same figures.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parents[1]
PEERS = {
    "httpx": "httpx",
    "crowd-kit": "crowdkit",
    "flexeval": "flexeval",
    "inspect_ai": "inspect_ai",
}
"""The name of each peer on the package index, and of its package."""
VAGUE = frozenset({"found", "told", "asked", "said", "heard"})
LAYOUT = frozenset({"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"})
"""Tokens that are not counted."""


@dataclass(frozen=True)
class Import:
    """One name that a module imports, and how."""

    targets: tuple[str, ...]
    """The modules it may mean, best first."""
    inside_function: bool
    for_types: bool
    """Whether it is inside `if TYPE_CHECKING:`."""


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    is_package: bool
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def token_lines(self) -> list[int]:
        """The line on which each counted token begins."""
        return list(_token_lines(self.text))

    @cached_property
    def imports(self) -> list[Import]:
        return list(_imports(self, self.tree.body))


Source = Sequence[Module]


def read_source(package: Path) -> list[Module]:
    """All modules of a package; a file that does not parse is left out and named on stderr."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            print(f"{path}: skipped, it does not parse ({error.msg})", file=sys.stderr)
            continue
        modules.append(
            Module(".".join(parts[:-1] if is_package else parts), is_package, text, tree)
        )
    return modules


def _token_lines(text: str) -> Iterator[int]:
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        depth -= kind in ("FSTRING_END", "TSTRING_END")
        if not depth and kind not in LAYOUT and kind not in ("FSTRING_END", "TSTRING_END"):
            yield token.start[0]
        depth += kind in ("FSTRING_START", "TSTRING_START")


def _imports(
    module: Module,
    statements: Sequence[ast.AST],
    inside_function: bool = False,
    for_types: bool = False,
) -> Iterator[Import]:
    for node in statements:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import((alias.name,), inside_function, for_types)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node)
            for alias in node.names:
                yield Import((f"{base}.{alias.name}", base), inside_function, for_types)
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            yield from _imports(module, node.body, inside_function, for_types=True)
            yield from _imports(module, node.orelse, inside_function, for_types)
        else:
            within = inside_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(module, list(ast.iter_child_nodes(node)), within, for_types)


def _base(module: Module, node: ast.ImportFrom) -> str:
    """The full name of what follows `from`."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    above = node.level - module.is_package
    return ".".join(parts[: len(parts) - above] + ([node.module] if node.module else []))


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def importers(
    source: Source, counts: Callable[[Import], bool] = lambda _: True
) -> dict[str, set[str]]:
    """The modules that import each module of the source, by the imports that count."""
    names = {module.name for module in source}
    result = defaultdict[str, set[str]](set)
    for module in source:
        for imported in filter(counts, module.imports):
            target = next((name for name in imported.targets if name in names), None)
            if target is not None:
                result[target].add(module.name)
    return dict(result)


def cycles(source: Source, top_level_only: bool = False) -> list[list[str]]:
    """Groups of two or more modules that reach each other by imports, those for types apart."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = importers(
        source, lambda i: not i.for_types and not (top_level_only and i.inside_function)
    )
    names = [module.name for module in source]
    place = {name: i for i, name in enumerate(names)}
    edges = [(place[importer], place[name]) for name, them in graph.items() for importer in them]
    if not edges:
        return []
    rows, columns = zip(*edges, strict=True)
    matrix = coo_array(([1] * len(edges), (rows, columns)), shape=(len(names), len(names)))
    labels = connected_components(matrix.tocsr(), connection="strong")[1]
    groups = defaultdict[int, list[str]](list)
    for name, label in zip(names, labels, strict=True):
        groups[int(label)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def private_used_once(source: Source) -> float:
    """The share of module-level functions that are private and used exactly once in their file, not counting `def`."""
    functions = once = 0
    for module in source:
        uses = Counter(n.id for n in module.nodes if isinstance(n, ast.Name))
        uses.update(n.attr for n in module.nodes if isinstance(n, ast.Attribute))
        names = [
            n.name
            for n in module.tree.body
            if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        functions += len(names)
        once += sum(name.startswith("_") and uses[name] == 1 for name in names)
    return once / max(1, functions)


def one_importer(source: Source) -> float:
    """The share of files that are no `__init__.py` and have exactly one importer, for types or not."""
    by_module = importers(source)
    one = sum(
        not module.is_package and len(by_module.get(module.name, ())) == 1 for module in source
    )
    return one / max(1, len(source))


def tokens(source: Source) -> int:
    return sum(len(module.token_lines) for module in source)


def tokens_per_line(source: Source) -> float:
    """Tokens over lines on which at least one begins."""
    return tokens(source) / max(1, sum(len(set(module.token_lines)) for module in source))


def docstring_share(source: Source) -> float:
    """Lines of docstrings over all lines, blank ones counted in neither."""
    inside = total = 0
    for module in source:
        full = {i for i, line in enumerate(module.text.split("\n"), 1) if line.strip()}
        total += len(full)
        inside += len(full.intersection(_docstring_lines(module)))
    return inside / max(1, total)


def _docstring_lines(module: Module) -> Iterator[int]:
    for node in module.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            strings = node.body[:1]
            if isinstance(node, ast.ClassDef):
                pairs = zip(node.body, node.body[1:], strict=False)
                strings += [after for before, after in pairs if isinstance(before, ast.AnnAssign)]
            for string in filter(_is_string, strings):
                yield from range(string.lineno, (string.end_lineno or string.lineno) + 1)


def _is_string(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def vague_variables(source: Source) -> int:
    nodes = (node for module in source for node in module.nodes)
    return sum(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in VAGUE for n in nodes
    )


def maintainability(source: Source) -> float:
    """The mean index of files, 0 to 100, by radon."""
    from radon.metrics import mi_visit  # type: ignore[import-untyped]

    return fmean(mi_visit(module.text, multi=True) for module in source)


def complexity(source: Source) -> float:
    """Mean cyclomatic complexity of functions, methods and classes, as `radon cc --average` gives it."""
    from radon.complexity import cc_visit_ast  # type: ignore[import-untyped]

    blocks = [block.complexity for module in source for block in cc_visit_ast(module.tree)]
    return fmean(blocks) if blocks else 0.0


@dataclass(frozen=True)
class Row:
    """One figure of the table."""

    key: str
    label: str
    measure: Callable[[Source], float]
    form: str
    """How it is printed, in the words of `format`."""
    aim: tuple[str, float] | None = None
    """`≤` or `≥`, and a bound."""


ROWS = (
    Row(
        "private_used_once",
        "functions private and used once",
        private_used_once,
        ".1%",
        ("≤", 0.20),
    ),
    Row("one_importer", "modules with exactly one importer", one_importer, ".1%", ("≤", 0.15)),
    Row("tokens_per_line", "tokens per code line", tokens_per_line, ".2f", ("≤", 8)),
    Row("tokens", "tokens", tokens, ",", ("≤", 620_000)),
    Row("docstring_share", "docstring share", docstring_share, ".1%", ("≥", 0.12)),
    Row(
        "fmt_skip", "fmt: skip", lambda s: sum(m.text.count("fmt: skip") for m in s), ",", ("≤", 20)
    ),
    Row("cycles", "import cycles", lambda s: len(cycles(s)), ",", ("≤", 0)),
    Row(
        "cycles_top", "import cycles, top level only", lambda s: len(cycles(s, True)), ",", ("≤", 0)
    ),
    Row("vague_variables", "vaguely named variables", vague_variables, ","),
    Row("in_cycles", "modules in import cycles", lambda s: sum(map(len, cycles(s))), ","),
    Row("files", "files", len, ","),
    Row("lines", "lines", lambda s: sum(m.text.count("\n") for m in s), ","),
    Row("maintainability", "mean maintainability index", maintainability, ".1f"),
    Row("complexity", "mean cyclomatic complexity", complexity, ".2f"),
)


def figures(package: Path) -> dict[str, float]:
    """All figures of a package, by the key of their row."""
    source = read_source(package)
    return {row.key: row.measure(source) for row in ROWS}


def at_revision(revision: str, folder: Path) -> Path:
    """The package at a git revision, unpacked into a folder."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, "src"]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src" / "nikawa"


def downloaded(name: str, folder: Path) -> Path:
    """The package of a peer, from its newest wheel or source archive."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        name,
    ]
    subprocess.run(command, check=True, capture_output=True)
    archive = next(folder.iterdir())
    content = folder / "content"
    if archive.suffix in (".whl", ".zip"):
        shutil.unpack_archive(archive, content, "zip")
    else:
        shutil.unpack_archive(archive, content, filter="data")
    starts = content.rglob(f"{PEERS[name]}/__init__.py")
    return min(starts, key=lambda path: len(path.parts)).parent


def columns(revision: str | None, peers: bool) -> dict[str, dict[str, float]]:
    """The figures of each package by its name; a peer that cannot be downloaded is skipped and named on stderr."""
    with ExitStack() as stack:

        def folder() -> Path:
            return Path(stack.enter_context(tempfile.TemporaryDirectory()))

        if revision is None:
            table = {"src/nikawa": figures(ROOT / "src" / "nikawa")}
        else:
            table = {f"nikawa@{revision}": figures(at_revision(revision, folder()))}
        for name in PEERS if peers else ():
            try:
                table[name] = figures(downloaded(name, folder()))
            except subprocess.CalledProcessError as error:
                print(
                    f"{name}: skipped, pip cannot download it\n{error.stderr.decode()}",
                    file=sys.stderr,
                )
        return table


def print_table(table: dict[str, dict[str, float]]) -> None:
    first = max(len(row.label) for row in ROWS)
    widths = {name: max(10, len(name)) for name in table}
    print(" " * first, *(f"{name:>{width}}" for name, width in widths.items()), "  aim")
    for row in ROWS:
        cells = [
            f"{table[name][row.key]:{row.form}}".rjust(width) for name, width in widths.items()
        ]
        print(row.label.ljust(first), *cells, f"  {_aim(row)}")


def _aim(row: Row) -> str:
    if row.aim is None:
        return "none"
    sign, bound = row.aim
    return f"{sign} {bound:.0%}" if row.form.endswith("%") else f"{sign} {bound:,}"


def main(words: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.shape", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--json", action="store_true", help="figures and aims as JSON")
    parser.add_argument("--peers", action="store_true", help="also download and measure peers")
    parser.add_argument(
        "--ref", metavar="REV", help="measure src at this git revision instead of the working tree"
    )
    given = parser.parse_args(words)
    try:
        table = columns(given.ref, given.peers)
    except subprocess.CalledProcessError as error:
        parser.error(f"git has no src at {given.ref}: {error.stderr.decode().strip()}")
    if given.json:
        aims = {row.key: _aim(row) for row in ROWS if row.aim}
        print(json.dumps({"figures": table, "aims": aims}, indent=2, ensure_ascii=False))
    else:
        print_table(table)


if __name__ == "__main__":
    main(sys.argv[1:])
