"""Contents on the disk of a node: what cannot be written is named with the node, and leaves nothing behind."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.execute.base import Content
from nikawa.execute.contents import ContentSender, fetch_content, node_folder


def test_a_full_disk_is_named_and_nothing_is_left_on_it(tmp_path: Path) -> None:
    blocks: list[bytes] = []

    def put(block: bytes) -> int:
        blocks.append(block)
        return len(blocks) - 1

    (tmp_path / "한글 폴더").mkdir()
    for name in ("a.bin", "b.bin"):
        (tmp_path / "한글 폴더" / name).write_bytes(name.encode())
    sent = ContentSender(put).send(Content(tmp_path / "한글 폴더", "한글 폴더"))
    node = tmp_path / "node"
    node.mkdir()

    def get(number: int) -> bytes:
        if number == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return blocks[number]

    with pytest.raises(
        BadInput, match=r"node: the node .* cannot write there: No space left"
    ) as full:
        fetch_content(sent, node, get)
    assert socket.gethostname() in str(full.value)
    assert "NIKAWA_NODE_DIR" in str(full.value)
    assert [path for path in (node / "contents").iterdir() if path.suffix != ".lock"] == []
    path, size = fetch_content(sent, node, blocks.__getitem__)
    assert (sorted(each.name for each in path.iterdir()), size) == (["a.bin", "b.bin"], 10)


def test_a_folder_of_a_node_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NIKAWA_NODE_DIR", str(tmp_path / "file" / "node"))
    with pytest.raises(BadInput, match="cannot write there: Not a directory; make room, or set"):
        node_folder()


def test_a_content_that_lost_a_file_is_fetched_again(tmp_path: Path) -> None:
    blocks: list[bytes] = []

    def put(block: bytes) -> int:
        blocks.append(block)
        return len(blocks) - 1

    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "vocab.txt"):
        (model / name).write_text(name)
    sender, node = ContentSender(put), tmp_path / "node"
    node.mkdir()
    for sent in (sender.send(Content(model, "model")), sender.send(Content(b"{}", "data.json"))):
        path, size = fetch_content(sent, node, blocks.__getitem__)
        assert fetch_content(sent, node, blocks.__getitem__) == (path, 0)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        files[-1].unlink()  # as systems do with old temporary files
        assert fetch_content(sent, node, blocks.__getitem__) == (path, size)
        files[0].write_bytes(b"")  # as after a power cut
        assert fetch_content(sent, node, blocks.__getitem__) == (path, size)
        assert all(file.stat().st_size for file in files)
