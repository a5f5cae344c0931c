"""The study of the memory probes: its statistics by hand, and that `--tiny` runs to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from studies.memory import TINY, Plan, binomial_interval, calibrate, kolmogorov_p, main


def test_there_are_enough_clean_tests_and_every_item_is_used_once() -> None:
    plan = Plan()
    assert plan.models * plan.clean >= 200
    assert plan.sets == plan.seeds * plan.planted + plan.models * plan.clean


def test_uniform_p_values_pass_and_small_ones_do_not() -> None:
    even = [number / 100 for number in range(1, 101)] * 2
    good = calibrate(even, 100)
    assert good["ks"] == pytest.approx(0)
    assert good["under"] == 0.05
    assert good["inside"]
    bad = calibrate([p / 2 for p in even], 200)
    assert bad["ks"] == pytest.approx(0.5)
    assert bad["ks_p"] < 1e-6
    assert not bad["inside"]


def test_the_binomial_interval_and_the_limit_distribution_by_known_values() -> None:
    assert binomial_interval(200, 0.05) == (4, 16)
    # the 5% point of Kolmogorov's distribution is 1.358
    assert kolmogorov_p(1.358 / 20, 400) == pytest.approx(0.05, abs=0.003)


@pytest.mark.slow
def test_the_tiny_study_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--tiny", "--out", str(tmp_path), "--device", "cpu"])
    assert "clean tests" in capsys.readouterr().out
    written = json.loads((tmp_path / "memory.json").read_bytes())
    assert len(written["results"]) == TINY.models * (TINY.planted + TINY.clean)
