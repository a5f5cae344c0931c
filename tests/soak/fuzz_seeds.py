"""The honest files that the fuzzer damages: small, invented, one of every form that a command reads.

What only Nikawa writes (runs, a build, a project, a generated dataset) Nikawa writes here too.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from tests.soak.fuzz_mutations import pack_archive

MATERIAL = Path(__file__).parents[1] / "compat" / "material"
BOMB_BYTES = 1_500_000_000
"""Bytes that a bomb holds when it is unpacked: more than a case may take."""

MADE = (
    "run --model majority --tasks mini-ja-nli --seeds 2 --out runs --workers 1 --quiet",
    "run --model majority --tasks own-data --out own-runs --workers 1 --quiet",
    "build jnli --config jnli.toml --out trial --simulate 1 --quiet",
    "build jnli --config jnli.toml --out paused --quiet",
    "data hide own-data --split test --hidden --out hidden --keys hidden.keys --quiet",
    "perturb particles perturb-ja.jsonl --out sets --quiet",
    "generate my-pack -n 2 --seed 1 --split all --out made --quiet",
    "templates review made --export review.tsv -n 6 --pack my-pack --quiet",
    "collect new writing --examples premises.jsonl --form write-hypotheses --workers-per-item 1 --quiet",
    "collect import writing hypotheses.jsonl --quiet",
    "collect new judging --examples pairs.jsonl --form choice -k 2 --quiet",
    "aggregate judgements.jsonl --question label --rule majority --examples pairs.jsonl --out gold --quiet",
    "agree judgements.jsonl --question label --resamples 10 --save studio.json --save-as label-studio --quiet",
    "agree judgements.jsonl --question label --resamples 10 --save doccano.jsonl --save-as doccano --quiet",
    "agree judgements.jsonl --question label --resamples 10 --save yahoo.tsv --save-as yahoo --quiet",
    "data export own-data --to parquet --out own-parquet --quiet",
    "data export own-data --to hf --out flat-hf --quiet",
    "lexicon build novel.txt --out words --min-verb 2 --min-count 1 --quiet",
    "pretrain corpus.txt --language ja --tokenizer characters --size tiny --vocabulary 400 --steps 60 "
    "--batch 512 --only pack --out encoder --quiet",
)
"""Commands whose results are seeds too; one whose extras are missing makes none."""


def make_seeds(folder: Path, run: Callable[[str], object]) -> None:
    """Fill `folder`; `run` does a command there, in a process of its own."""
    shutil.copytree(MATERIAL, folder, dirs_exist_ok=True)
    write_answers(folder / "answers")
    write_packed(folder)
    write_others(folder)
    write_published(folder / "data")
    for command in MADE:
        run(command)
    for name, path in zip(
        ("first", "second"), sorted((folder / "runs").glob("mini*")), strict=True
    ):
        path.rename(path.with_name(name))  # the hash in a run's name depends on versions


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def write_answers(folder: Path) -> None:
    """The same answers in every form that `nikawa score` knows."""
    rows = [json.loads(line) for line in (folder / "label.jsonl").read_text("utf-8").splitlines()]
    labels = ("entailment", "contradiction", "neutral")
    write_lines(folder / "jnli.jsonl", ({"id": str(n), "answer": labels[n % 3]} for n in range(6)))
    (folder / "map.json").write_text(json.dumps({row["id"]: row["answer"] for row in rows}))
    (folder / "list.json").write_text(json.dumps(rows))
    (folder / "label.csv").write_text(
        "id,answer\n" + "".join(f"{row['id']},{row['answer']}\n" for row in rows)
    )
    (folder / "label.tsv").write_text(
        "index\tprediction\n" + "".join(f"{n}\t{row['answer']}\n" for n, row in enumerate(rows))
    )
    (folder / "label.txt").write_text("".join(f"{row['answer']}\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), folder / "label.parquet")
    np.save(folder / "label.npy", np.arange(3 * len(rows)).reshape(-1, 3) % 7 / 7.0)
    write_lines(
        folder / "scores.jsonl",
        (
            {"example": row["id"], "answer": row["answer"], "scores": {row["answer"]: 0.9}}
            for row in rows
        ),
    )
    write_lines(
        folder / "samples_mini.jsonl",
        (
            {
                "doc_id": n,
                "doc": {"id": row["id"]},
                "filtered_resps": [row["answer"]],
                "filter": "none",
            }
            for n, row in enumerate(rows)
        ),
    )
    samples = [
        {"id": row["id"], "epoch": 1, "input": "x", "output": {"completion": row["answer"]}}
        for row in rows
    ]
    log = {"status": "success", "eval": {}, "samples": samples}
    (folder / "log.json").write_text(json.dumps(log))
    members = [
        (f"samples/{n}_epoch_1.json", json.dumps(sample).encode())
        for n, sample in enumerate(samples)
    ]
    (folder / "log.eval").write_bytes(pack_archive(members, zipfile.ZIP_DEFLATED))
    (folder / "log-zstd.eval").write_bytes(pack_archive(members, 93))


def write_packed(folder: Path) -> None:
    """Packed copies of records, answers and texts."""
    for name in ("answers/label.jsonl", "pairs.jsonl", "judgements.jsonl", "texts-ja.txt"):
        data = (folder / name).read_bytes()
        (folder / f"{name}.gz").write_bytes(gzip.compress(data, mtime=0))
        (folder / f"{name}.zst").write_bytes(zstandard.compress(data))
        (folder / f"{name}.xz").write_bytes(lzma.compress(data))


def write_others(folder: Path) -> None:
    """Word lists, tables of sources, presets, sheets."""
    (folder / "exclude.txt").write_text("猫\n犬\n", "utf-8")
    (folder / "agents.txt").write_text("ハル\nミオ\n", "utf-8")
    (folder / "only.tsv").write_text("港\t0.5\n橋\t0.25\n", "utf-8")
    (folder / "sources.tsv").write_text("0\t4\tnovel\tCC0\n4\t100\tnews\tCC BY 4.0\n", "utf-8")
    (folder / "preset.toml").write_text(
        'seeds = 1\nshares = [0.5, 1.0]\ninputs = ["hypothesis"]\n\n[settings]\n\n[task.mini-ja-nli]\n',
        "utf-8",
    )
    (folder / "adjudicated.tsv").write_text(
        "example\tquestion\tanswer\np1\tlabel\tentailment\np2\tlabel\tentailment\n", "utf-8"
    )
    (folder / "trial.csv").write_text(
        "id,question,label,reason,by\ndev/1,label,neutral,seen again,rin\n", "utf-8"
    )
    rows = [(f"s{number}", f"橋の{number}番目の灯り。", "ab"[number % 2]) for number in range(8)]
    lines = ["id,text,label,page", *(f"{name},{text},{label},3" for name, text, label in rows)]
    (folder / "flat.csv").write_text("\n".join(lines) + "\n", "utf-8")
    objects = [{"id": name, "text": text, "label": label} for name, text, label in rows]
    (folder / "flat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects), "utf-8")
    (folder / "all-sources.tsv").write_text("0\t360\tnovel\tCC0\n", "utf-8")
    (folder / "guesses.txt").write_text("neutral\n" * 16, "utf-8")
    (folder / "known.tsv").write_text("example\tanswer\np1\tentailment\np2\tneutral\n", "utf-8")
    (folder / "attribution.md").write_text("Written for the fuzzer.\n", "utf-8")


NER = (
    "## 토큰, 레이블 구분자 : \\t\n## 토큰 구분자 : \\n\n## 문장 구분자 : \\n\\n\n## 주석 : ##\n## 칼럼명 : A\tB\n"
    "## klue-ner-v1_dev_00000-nsmc\t<하루:PS>는 섬에 산다\n"
    "하\tB-PS\n루\tI-PS\n는\tO\n \tO\n섬\tO\n에\tO\n \tO\n산\tO\n다\tO\n\n"
)
DP = (
    "## 토큰, 레이블 구분자 : \\t\n## 토큰 구분자 : \\n\n## 문장 구분자 : \\n\\n\n## 주석 : ##\n"
    "## 칼럼명 : INDEX\tWORD_FORM\tLEMMA\tPOS\tHEAD\tDEPREL\n"
    "## klue-dp-v1_dev_00000_wikitree\t하루는 섬에 산다\n"
    "1\t하루는\t하루 는\tNNP+JX\t3\tNP_SBJ\n2\t섬에\t섬 에\tNNG+JKB\t3\tNP_AJT\n"
    "3\t산다\t살 ㄴ다\tVV+EF\t0\tVP\n\n"
)


def write_published(root: Path) -> None:
    """Invented rows in the layouts of the published datasets."""
    jglue = root / "jglue" / "datasets"
    for split in ("train", "valid"):
        write_lines(
            jglue / "jnli-v1.3" / f"{split}-v1.3.json",
            (
                {
                    "sentence_pair_id": str(n),
                    "yjcaptions_id": f"{n}-{n}-{n + 1}",
                    "sentence1": f"灯台守が油を{n}回運ぶ。",
                    "sentence2": "人が油を運ぶ。",
                    "label": ("entailment", "contradiction", "neutral")[n % 3],
                }
                for n in range(6)
            ),
        )
    write_lines(
        jglue / "jsts-v1.3" / "valid-v1.3.json",
        (
            {
                "sentence_pair_id": str(n),
                "yjcaptions_id": f"{n}-{n}-{n + 1}",
                "sentence1": "波が高い。",
                "sentence2": "高い波だ。",
                "label": 1.0 + n % 4,
            }
            for n in range(6)
        ),
    )
    article = {
        "title": "霧島灯台",
        "paragraphs": [
            {
                "context": "霧島灯台 [SEP] 塔は白い。守は三人。",
                "qas": [
                    {
                        "id": "a1p0q0",
                        "question": "塔の色は？",
                        "answers": [{"text": "白い", "answer_start": 13}],
                        "is_impossible": False,
                    }
                ],
            }
        ],
    }
    squad = jglue / "jsquad-v1.3" / "valid-v1.3.json"
    squad.parent.mkdir(parents=True)
    squad.write_text(json.dumps({"version": "1.3", "data": [article]}, ensure_ascii=False), "utf-8")
    klue = root / "klue" / "klue_benchmark"
    nli = [
        {
            "guid": f"klue-nli-v1_dev_{n:05}",
            "source": "wikitree",
            "premise": "등대지기가 기름을 나른다.",
            "hypothesis": "사람이 기름을 나른다.",
            "gold_label": "entailment",
            **{f"annotator{k or ''}": "entailment" for k in ("", 2, 3, 4, 5)},
            "author": "entailment",
        }
        for n in range(4)
    ]
    turns = [
        {"role": "user", "text": "손님 0", "state": ["식당-지역-북쪽"]},
        {"role": "sys", "text": "안내 0"},
    ]
    wos = [{"guid": "wos-v1_dev_00000", "domains": ["식당"], "dialogue": turns}]
    for place, content in (
        ("klue-nli-v1.1/klue-nli-v1.1_dev.json", nli),
        ("wos-v1.1/wos-v1.1_dev.json", wos),
        ("wos-v1.1/ontology.json", {"식당-지역": ["none", "dontcare", "북쪽", "남쪽"]}),
        ("klue-ner-v1.1/klue-ner-v1.1_dev.tsv", NER),
        ("klue-dp-v1.1/klue-dp-v1.1_dev.tsv", DP),
    ):
        path = klue / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        path.write_text(text, "utf-8")
    write_jsick(root / "jsick" / "jsick")
    jamp = root / "jamp" / "dataset" / "train_all.tsv"
    jamp.parent.mkdir(parents=True)
    jamp.write_text(
        "num\tpremise\thypothesis\tgold_label\ttemplate_num\ttime_format\ttime_span\tcategory\n"
        "1\tハルは港に船を停めている。\tハルは現在港に船を停めている。\tentailment\t0\tNone\tNone\t現在（現在形）\n",
        "utf-8",
    )


def write_jsick(folder: Path) -> None:
    """The released table of JSICK and the one with each worker's answers."""
    released = {
        "pair_ID": "1",
        "data": "test",
        "sentence_A_En": "A kite circles the old tower",
        "sentence_B_En": "A kite is in the air",
        "entailment_label_En": "entailment",
        "relatedness_score_En": "4.2",
        "corr_entailment_labelAB_En": "",
        "corr_entailment_labelBA_En": "",
        "sentence_A_Ja": "凧が古い塔を巡っている",
        "sentence_B_Ja": "凧が空を飛んでいる",
        "entailment_label_Ja": "entailment",
        "relatedness_score_Ja": "4.3",
        "image_ID": "",
        "original_caption": "",
        "semtag_short": "",
        "semtag_long": "",
    }
    answers = {
        key: value
        for key, value in released.items()
        if key.startswith(("pair", "sent", "ent", "rel"))
    }
    answers |= {f"entailment_label_Ja{k}": "entailment" for k in (1, 2, 3)}
    answers |= {f"relatedness_score_Ja{k}": "4.0" for k in (1, 2, 3)}
    folder.mkdir(parents=True)
    for name, row, end in (
        ("jsick.tsv", released, "\n"),
        ("jsick-all-annotations.tsv", answers, "\r\n"),
    ):
        text = end.join(("\t".join(row), "\t".join(row.values()), ""))
        (folder / name).write_bytes(text.encode())


def make_bombs(folder: Path) -> None:
    """Small files that hold far more than they weigh."""
    block = b"a" * (1 << 20)
    blocks = BOMB_BYTES // len(block)
    with gzip.GzipFile(folder / "line.gz", "wb", compresslevel=1, mtime=0) as packed:
        for _ in range(blocks):
            packed.write(block)
    with (
        (folder / "line.zst").open("wb") as raw,
        zstandard.ZstdCompressor().stream_writer(raw) as stream,
    ):
        for _ in range(blocks):
            stream.write(block)
    window = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=False)
    with (
        (folder / "window.zst").open("wb") as raw,
        zstandard.ZstdCompressor(compression_params=window).stream_writer(raw) as stream,
    ):
        stream.write(b'{"id": "1", "answer": "a"}\n' * 1000)
    part = lzma.compress(block * 64, preset=0)
    (folder / "line.xz").write_bytes(part * (blocks // 64))
    long = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(2_000, np.int32)), pa.array(["a" * 1_000_000])
    )
    ids = pa.array([str(n) for n in range(2_000)])
    pq.write_table(pa.table({"id": ids, "answer": long}), folder / "cells.parquet")
    nulls = pa.nulls(60_000_000, pa.string())
    pq.write_table(pa.table({"id": nulls, "answer": nulls}), folder / "rows.parquet")
    sink = io.BytesIO()
    with (
        zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as member,
    ):
        member.write(b'{"id": "')
        for _ in range(blocks):
            member.write(block)
    (folder / "deflate.eval").write_bytes(sink.getvalue())
    zst = (folder / "line.zst").read_bytes()
    (folder / "zstd.eval").write_bytes(_archive_of_packed("samples/1_epoch_1.json", zst))
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (150000000,), }"
    head = header + b" " * (117 - 10 - len(header)) + b"\n"
    with (folder / "sparse.npy").open("wb") as raw:
        raw.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
        raw.truncate(10 + len(head) + 150_000_000 * 8)


def _archive_of_packed(name: str, packed: bytes) -> bytes:
    """An archive whose one member is these bytes, said to be packed by Zstandard."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(name, packed)
    data = bytearray(sink.getvalue())
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.find(mark) if offset == 8 else data.rfind(mark)
        data[at + offset : at + offset + 2] = (93).to_bytes(2, "little")
    return bytes(data)
