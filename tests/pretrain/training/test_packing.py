from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.packing import (
    Pack,
    PackOptions,
    compress_pack,
    join_stream,
    open_pack,
    pack_text,
    read_chunks,
)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _shown(packed: Pack, tokenizer: Path) -> str:
    from tokenizers import Tokenizer

    known = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    parts = zip(packed.ids().tolist(), packed.begins().tolist(), strict=True)
    return " ".join(f"{'|' if begins else ''}{known.id_to_token(piece)}" for piece, begins in parts)


def two_letters(lines: Sequence[str]) -> list[list[int]]:
    """Words of two letters each, whatever stands there."""
    return [list(range(0, len(line), 2)) for line in lines]


def test_documents_are_parted_and_words_begin_behind_blanks(
    tokenizer: Path, tmp_path: Path
) -> None:
    text = _write(tmp_path / "a.txt", "\n\nあさ よる\nとり\n\n\nそら\n\n")
    packed = pack_text(tokenizer, text, tmp_path / "pack")
    assert _shown(packed, tokenizer) == "|あ さ |▁よ る |と り |[SEP] |そ ら"
    meta = packed.meta
    assert (meta.pieces, meta.words, meta.lines, meta.documents, meta.characters) == (9, 5, 3, 2, 9)
    assert (meta.special, meta.first_piece) == ({"pad": 0, "cls": 2, "sep": 3, "mask": 4}, 261)


def test_words_come_from_whoever_knows_them(tokenizer: Path, tmp_path: Path) -> None:
    text = _write(tmp_path / "a.txt", "うみかぜそら\nあ そらとり\n")
    packed = pack_text(tokenizer, text, tmp_path / "pack", PackOptions(word_starts=two_letters))
    # "▁そ" begins with a blank: its first letter that is none stands at 2, a beginning
    assert _shown(packed, tokenizer) == "|う み |か ぜ |そ ら |あ |▁そ ら |と り"


def test_bytes_of_one_letter_are_one_word_and_marks_stand_alone(
    tokenizer: Path, tmp_path: Path
) -> None:
    text = _write(tmp_path / "a.txt", "あ鰯、い\n")
    packed = pack_text(tokenizer, text, tmp_path / "pack")
    assert (
        _shown(packed, tokenizer)
        == "|あ <0xE9> <0xB0> <0xAF> |<0xE3> <0x80> <0x81> |<0xE3> <0x81> <0x84>"
    )


def test_a_blank_alone_belongs_to_what_follows(tokenizer: Path, tmp_path: Path) -> None:
    text = _write(tmp_path / "a.txt", "あ x\n")
    packed = pack_text(tokenizer, text, tmp_path / "pack")
    assert _shown(packed, tokenizer) == "|あ |▁ <0x78>"


@pytest.mark.slow
def test_any_number_of_processes_writes_the_same(
    tokenizer: Path, tmp_path: Path, text_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(tmp_path / "a.txt", 300, 0)
    monkeypatch.setattr("nikawa.pretrain.packing.read_chunks", lambda path: read_chunks(path, 2000))
    seen: list[int] = []
    tell = PackOptions(on_progress=lambda _what, done, _total: seen.append(done))
    one = pack_text(tokenizer, text, tmp_path / "one", tell)
    two = pack_text(tokenizer, text, tmp_path / "two", PackOptions(where=2))
    whole = pack_text(tokenizer, text, tmp_path / "whole")
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert seen[-1] == text.stat().st_size
    for name in ("pieces.bin", "words.bin", "pack.json"):
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()
    monkeypatch.undo()
    assert pack_text(tokenizer, text, tmp_path / "again").meta == whole.meta == one.meta


def test_a_squeezed_pack_is_the_same_pack(
    tokenizer: Path, tmp_path: Path, text_of: Callable[..., Path]
) -> None:
    made = pack_text(tokenizer, text_of(tmp_path / "a.txt", 100, 0), tmp_path / "pack")
    compress_pack(made.folder, tmp_path / "small")
    small = open_pack(tmp_path / "small")
    assert small.meta == made.meta
    assert (small.ids() == made.ids()).all()
    assert (small.begins() == made.begins()).all()
    sizes = [
        sum(file.stat().st_size for file in folder.iterdir())
        for folder in (small.folder, made.folder)
    ]
    assert sizes[0] < sizes[1] / 2


def test_nothing_is_overwritten_or_half_written(tokenizer: Path, tmp_path: Path) -> None:
    text = _write(tmp_path / "a.txt", "あさ\n")
    pack_text(tokenizer, text, tmp_path / "pack")
    with pytest.raises(BadInput, match="already exists"):
        pack_text(tokenizer, text, tmp_path / "pack")
    bad = tmp_path / "bad.txt"
    bad.write_bytes("あさ\n".encode() + b"\xff\xfe\n")
    with pytest.raises(BadInput, match=r"bad\.txt, line 2: is not UTF-8"):
        pack_text(tokenizer, bad, tmp_path / "other")
    with pytest.raises(BadInput, match="contains no text"):
        pack_text(tokenizer, _write(tmp_path / "c.txt", "\n \n"), tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "bad.txt", "c.txt", "pack"]


def test_what_is_no_pack_or_no_tokenizer_is_told(tokenizer: Path, tmp_path: Path) -> None:
    text = _write(tmp_path / "a.txt", "あさ\n")
    with pytest.raises(BadInput, match="is not packed text"):
        open_pack(tmp_path)
    with pytest.raises(BadInput, match=r"tokenizer\.json: cannot be read"):
        pack_text(tmp_path, text, tmp_path / "pack")
    made = pack_text(tokenizer, text, tmp_path / "pack")
    (made.folder / "pieces.bin").write_bytes(b"")
    with pytest.raises(BadInput, match="has 0 entries instead of 2"):
        open_pack(made.folder).ids()
    (made.folder / "pieces.bin").unlink()
    with pytest.raises(BadInput, match=r"pieces\.bin\.xz: is missing"):
        open_pack(made.folder).ids()


def test_pieces_and_beginnings_share_a_number() -> None:
    found = join_stream(np.array([7, 65_535], dtype=np.uint16), [True, False])
    assert found.tolist() == [15, 131_070]
