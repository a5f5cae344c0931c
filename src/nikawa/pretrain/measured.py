"""The figures of a training that came to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.pretrain.card import Figures
from nikawa.pretrain.device import peak_of
from nikawa.pretrain.look import unigram

if TYPE_CHECKING:
    from nikawa.pretrain.learn import Training


def figures_of(training: Training) -> Figures:
    """What the training measured, at its end."""
    meta, marks = training.packed.meta, training.marks
    pieces, work = 0, 0.0
    for phase in training.plan.phases:
        part = (phase.end - phase.first) * training.steps.rows(phase.length) * phase.length
        pieces += part
        work += part * training.size.operations(
            phase.length, meta.vocabulary, training.settings.mask
        )
    peak, last = peak_of(training.device), marks.history[-1] if marks.history else {}
    return Figures(
        settings=msgspec.structs.replace(
            training.settings,
            steps=marks.total,
            minutes=0.0,
            learning_rate=training.settings.rate(),
        ),
        parameters=sum(weight.numel() for weight in training.steps.weights),
        vocabulary=meta.vocabulary,
        text_pieces=meta.pieces,
        steps=marks.total,
        pieces=pieces,
        seconds=round(marks.seconds, 1),
        pieces_a_second=round(pieces / max(1e-9, marks.seconds)),
        share_of_peak=round(work / marks.seconds / peak, 4) if peak and marks.seconds else None,
        device=told_device(training.device),
        threads=threads_of(training.device),
        unigram=unigram(training.packed, training.watch.packed, training.watch.most)
        if training.watch
        else None,
        loss=last.get("loss"),
        heldout=last.get("heldout"),
        accuracy=last.get("accuracy"),
        history=marks.history,
        notes=marks.notes,
    )


def threads_of(device: Any) -> int:
    """Threads that the weights were computed by; 0 on a card."""
    import torch

    return 0 if device.type == "cuda" else torch.get_num_threads()


def told_device(device: Any) -> str:
    """The device by name."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "processor"
