"""scikit-learn, scipy and seqeval define some of the same things: they must say the same on random inputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.metrics import Items, golden_adapters, metrics
from nikawa.metrics.classes import macro_f1_of
from nikawa.metrics.correlation import average_ranks, pearson_value
from nikawa.metrics.klue_ner import TYPES, encode_tags, entity_counts, tag_codes
from nikawa.metrics.klue_re import auprc_of

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)
SCORES = st.lists(
    st.tuples(st.floats(0, 5, width=32), st.integers(0, 25).map(lambda n: n / 5)),
    min_size=3,
    max_size=40,
)
TAGS = tuple(tag_codes(TYPES))
SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=10),
    min_size=1,
    max_size=5,
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The peers warn where something is undefined; here only what they return counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def value(name: str, pairs: list[tuple[Any, Any]], **more: Any) -> float:
    gold, answers = zip(*pairs, strict=True)
    return metrics()[name].evaluate(Items(gold, answers, **more), "official").value


@settings(deadline=None)
@given(PAIRS)
def test_labels_as_in_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn import metrics as peer

    gold, answers = zip(*pairs, strict=True)
    assert value("accuracy", pairs) == pytest.approx(peer.accuracy_score(gold, answers), abs=1e-12)
    assert value("mcc", pairs) == pytest.approx(peer.matthews_corrcoef(gold, answers), abs=1e-12)
    for name, function in (
        ("macro-f1", peer.f1_score),
        ("macro-precision", peer.precision_score),
        ("macro-recall", peer.recall_score),
    ):
        assert value(name, pairs) == pytest.approx(
            function(gold, answers, average="macro"), abs=1e-12
        )
    real = peer.f1_score(gold, answers, labels=[1, 2, 3, 4], average="micro")
    assert value("relation-micro-f1", pairs, labels=range(5)) == pytest.approx(real, abs=1e-12)


@settings(deadline=None)
@given(SCORES)
def test_scores_as_in_scipy(pairs: list[tuple[float, float]]) -> None:
    from scipy import stats

    x, y = np.array(pairs).T
    assert value("mse", [(g, a) for a, g in pairs]) == pytest.approx(((x - y) ** 2).mean())
    single = stats.pearsonr(x.astype(np.float32), y.astype(np.float32))[0]
    assert pearson_value(x, y, "official") == pytest.approx(float(single), abs=1e-6, nan_ok=True)
    assert pearson_value(x, y, "documented") == pytest.approx(
        stats.pearsonr(x, y)[0], abs=1e-9, nan_ok=True
    )
    assert average_ranks(x).tolist() == stats.rankdata(x).tolist()
    rho = stats.spearmanr(x, y)[0]
    assert value("spearman", [(g, a) for a, g in pairs]) == pytest.approx(
        rho, abs=1e-9, nan_ok=True
    )


@settings(deadline=None)
@given(SCORES)
def test_paraphrases_as_in_scikit_learn(pairs: list[tuple[float, float]]) -> None:
    from sklearn.metrics import f1_score

    gold, answers = ([side >= 3 for side in sides] for sides in zip(*pairs, strict=True))
    assert value("paraphrase-f1", pairs) == pytest.approx(f1_score(gold, answers), abs=1e-12)


@settings(deadline=None)
@given(SENTENCES)
def test_entities_as_in_seqeval(sentences: list[list[tuple[str, str]]]) -> None:
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    table = tag_codes(TYPES)
    gold, answers = (
        [[pair[side] for pair in sentence] for sentence in sentences] for side in (0, 1)
    )
    tags = encode_tags(*[[[table[tag] for tag in s] for s in side] for side in (gold, answers)])  # type: ignore[arg-type]
    real = f1_score(gold, answers, average="macro", mode="strict", scheme=IOB2)
    assert float(macro_f1_of(entity_counts(tags).sum(axis=0))) == pytest.approx(
        real, abs=1e-12, nan_ok=True
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=30))
def test_characters_as_in_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    from sklearn.metrics import f1_score

    gold, answers = (list(side) for side in zip(*pairs, strict=True))
    found = golden_adapters()["klue_ner"]({"gold": gold, "pred": answers})
    real = f1_score(gold, answers, labels=TAGS, average="macro", zero_division=1)
    assert found["char_macro_f1"]() == pytest.approx(100 * real, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.sampled_from([1, 2, 16]))
def test_areas_as_in_scikit_learn(seed: int, n: int, decimals: int) -> None:
    from sklearn.metrics import auc, precision_recall_curve

    generator = np.random.default_rng(seed)
    scores, gold = generator.random((n, 4)).round(decimals), generator.integers(0, 4, n)
    areas = [
        auc(*precision_recall_curve(gold == c, scores[:, c])[1::-1])
        for c in range(4)
        if (gold == c).any()
    ]
    assert auprc_of(scores, gold, "documented").value == pytest.approx(np.mean(areas), abs=1e-12)
    official = auprc_of(scores, gold, "official").value
    assert np.isnan(official) == (len(areas) < 4)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(*[st.integers(0, 5), st.integers(0, 17)] * 2), min_size=1, max_size=20))
def test_trees_as_in_scikit_learn(words: list[tuple[int, int, int, int]]) -> None:
    from sklearn.metrics import f1_score

    gold_heads, gold_types, heads, types = (list(side) for side in zip(*words, strict=True))
    batch = {
        "gold_heads": [gold_heads],
        "gold_types": [gold_types],
        "pred_heads": [heads],
        "pred_types": [types],
    }
    found = golden_adapters()["klue_dp"]([batch])
    wanted = [min(kind, 15) for kind in gold_types]
    given_types = [
        min(t, 15) if h == g else -2 for t, h, g in zip(types, heads, gold_heads, strict=True)
    ]
    for name, gold, answers in (("uas", gold_heads, heads), ("las", wanted, given_types)):
        for average in ("macro", "micro"):
            real = 100 * f1_score(gold, answers, average=average)
            assert found[f"{name}_{average}_f1"] == pytest.approx(real, abs=1e-9)


@given(st.text("가나다", max_size=12), st.text("가나다", max_size=12))
def test_longest_run_as_in_difflib(one: str, other: str) -> None:
    from difflib import SequenceMatcher

    from nikawa.metrics.klue_mrc import longest_run

    matcher = SequenceMatcher(None, one, other, autojunk=False)
    assert longest_run(one, other) == matcher.find_longest_match().size
