"""The notebooks of examples/: stored without outputs, run by a real kernel, and true to what their text says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nikawa as nk

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
SECONDS = 120
"""For one cell, on a machine that is busy with other tests."""

pytestmark = [
    pytest.mark.slow,
    # jupyter_client and zmq warn about their own event loop and sockets
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def read_notebook(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def list_sources(notebook: Any, kind: str) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


ONE_CORE = "import os\n\nos.sched_getaffinity = lambda _: {0}"
"""A cell before the others: jobs that take all cores start no processes of their own beside the other tests."""


def run_in(folder: Path, notebook: Any) -> None:
    resources = {"metadata": {"path": str(folder)}}
    notebook.cells.insert(0, nbformat.v4.new_code_cell(ONE_CORE))
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    del notebook.cells[0]


class Outputs:
    """The outputs of a notebook, by a part of the source of their cell."""

    def __init__(self, notebook: Any) -> None:
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]

    def find(self, source: str, kind: str = "text/plain") -> str:
        [cell] = [cell for cell in self.cells if cell.source.endswith(source)]
        parts = [
            output.text if output.output_type == "stream" else output.data.get(kind, "")
            for output in cell.outputs
        ]
        return "\n".join(parts)


def run_example(name: str, folder: Path) -> Outputs:
    notebook = read_notebook(EXAMPLES / f"{name}.ipynb")
    run_in(folder, notebook)
    return Outputs(notebook)


def test_there_are_four() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "1-score-and-compare",
        "2-judgements-to-gold",
        "3-probe-a-model",
        "4-build-a-dataset",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_clean(path: Path) -> None:
    notebook = read_notebook(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_uses_public_names_alone(path: Path) -> None:
    for source in list_sources(read_notebook(path), "code"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names]
                module = getattr(node, "module", None) or names[0]
                assert (
                    module.split(".")[0] != "nikawa" or ast.unparse(node) == "import nikawa as nk"
                )
            if isinstance(node, ast.Attribute):
                assert not node.attr.startswith("_")
                if isinstance(node.value, ast.Name) and node.value.id == "nk":
                    assert node.attr in nk.__all__


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_ends_with_links_that_lead_somewhere(path: Path) -> None:
    texts = list_sources(read_notebook(path), "markdown")
    assert "## Where to go next" in texts[-1]
    for target in re.findall(r"\]\(([^)#\s]+)", "\n".join(texts)):
        assert (path.parent / target).is_file(), target


def test_scores_and_the_comparison_are_as_described(tmp_path: Path) -> None:
    outputs = run_example("1-score-and-compare", tmp_path)
    assert "ScoreResult" in outputs.find("nk.score(problems, words)", "text/html")
    assert re.search(
        r"^accuracy +official +0 .*gold=contradiction$", outputs.find("by_label"), re.M
    )
    assert "pass partial=True" in outputs.find("print(problem)")
    assert "missing 8" in outputs.find("partial=True)")
    shown = outputs.find("comparison", "text/html")
    assert shown.count("<svg") >= 1
    [row] = re.findall(
        r"^temporal-ko +accuracy +words +negation +(.*)$", outputs.find("comparison"), re.M
    )
    difference, low, _high, p_holm, *_ = map(float, row.split()[:4])
    assert difference > low > 0
    assert p_holm < 0.05


def test_the_careless_worker_is_found(tmp_path: Path) -> None:
    outputs = run_example("2-judgements-to-gold", tmp_path)
    skills = outputs.find("model.skills_.sort_values()").split("\n")
    assert re.match(r"eun +0\.50", skills[1])
    printed = outputs.find('without eun: {after:.2f}")')
    before, after = map(float, re.findall(r"0\.\d\d", printed))
    assert after > before + 0.3
    assert "<svg" in outputs.find("nk.agree(judgements)", "text/html")
    assert re.search(r"ties:drop 1\b", outputs.find("majority"))
    rules = outputs.find('columns=["rule", "items with gold", "right"],\n)')
    assert re.search(r"majority without eun +19 +19$", rules, re.M)
    assert re.search(r"dawid-skene +20 +20$", rules, re.M)
    assert outputs.find("dataset").startswith("Dataset: reviews 0 (ja), 20 examples")


def test_the_model_fails_where_the_text_says(tmp_path: Path) -> None:
    outputs = run_example("3-probe-a-model", tmp_path)
    cells = re.findall(r"^temporal-ja +(\w+) +test +accuracy +([\d.]+)", outputs.find("runs"), re.M)
    scores = {model: float(value) for model, value in cells}
    assert scores["majority"] + 20 < scores["baseline"] < 90
    worst = outputs.find(".head(5)").split("\n")[1].split()
    _, _, n, value, rest, p_holm = worst
    assert int(n) >= 10
    assert float(value) < float(rest) - 20
    assert 0 <= float(p_holm) <= 1
    assert "狐を狸が追った。" in outputs.find("rewritten.splits}\n)")
    same = dict(re.findall(r"^(\w+)-o +([\d.]+)$", outputs.find(".to_frame()"), re.M))
    assert abs(float(same["scramble"]) - float(same["swap"])) <= 50


def test_the_dataset_goes_from_text_to_a_report(tmp_path: Path) -> None:
    outputs = run_example("4-build-a-dataset", tmp_path)
    steps = outputs.find('"removed"]]')
    assert all(step in steps for step in ("email", "length", "duplicates"))
    assert outputs.find("pairs").startswith("Dataset: pairs 0 (ja), 40 examples")
    assert outputs.find("dataset").startswith("Dataset: scenes 0 (ja), 40 examples")
    assert re.search(r"^Negation +[1-9]", outputs.find("tagged.report"), re.M)
    assert re.search(r"^test +20 ", outputs.find("scenes"), re.M)
    assert "<svg" in outputs.find("runs", "text/html")
    assert outputs.find("iterdir())") == "['card.json', 'test.jsonl', 'train.jsonl']"
    assert "work/scenes/report/index.html" in outputs.find("overwrite=True)")
    again = run_example("4-build-a-dataset", tmp_path)  # its files are there now
    assert "skipped 2" in again.find("runs")


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    try:
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def complete(kernel: Any, code: str) -> set[str]:
    reply = kernel.complete(code, reply=True, timeout=SECONDS)["content"]
    assert reply["status"] == "ok"
    prefix = code[reply["cursor_start"] :]
    dot = prefix.rfind(".") + 1
    return {match[dot:] if dot else match.lstrip(".") for match in reply["matches"]}


def test_completion_lists_exactly_the_public_names(kernel: Any) -> None:
    kernel.execute_interactive("import nikawa as nk", timeout=SECONDS)
    names = {name for name in complete(kernel, "nk.") if not name.startswith("__")}
    assert names == set(nk.__all__)
    for module in ("agreement", "aggregation"):
        found = {name for name in complete(kernel, f"nk.{module}.") if not name.startswith("__")}
        assert found == set(getattr(nk, module).__all__)


def test_completion_stays_so_after_functions_were_used(kernel: Any) -> None:
    code = "import nikawa as nk; ds = nk.load('mini-ja'); nk.score('mini-ja-nli', {}, partial=True)"
    kernel.execute_interactive(code, timeout=SECONDS, allow_stdin=False)
    assert {n for n in complete(kernel, "nk.") if not n.startswith("__")} == set(nk.__all__)
    assert {"filter", "save", "splits", "to_pandas"} <= complete(kernel, "ds.")


def test_completion_knows_the_arguments_of_a_function(kernel: Any) -> None:
    kernel.execute_interactive("import nikawa as nk", timeout=SECONDS)
    assert {"by=", "partial=", "split="} <= complete(kernel, "nk.score('mini-ja-nli', {}, ")
