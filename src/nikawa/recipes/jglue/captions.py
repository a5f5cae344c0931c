"""Parts that the recipes of JSTS and JNLI share: captions to pairs (flows A, B, C), similarity,
inference, contradictions.

Section 3.2.2 of the JGLUE paper. A: two captions of one image. B: captions of two images. C: a
caption and a contradiction that a worker wrote for it. Ids are those of the published files:
`image-s1-s2`, `imageA_imageB-s1-s2`, and a sentence id that begins with `g` for what a worker
wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.datasets.known import KnownFinding
from nikawa.datasets.subsets import group_by
from nikawa.io.json import read_json, read_json_lines
from nikawa.pairing.linked import Linked, pair_different_links
from nikawa.recipes.decide import (
    character_overlap,
    check_split,
    check_tags,
    check_votes,
    decide,
    draw_examples,
    random_key,
    refuse_pairs,
    require_value,
    settled_answers,
    split_groups,
)
from nikawa.recipes.recipe import (
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    NotNegative,
    Outcomes,
    Positive,
    Stage,
    found_in,
    splits_stage,
)
from nikawa.records import Example, Origin
from nikawa.text.distance import relative_distance


class Line(msgspec.Struct):
    """A caption of a JSON line; what else the line holds is passed over."""

    id: str | int
    text: str = ""
    image: str | int = ""
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    meta: dict[str, Any] = {}


class Annotation(msgspec.Struct):
    """A caption as MS COCO and YJ Captions write it."""

    id: int
    image_id: int
    caption: str


class Picture(msgspec.Struct):
    """An image as MS COCO writes it."""

    id: int
    coco_url: str = ""
    flickr_url: str = ""
    license: int | None = None


class Licence(msgspec.Struct):
    """A licence as MS COCO writes it."""

    id: int
    name: str = ""


class Coco(msgspec.Struct):
    """The file of YJ Captions."""

    annotations: list[Annotation]
    images: list[Picture] = []
    licenses: list[Licence] = []


def read_captions(path: Path) -> Iterator[Example]:
    """The captions of a file, each with its image and its position."""
    rows = _coco(path) if path.suffix == ".json" else _lines(path)
    for line, name, image, text, more in rows:
        for part, what in ((name, "id"), (image, "image")):
            require_value(part, what, path, line)
        yield Example(
            id=name,
            inputs={"text": text},
            group=image,
            meta={"image": image, **found_in(path, line, **more)},
            origin=Origin(recipe="captions"),
        )


Row = tuple[int, str, str, str, dict[str, str]]


def _lines(path: Path) -> Iterator[Row]:
    for number, line in read_json_lines(path, Line):
        refuse_pairs(line.inputs, path, number, "captions")
        text = line.text or line.inputs.get("text", "")
        image = str(line.image or line.meta.get("image", ""))
        more = {
            key: str(getattr(line, key) or line.meta.get(key, "")) for key in ("url", "licence")
        }
        yield (
            number,
            str(line.id),
            image,
            str(require_value(text, "text", path, number)).strip(),
            more,
        )


def _coco(path: Path) -> Iterator[Row]:
    whole = read_json(path, Coco)
    images = {image.id: image for image in whole.images}
    licences = {licence.id: licence.name for licence in whole.licenses}
    for number, annotation in enumerate(whole.annotations, start=1):
        image = images.get(annotation.image_id, Picture(annotation.image_id))
        more = {
            "url": image.coco_url or image.flickr_url,
            "licence": licences.get(image.license or -1, ""),
        }
        yield number, str(annotation.id), str(annotation.image_id), annotation.caption.strip(), more


RELATIONS = ("entailment", "contradiction", "neutral")


def simulate_similarity(example: Example, config: Any, random: Random) -> int:
    """A worker who counts the characters two sentences share, and errs at times."""
    alike = character_overlap(example.inputs["sentence1"], example.inputs["sentence2"])
    return min(5, max(0, round(5 * alike) + random.choice((-2, -1, 0, 0, 0, 0, 1, 2))))


def simulate_inference(example: Example, config: Any, random: Random) -> str:
    """A worker who takes what workers wrote for contradictions and what adds nothing for
    entailment, and errs at times.
    """
    premise, hypothesis = set(example.inputs["premise"]), set(example.inputs["hypothesis"])
    likely = "entailment" if len(hypothesis - premise) <= 3 else "neutral"
    if example.meta["source"] == "C":
        likely = "contradiction"
    return likely if random.random() < 0.8 else random.choice(RELATIONS)


def simulate_contradictions(example: Example, config: Any, random: Random) -> list[str]:
    """Made-up contradictions: the caption denied in several ways, and now and then something too
    short.
    """
    text = example.inputs["text"].rstrip(STOP)
    ways = [
        "のは嘘です",
        "ことはありません",
        "とは言えません",
        "わけではありません",
        "というのは間違いです",
    ]
    made = [f"{text}{ending}{STOP}" for ending in random.sample(ways, len(ways))]
    made[0] = made[0] if random.random() < 0.8 else f"違う{STOP}"
    while len(made) < config.contradictions:
        made.append(f"{len(made)}回も{text}{STOP}")
    return made[: config.contradictions]


STOP = "。"


class Captions(Config, kw_only=True):
    """Settings of both recipes; the numbers are those of the paper."""

    captions: str = ""
    """File of captions: JSON lines of {id, image, text, url, licence}, records, or the JSON of YJ
    Captions."""
    similar_pairs: Positive = 16000
    """Pairs of captions of one image that are judged (JGLUE 3.2.2, step 1)."""
    similarity_workers: Positive = 5
    """Workers who rate the similarity of a pair (step 1; Table 6 says 10, but all published scores are
    multiples of 0.2)."""
    similarity_variance: Annotated[float, Meta(gt=0)] = 1.0
    """Pairs whose answers vary by this or more are deleted (step 1): the mean squared distance from
    their mean; the paper does not say whether over n or n - 1."""
    inference_workers: Positive = 10
    """Workers who judge an inference (steps 3 and 4)."""
    inference_votes: Positive = 6
    """Minimum number of equal answers for an inference label (steps 3 and 4)."""
    contradicted_captions: NotNegative = 1800
    """Captions for which contradictions are written (step 4)."""
    contradictions: Positive = 4
    """Contradictions written for a caption (step 4)."""
    contradiction_writers: Positive = 1
    """Workers who each write this number; the paper does not say how they are distributed."""
    edit_distance: Annotated[float, Meta(gt=0)] = 0.75
    """Written pairs this far apart or more are deleted: Levenshtein over the longer text, with the
    final stop (step 4)."""
    removed: tuple[str, ...] = ()
    """Ids of pairs deleted manually; the paper deleted 12 of JSTS and 44 of JNLI."""
    split: str = "0.8,0.1,0.1"
    """Sizes of train, dev and test; the default gives the published shares."""
    split_by: Annotated[str, Meta(pattern="^(pair|image)$")] = "pair"
    """The unit that stays in one split: pair, as in the published files, or image, which keeps captions of dev
    and test out of train."""
    tags: str = "none"
    """A tag pack (docs/tags.md) whose tags the release gets; none for no tags."""


def take_captions(inputs: Inputs, config: Any) -> Outcomes:
    """Every caption of the source but those without text and those that say the same of one image."""
    seen: set[tuple[str | None, str]] = set()
    for caption in read_captions(inputs.file("captions")):
        key = (caption.group, caption.inputs["text"].rstrip(STOP))
        if not key[1]:
            yield Dropped(caption, "no text")
        elif key in seen:
            yield Dropped(caption, "says the same as another caption of the image")
        else:
            seen.add(key)
            yield Kept(caption, "a caption of the source")


def join_ids(image: str, first: str, second: str) -> str:
    """The published kind of id: image and two captions, `-` between them.

    A `-` inside of one of them is written `%2D`, so that no two pairs have the same id.

    >>> join_ids("img-7", "a_1", "a_2")
    'img%2D7-a_1-a_2'
    """
    return "-".join(part.replace("%", "%25").replace("-", "%2D") for part in (image, first, second))


def make_pair(
    image: str, first: Example, second: Example, step: str, parents: tuple[str, ...]
) -> Example:
    """A pair of sentences under its published kind of id, with the meta values of `caption_meta`."""
    name = join_ids(image, first.id, second.id)
    return Example(
        id=name,
        inputs={"sentence1": first.inputs["text"], "sentence2": second.inputs["text"]},
        meta={
            "source": step,  # of a source whose captions may be called g1
            "yjcaptions_id": name,
            "image": image,
            "pair": "-".join(sorted(name.split("-")[1:])),
        },
        group=image,
        origin=Origin(recipe="captions", parents=parents, step=step),
    )


def pair_similar(inputs: Inputs, config: Any) -> Outcomes:
    """All pairs of captions of one image, of which the configured number is drawn.

    Which comes first is drawn too.
    """
    pairs = []
    for image, captions in group_by(inputs.examples("sentences"), lambda e: e.group).items():
        for two in combinations(captions, 2):
            first, second = sorted(
                two, key=lambda caption: random_key(config.seed, "order", caption.id)
            )
            pairs.append(make_pair(str(image), first, second, "A", (first.id, second.id)))
    yield from draw_examples(pairs, config.similar_pairs, config.seed, "similar")


def pair_different(inputs: Inputs, config: Any) -> Outcomes:
    """Captions of two images, each caption at most once, of which the configured number is drawn."""
    captions = list(inputs.examples("sentences"))
    linked = [Linked(caption.id, str(caption.group)) for caption in captions]
    pairs = []
    for one, other in pair_different_links(linked, seed=config.seed):
        first, second = captions[one], captions[other]
        # As published, with the same care for a name that holds what parts them.
        images = (str(caption.group).replace("_", "%5F") for caption in (first, second))
        image = "_".join(images)
        pairs.append(make_pair(image, first, second, "B", (first.id, second.id)))
    yield from draw_examples(pairs, config.different_pairs, config.seed, "different")


def draw_captions(inputs: Inputs, config: Any) -> Outcomes:
    """The captions for which contradictions are written."""
    yield from draw_examples(
        inputs.examples("sentences"), config.contradicted_captions, config.seed, "contradicted"
    )


def add_stop(text: str) -> str:
    """A sentence with its final stop, as in all of JNLI."""
    return text if text.endswith(STOP) else text + STOP


def pair_written(inputs: Inputs, config: Any) -> Outcomes:
    """A caption with each contradiction written for it, unless they are too far apart or one
    repeats another.
    """
    answers, limit = settled_answers(inputs, "contradictions"), config.edit_distance
    for caption in inputs.examples("contradicted"):
        first = add_stop(caption.inputs["text"])
        texts = [text for judgement in answers[caption.id] for text in judgement.answer]
        seen: set[str] = set()
        for number, second in enumerate(map(add_stop, texts), start=1):
            written = Example(id=f"g{caption.id}.{number}", inputs={"text": second})
            made = make_pair(str(caption.group), caption, written, "C", (caption.id,))
            made = msgspec.structs.replace(made, inputs={"premise": first, "hypothesis": second})
            far = relative_distance(first, second)
            if second in seen:
                yield Dropped(made, "written twice for one caption")
            elif far >= limit:
                yield Dropped(made, f"edit distance of {limit:g} or more", f"{far:.3f}")
            else:
                yield Kept(made, f"edit distance {far:.3f} < {limit:g}")
            seen.add(second)


def known_of_captions(config: Any) -> tuple[KnownFinding, ...]:
    """What splits of captions share by design: images, unless those are kept whole."""
    if config.split_by == "image":
        return ()
    reason = "pairs are split as the published ones, which share images across splits (split_by)"
    return tuple(
        KnownFinding(check=check, reason=reason) for check in ("broken-groups", "leaked-sentences")
    )


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    check_votes("inference_votes", "inference_workers", config)
    check_tags(config)


def judge_similarity(items: str, flow: str) -> tuple[Ask, Stage]:
    """Ask how similar the pairs of a set are, and give them the mean.

    Pairs whose answers vary are deleted.
    """
    ask = Ask(
        f"similarity-{flow}",
        "how similar two sentences are, 0 to 5",
        (items,),
        "scale",
        "score",
        "similarity_workers",
        prompt="2つの文の意味はどのくらい似ていますか。0(まったく違う)から5(同じ意味)で答えてください。",
        heading="文の意味の類似度",
        scale=(0, 5),
        simulate=simulate_similarity,
    )

    def run(inputs: Inputs, config: Any) -> Outcomes:
        rule = f"mean+variance<{config.similarity_variance:g}+round:2"
        yield from decide(inputs, items, ask.name, rule, gold="score")

    title = "mean of the answers; pairs whose answers vary too much are deleted"
    reads, uses = (items, ask.name), ("similarity_variance",)
    return ask, Stage(f"scored-{flow}", title, run, reads, uses)


def judge_inference(
    items: str, flow: str, name: str, title: str, only: tuple[str, ...]
) -> tuple[Ask, Stage]:
    """Ask how the premises of a set relate to the hypotheses.

    The stage `name` keeps what enough call one of `only`.
    """
    ask = Ask(
        f"inference-{flow}",
        "the relation of a premise to a hypothesis",
        (items,),
        "inference",
        "label",
        "inference_workers",
        prompt="1つ目の文(premise)が正しいとき、2つ目の文(hypothesis)は必ず正しい(entailment)、必ず誤り(contradiction)、どちらとも言えない(neutral)のどれですか。",
        heading="前提と仮説の関係",
        labels=RELATIONS,
        simulate=simulate_inference,
    )

    def run(inputs: Inputs, config: Any) -> Outcomes:
        rule = f"votes:{config.inference_votes}/{config.inference_workers}"
        yield from decide(inputs, items, ask.name, rule, only=only)

    uses = ("inference_votes", "inference_workers")
    return ask, Stage(name, title, run, (items, ask.name), uses)


def split_pairs(title: str, *sets: str) -> Stage:
    """The stage that sorts the pairs of some sets into the splits, less what was deleted manually."""

    def run(inputs: Inputs, config: Any) -> Outcomes:
        yield from split_groups(
            inputs,
            config,
            sets,
            group=lambda pair: str(pair.meta[config.split_by]),
            ids=lambda pair: {pair.id, str(pair.meta["pair"])},
        )

    return splits_stage(title, run, sets, ("split", "split_by", "seed", "removed", "tags"))


FLOW_A = (
    Stage(
        "sentences",
        "captions of the source, one of each wording an image",
        take_captions,
        ("captions",),
    ),
    Stage(
        "similar",
        "pairs of captions of one image, drawn by chance (flow A)",
        pair_similar,
        ("sentences",),
        ("similar_pairs", "seed"),
    ),
    *judge_similarity("similar", "a"),
)
"""From the captions to the set `scored-a`."""
FLOW_C = (
    Stage(
        "contradicted",
        "captions drawn to be contradicted (flow C)",
        draw_captions,
        ("sentences",),
        ("contradicted_captions", "seed"),
    ),
    Ask(
        "contradictions",
        "sentences that contradict a caption",
        ("contradicted",),
        "write-contradictions",
        "contradictions",
        "contradiction_writers",
        prompt="次の文と矛盾する文を書いてください。",
        heading="矛盾する文を書く",
        settings={"edit_distance": "edit_distance"},
        texts="contradictions",
        simulate=simulate_contradictions,
        uses=("contradictions",),
    ),
    Stage(
        "written",
        "caption and written sentence, unless too far apart by edit distance",
        pair_written,
        ("contradicted", "contradictions"),
        ("edit_distance",),
    ),
    *judge_inference(
        "written",
        "c",
        "confirmed",
        "pairs that enough workers call a contradiction",
        ("contradiction",),
    ),
)
"""From the captions to the set `confirmed`."""
