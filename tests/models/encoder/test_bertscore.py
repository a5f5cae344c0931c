"""BERTScore against the definition, worked out pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from nikawa.errors import BadInput
from nikawa.models import model
from nikawa.records import Kind


def _vectors(tiny: Path, text: str, layer: int) -> tuple[np.ndarray, list[int]]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    plain = transformers.AutoModel.from_pretrained(tiny).eval()
    with torch.inference_mode():
        found = plain(
            **tokenizer(text, return_tensors="pt"), output_hidden_states=True
        ).hidden_states[layer][0]
    return (found / found.norm(dim=-1, keepdim=True)).numpy(), tokenizer(text)["input_ids"]


def _f1(tiny: Path, pair: tuple[str, str], layer: int, weights: Mapping[int, float]) -> float:
    (a, ids_a), (b, ids_b) = (_vectors(tiny, text, layer) for text in pair)
    alike = b @ a.T
    means = [
        np.average(
            values, weights=[0.0 if i in {2, 3} else weights.get(i, weights[-1]) for i in ids]
        )
        for values, ids in ((alike.max(axis=1), ids_b), (alike.max(axis=0), ids_a))
    ]
    return float(2 * means[0] * means[1] / (means[0] + means[1]))


@pytest.mark.parametrize(("layer", "idf"), [(-1, True), (1, False), (0, True)])
def test_scores_are_those_of_the_definition(
    layer: int, idf: bool, tiny: Path, invented: Mapping[Kind, Any]
) -> None:
    case = invented["similarity"]
    found: Any = model(f"bertscore:{tiny}", settings={"layer": layer, "idf": idf, "device": "cpu"})
    if idf:
        with pytest.raises(BadInput, match="is not trained on"):
            found.predict(case.task, case.ask)
    found.fit(case.task, case.learn)
    answers = found.predict(case.task, case.ask)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    texts = [e.inputs[side] for e in case.learn for side in case.task.inputs]
    pieces = [set(tokenizer(t, add_special_tokens=False)["input_ids"]) for t in texts]
    weights = {-1: log(len(texts) + 1) if idf else 1.0}
    for piece in set().union(*pieces) if idf else ():
        weights[piece] = log((len(texts) + 1) / (sum(piece in p for p in pieces) + 1))
    for example, answer in list(zip(case.ask, answers, strict=True))[:4]:
        pair = (example.inputs["sentence1"], example.inputs["sentence2"])
        f1 = _f1(tiny, pair, layer, weights)
        assert answer.scores["f1"] == pytest.approx(f1, abs=1e-5)
        assert answer.answer == pytest.approx(5 * f1, abs=1e-4)
    assert found.predict(case.task, case.ask[::-1])[0].answer == pytest.approx(
        answers[-1].answer, abs=1e-5
    )


def test_texts_alike_score_highest_and_layers_are_counted(
    tiny: Path, invented: Mapping[Kind, Any]
) -> None:
    from msgspec.structs import replace

    case = invented["similarity"]
    same = [replace(e, inputs={**e.inputs, "sentence2": e.inputs["sentence1"]}) for e in case.ask]
    found: Any = model(f"bertscore:{tiny}", settings={"idf": False, "device": "cpu"})
    assert [a.answer for a in found.predict(case.task, same)] == pytest.approx([5.0] * len(same))
    assert found.predict(case.task, []) == []
    with pytest.raises(BadInput, match="has 2 layers; there is no layer 7; set layer to 0"):
        model(f"bertscore:{tiny}", settings={"layer": 7, "idf": False}).predict(case.task, case.ask)
    with pytest.raises(BadInput, match="has one input text"):
        found.predict(replace(case.task, inputs=("sentence1",)), case.ask)
