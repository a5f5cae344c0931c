"""`python -m bench` runs what it is asked for, whatever one comparison does."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # bench lies beside the package, not in it

from bench import __main__ as all_of_them
from bench import encoder_cpu, generate, growth
from nikawa.generation.pack import open_pack


def test_one_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise IndexError("nothing here")

    def refuse() -> None:
        raise SystemExit(2)

    seen: list[list[str]] = []
    mains = {
        "bench.generate": fail,
        "bench.memory": refuse,
        "bench.readers": lambda: seen.append(sys.argv[1:]),
    }
    monkeypatch.setattr(
        all_of_them, "import_module", lambda name: SimpleNamespace(main=mains[name])
    )
    monkeypatch.setattr(sys, "argv", ["bench", "generate", "memory", "lm", "readers"])
    assert all_of_them.main() == 1
    printed = capsys.readouterr()
    assert seen == [[]]  # the names are no arguments of the last one
    assert "python -m bench.lm --data" in printed.out
    assert "IndexError: nothing here" in printed.err
    assert printed.err.endswith("failed: generate, memory\n")


def test_an_unknown_name_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        all_of_them.main(["generat"])
    assert stopped.value.code == 2
    assert "generate" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "named"), [(["nothing"], "score"), (["--sizes", "few"], "few")])
def test_growth_names_what_it_does_not_know(
    words: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["growth", *words])
    with pytest.raises(SystemExit) as stopped:
        growth.main()
    assert stopped.value.code == 2
    assert named in capsys.readouterr().err.splitlines()[-1]


def test_the_template_of_the_plain_program_is_in_its_pack() -> None:
    cells = generate.plan_template(open_pack(generate.PLAIN_PACK))
    assert [planned.cell.label for planned in cells] == [
        name.rsplit("/", 1)[1] for name in generate.CELLS
    ]


def test_without_published_data_there_are_rows_for_several_batches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NIKAWA_DATA", str(tmp_path))
    task, rows = encoder_cpu.examples(None)
    assert task.name == "mini-ja-nli"
    assert len(rows) > 10 * encoder_cpu.BATCH
