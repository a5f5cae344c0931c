"""Telling systems apart: what is certain, what is a tie, and what counts as a seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nikawa.errors import BadInput
from nikawa.metrics.base import Weighted
from nikawa.scoring.compare import compare
from nikawa.scoring.score import ScoreOptions, score
from nikawa.stats.paired import compare_pair, tie_groups

N = 240
LABELS = ("entailment", "contradiction", "neutral")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An invented JNLI of 240 pairs."""
    folder = tmp_path / "data" / "jglue" / "datasets" / "jnli-v1.3"
    folder.mkdir(parents=True)
    rows = [
        {
            "sentence_pair_id": str(i),
            "yjcaptions_id": f"{1000 + i}-{2 * i}-{2 * i + 1}",
            "sentence1": f"棚に皿が{i}枚ある。",
            "sentence2": f"皿は{i % 7}枚より多い。",
            "label": LABELS[i % 3],
        }
        for i in range(N)
    ]
    (folder / "valid-v1.3.json").write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8"
    )
    return tmp_path / "data"


def answers(path: Path, right: float, seed: int) -> Path:
    """A system that is right with the given probability."""
    generator = np.random.default_rng(seed)
    lines = []
    for i in range(N):
        hit = generator.random() < right
        lines.append(json.dumps({"id": str(i), "answer": LABELS[(i + (0 if hit else 1)) % 3]}))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_clear_difference_is_found(tmp_path: Path, data: Path) -> None:
    systems = {
        "weak": [answers(tmp_path / "a.jsonl", 0.5, 1)],
        "strong": [answers(tmp_path / "b.jsonl", 0.9, 2)],
    }
    found = compare(["jnli"], systems, data=data, rounds=2000)
    (pair,) = found.pairs
    assert pair.difference == pytest.approx(found.systems[1].value - found.systems[0].value)
    assert pair.low < pair.difference < pair.high
    assert max(pair.p, pair.p_holm, pair.p_bootstrap) < 0.01
    assert pair.p_mcnemar is not None
    assert pair.p_mcnemar < 0.001
    assert pair.wins > pair.losses
    assert pair.wins + pair.losses + pair.ties == N
    assert {s.system: s.letters for s in found.systems} == {"strong": "a", "weak": "b"}


def test_the_same_answers_are_a_tie(tmp_path: Path, data: Path) -> None:
    path = answers(tmp_path / "a.jsonl", 0.7, 3)
    (pair,) = compare(["jnli"], {"one": [path], "two": [path]}, data=data, rounds=500).pairs
    assert (pair.difference, pair.p, pair.p_mcnemar, pair.wins, pair.losses) == (0, 1, 1, 0, 0)


def test_noise_is_rarely_called_a_difference(tmp_path: Path, data: Path) -> None:
    called = 0
    for k in range(40):
        systems = {
            "a": [answers(tmp_path / f"a{k}.jsonl", 0.7, 100 + k)],
            "b": [answers(tmp_path / f"b{k}.jsonl", 0.7, 500 + k)],
        }
        called += compare(["jnli"], systems, data=data, rounds=400).pairs[0].p < 0.05
    assert called <= 7  # 5% of 40 is 2; more than 7 has a chance below one in a hundred


def test_three_systems_share_letters(tmp_path: Path, data: Path) -> None:
    systems = {
        "low": [answers(tmp_path / "a.jsonl", 0.4, 1)],
        "high": [answers(tmp_path / "b.jsonl", 0.85, 2)],
        "high too": [answers(tmp_path / "c.jsonl", 0.85, 3)],
    }
    found = compare(["jnli"], systems, data=data, rounds=1000)
    letters = {s.system: s.letters for s in found.systems}
    assert letters["high"] == letters["high too"] == "a"
    assert letters["low"] == "b"
    assert len(found.pairs) == 3
    assert all(p.p_holm >= p.p for p in found.pairs)


def test_seeds_widen_the_interval(tmp_path: Path, data: Path) -> None:
    steady = [answers(tmp_path / f"s{i}.jsonl", 0.7, 10 + i) for i in range(3)]
    moody = [
        answers(tmp_path / f"m{i}.jsonl", right, 20 + i) for i, right in enumerate((0.5, 0.7, 0.95))
    ]
    found = compare(["jnli"], {"steady": steady, "moody": moody}, data=data, rounds=2000)
    sd = {s.system: s.sd for s in found.systems}
    assert sd["moody"] > sd["steady"]  # type: ignore[operator]
    assert [s.runs for s in found.systems] == [3, 3]
    single = compare(
        ["jnli"], {"steady": steady[:1], "moody": moody[2:]}, data=data, rounds=2000
    ).pairs[0]
    assert found.pairs[0].high - found.pairs[0].low > single.high - single.low


def test_slices_and_items_where_they_differ(tmp_path: Path, data: Path) -> None:
    systems = {
        "a": [answers(tmp_path / "a.jsonl", 0.6, 1)],
        "b": [answers(tmp_path / "b.jsonl", 0.8, 2)],
    }
    found = compare(["jnli"], systems, data=data, options=ScoreOptions(by=("gold",)), rounds=300)
    whole, *parts = found.slices
    assert whole.where == "all"
    assert sum(s.wins for s in parts) == whole.wins == found.pairs[0].wins
    ids = found.differing["jnli: a against b"]
    assert len(ids) == found.pairs[0].wins + found.pairs[0].losses


def test_rank_correlation_is_compared_too(tmp_path: Path) -> None:
    folder = tmp_path / "jglue" / "datasets" / "jsts-v1.3"
    folder.mkdir(parents=True)
    rows: list[dict[str, Any]] = [
        {
            "sentence_pair_id": str(i),
            "yjcaptions_id": f"{i}-{2 * i}-{2 * i + 1}",
            "sentence1": f"窓が{i}枚ある。",
            "sentence2": "窓がある。",
            "label": (i % 26) / 5,
        }
        for i in range(80)
    ]
    (folder / "valid-v1.3.json").write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8"
    )
    generator = np.random.default_rng(0)
    paths = {}
    for name, noise in (("close", 0.3), ("far", 4.0)):
        path = tmp_path / f"{name}.jsonl"
        lines = [
            json.dumps({"id": str(i), "answer": r["label"] + noise * generator.normal()})
            for i, r in enumerate(rows)
        ]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        paths[name] = [path]
    found = compare(["jsts"], paths, data=tmp_path, rounds=1000)
    assert {p.metric: p.p < 0.05 for p in found.pairs} == {"pearson": True, "spearman": True}
    assert all(p.difference < 0 for p in found.pairs)


def test_randomisation_agrees_with_doing_it_by_hand(tmp_path: Path, data: Path) -> None:
    a, b = answers(tmp_path / "a.jsonl", 0.66, 7), answers(tmp_path / "b.jsonl", 0.74, 8)
    pair = compare(["jnli"], {"a": [a], "b": [b]}, data=data, rounds=10_000).pairs[0]
    one, two = (
        np.array(
            [
                x["answer"] == LABELS[int(x["id"]) % 3]
                for x in map(json.loads, path.read_text().splitlines())
            ]
        )
        for path in (a, b)
    )
    gap, generator = two.astype(float) - one, np.random.default_rng(5)
    null = (gap * generator.choice([-1, 1], size=(20_000, N))).mean(axis=1)
    assert pair.p == pytest.approx((np.abs(null) >= abs(gap.mean()) - 1e-12).mean(), abs=0.02)


def test_one_system_is_no_comparison(tmp_path: Path, data: Path) -> None:
    with pytest.raises(BadInput, match="needs two systems"):
        compare(["jnli"], {"a": [answers(tmp_path / "a.jsonl", 0.5, 1)]}, data=data)


def test_score_of_a_system_is_the_score(tmp_path: Path, data: Path) -> None:
    path = answers(tmp_path / "a.jsonl", 0.6, 4)
    found = compare(["jnli"], {"a": [path], "b": [path]}, data=data, rounds=200)
    assert (
        found.systems[0].value
        == score("jnli", path, data=data, options=ScoreOptions(resamples=10)).report.scores[0].value
    )


def similar(tmp_path: Path, name: str, change: Callable[[int, float], Any]) -> Path:
    """Answers to an invented JSTS of 80 pairs, each the gold score changed."""
    folder = tmp_path / "jglue" / "datasets" / "jsts-v1.3"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = [
        {
            "sentence_pair_id": str(i),
            "yjcaptions_id": f"{i}-{2 * i}-{2 * i + 1}",
            "sentence1": f"戸が{i}枚ある。",
            "sentence2": "戸がある。",
            "label": (i % 26) / 5,
        }
        for i in range(80)
    ]
    (folder / "valid-v1.3.json").write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8"
    )
    path = tmp_path / f"{name}.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": str(i), "answer": change(i, r["label"])}) + "\n"
            for i, r in enumerate(rows)
        )
    )
    return path


def noisy(i: int, gold: float) -> float:
    return gold + np.random.default_rng(i).normal()


def test_unread_answers_leave_the_others_in_step(tmp_path: Path) -> None:
    one = similar(tmp_path, "one", lambda i, g: "no idea" if i == 5 else noisy(i, g))
    two = similar(tmp_path, "two", lambda i, g: "no idea" if i == 50 else noisy(i, g))
    for pair in compare(["jsts"], {"one": [one], "two": [two]}, data=tmp_path, rounds=500).pairs:
        assert pair.n == 78
        assert (pair.difference, pair.low, pair.high, pair.p) == (0, 0, 0, 1)


def test_what_is_undefined_tells_nothing_apart(tmp_path: Path) -> None:
    flat = similar(tmp_path, "flat", lambda i, g: 2.5)
    found = compare(
        ["jsts"],
        {"noisy": [similar(tmp_path, "n", noisy)], "flat": [flat]},
        data=tmp_path,
        rounds=300,
    )
    assert all(np.isnan(pair.p) and np.isnan(pair.p_holm) for pair in found.pairs)
    assert {(s.system, s.letters) for s in found.systems} == {("noisy", "a"), ("flat", "")}


def test_an_obvious_winner_is_no_tie_however_many_tests_are_corrected(tmp_path: Path) -> None:
    """A rank correlation is computed anew for each exchange: too few of them would leave every p above the level."""

    def guesses(seed: int) -> Path:
        generator = np.random.default_rng(seed)
        return similar(tmp_path, f"guess-{seed}", lambda *_: generator.uniform(0, 5))

    systems = {f"guess-{seed}": [guesses(seed)] for seed in range(3)}
    systems["exact"] = [similar(tmp_path, "exact", lambda _, gold: gold)]
    found = compare(["jsts"], systems, data=tmp_path, rounds=1000)
    assert len(found.pairs) == 12
    for each in found.systems:
        assert (each.letters == "a") == (each.system == "exact")
        assert ("a" in each.letters) == (each.system == "exact")


@pytest.mark.parametrize("rounds", [25, 100, 990])
def test_exchanges_report_all_rounds_as_progress(rounds: int) -> None:
    values = np.array([1.0, 0.0, 1.0, 1.0])
    weighted = Weighted(lambda weights: weights @ values, 3.0)
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count

    compare_pair(
        weighted,
        weighted,
        np.arange(4),
        swap=lambda coins: (np.zeros(len(coins)), np.zeros(len(coins))),
        rounds=rounds,
        tests=12,
        on_progress=add,
    )
    assert done == 2 * rounds


def test_scale_does_not_matter_to_a_correlation(tmp_path: Path) -> None:
    plain = similar(tmp_path, "plain", noisy)
    rough = similar(tmp_path, "rough", lambda i, g: g + 3 * np.random.default_rng(900 + i).normal())
    huge = similar(
        tmp_path, "huge", lambda i, g: 20 * (g + 3 * np.random.default_rng(900 + i).normal())
    )
    a = compare(["jsts"], {"plain": [plain], "rough": [rough]}, data=tmp_path, rounds=2000).pairs
    b = compare(["jsts"], {"plain": [plain], "rough": [huge]}, data=tmp_path, rounds=2000).pairs
    for one, two in zip(a, b, strict=True):
        assert one.p == pytest.approx(two.p, abs=1e-9)
        assert one.difference == pytest.approx(two.difference, abs=1e-6)


def test_similarity_counts_who_came_nearer(tmp_path: Path) -> None:
    near, far = (
        similar(tmp_path, "near", lambda i, g: g + 0.1),
        similar(tmp_path, "far", lambda i, g: g + 1 + i % 3),
    )
    found = compare(["jsts"], {"far": [far], "near": [near]}, data=tmp_path, rounds=300)
    assert (found.pairs[0].wins, found.pairs[0].losses) == (80, 0)
    assert len(found.differing["jsts: far against near"]) == 80


def test_order_of_seeds_does_not_matter(tmp_path: Path, data: Path) -> None:
    runs = [answers(tmp_path / f"r{i}.jsonl", 0.6 + 0.1 * i, 40 + i) for i in range(3)]
    other = [answers(tmp_path / f"o{i}.jsonl", 0.7, 60 + i) for i in range(3)]
    one, two = (
        compare(
            ["jnli"],
            {"a": order, "b": other},
            data=data,
            rounds=500,
            options=ScoreOptions(by=("gold",)),
        )
        for order in (runs, runs[::-1])
    )
    keep = ("difference", "wins", "losses", "ties", "p_mcnemar", "effect")
    assert [getattr(one.pairs[0], k) for k in keep] == pytest.approx(
        [getattr(two.pairs[0], k) for k in keep]
    )
    assert one.pairs[0].p_mcnemar is None
    assert one.slices == two.slices


def test_letters_are_shared_exactly_where_systems_are_not_apart() -> None:
    assert tie_groups([3, 2, 1], lambda i, j: {i, j} == {1, 2}) == ["ab", "a", "b"]
    assert tie_groups([1, 2, 3], lambda i, j: False) == ["a", "a", "a"]
    assert tie_groups([1, 2, 3], lambda i, j: True) == ["c", "b", "a"]


def test_what_is_no_mean_over_items_has_no_figures_of_items(tmp_path: Path) -> None:
    gold = ["良い"] * 60 + ["悪い"] * 40
    rows = [
        {"id": str(i), "inputs": {"text": f"鍋{i}"}, "gold": {"label": g}}
        for i, g in enumerate(gold)
    ]
    (tmp_path / "own.jsonl").write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8"
    )
    paths = {}
    for name, wrong in (("a", range(60, 80)), ("b", range(20))):
        given = [
            g if i not in wrong else "悪い" if g == "良い" else "良い" for i, g in enumerate(gold)
        ]
        lines = [
            json.dumps({"id": str(i), "answer": x}, ensure_ascii=False) for i, x in enumerate(given)
        ]
        paths[name] = [tmp_path / f"{name}.jsonl"]
        paths[name][0].write_text("\n".join(lines), "utf-8")
    found = {p.metric: p for p in compare([str(tmp_path / "own.jsonl")], paths, rounds=200).pairs}
    assert found["accuracy"].difference == 0
    assert (found["accuracy"].p_mcnemar, found["accuracy"].effect, found["accuracy"].wins) == (
        1,
        0,
        20,
    )
    other = found["macro-f1"]
    assert other.difference != 0
    assert (other.p_mcnemar, other.effect, other.wins, other.losses, other.ties) == (
        None,
        None,
        0,
        0,
        0,
    )


def test_missing_answers_name_a_cure_that_comparing_has(tmp_path: Path, data: Path) -> None:
    whole = answers(tmp_path / "a.jsonl", 0.7, 1)
    part = tmp_path / "part.jsonl"
    part.write_text("\n".join(whole.read_text().splitlines()[:-2]))
    with pytest.raises(BadInput, match="2 of 240 items have no answer") as caught:
        compare(["jnli"], {"a": [whole], "b": [part]}, data=data)
    assert "partial" not in str(caught.value)


def test_progress_is_told_to_the_end(tmp_path: Path, data: Path) -> None:
    paths = [answers(tmp_path / f"{i}.jsonl", 0.7, i) for i in range(4)]
    for systems in ({"a": paths[:1], "b": paths[1:2]}, {"a": paths[:2], "b": paths[2:]}):
        heard: list[tuple[str, int, int]] = []

        def tell(
            what: str, done: int, total: int, heard: list[tuple[str, int, int]] = heard
        ) -> None:
            heard.append((what, done, total))

        compare(["jnli"], systems, data=data, rounds=3000, options=ScoreOptions(on_progress=tell))
        last = [done for what, done, _ in heard if what == "comparing"]
        assert last == sorted(last)
        assert last[-1] == next(total for what, _, total in heard if what == "comparing") == 6000
        assert [x for x in heard if x[0] == "reading"][-1][2] == sum(map(len, systems.values()))


def test_a_set_of_ones_own_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nikawa.datasets.load import load

    rows = [
        {"id": str(i), "inputs": {"text": f"杯{i}"}, "gold": {"label": LABELS[i % 3]}}
        for i in range(N)
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    calls: list[str] = []

    def counted(spec: str, **options: Any) -> Any:
        calls.append(spec)
        return load(spec, **options)

    monkeypatch.setattr("nikawa.scoring.score.load", counted)
    systems = {name: [answers(tmp_path / f"{name}.jsonl", 0.7, 1)] for name in ("a", "b")}
    compare([str(tmp_path / "own.jsonl")], systems, rounds=100)
    assert len(calls) == len(set(calls)) > 0
