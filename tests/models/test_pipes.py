"""Models, checkpoints and blocks that are no files: pipes are read, all else is refused, nothing hangs."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import BoostedCRF, Model, Stop, train
from crfkit.data import opening, source
from crfkit.errors import ModelFileError
from crfkit.estimators.classic import CodeCRF, KernelChainCRF, VotedPerceptron
from crfkit.features import ItemExtractor
from crfkit.models.files import about, read_model, write_model
from crfkit.training import BlockedData, Checkpoints
from crfkit.training.runs.tree import read_tree

X, Y = [[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2


@pytest.fixture(scope="module")
def model() -> Model:
    return train(ItemExtractor()(X, Y), stop=Stop(max_iterations=3))


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A named pipe without a writer."""
    monkeypatch.setattr(opening, "LONGEST_WAIT", 0.2)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@contextmanager
def written(path: Path, data: bytes) -> Iterator[None]:
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    yield
    writer.join()


READERS: list[Callable[[Path], Any]] = [crfkit.load, Model.load, read_model, about]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("read", READERS)
def test_models_come_through_pipes(
    read: Callable[[Path], Any], packed: bool, model: Model, pipe: Path
) -> None:
    data = model.to_bytes()
    with written(pipe, gzip.compress(data) if packed else data):
        found = read(pipe)
    if isinstance(found, Model):
        assert found.to_bytes() == data
    else:
        assert found.weights == len(model.w)


def test_foreign_models_come_through_pipes(model: Model, pipe: Path, tmp_path: Path) -> None:
    write_model(model, tmp_path / "m.crfsuite", "crfsuite")
    with written(pipe, (tmp_path / "m.crfsuite").read_bytes()):
        assert crfkit.load(pipe).predict(X) == model.predict(X)


@pytest.mark.parametrize("read", [*READERS, BoostedCRF.load, KernelChainCRF.load, VotedPerceptron.load])
@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_no_model_is_named(
    read: Callable[..., Any], mapped: bool, pipe: Path, tmp_path: Path
) -> None:
    options = {} if read is about or read not in READERS else {"mapped": mapped}
    for path, message in (
        (pipe, "pipe is a pipe that nobody writes to"),
        (tmp_path, "is a folder; give the file of a model"),
        (Path("/dev/null"), "/dev/null is a device; give the file of a model"),
        (Path("/dev/zero"), "/dev/zero is a device; give the file of a model"),
    ):
        with pytest.raises(ModelFileError, match=message):
            read(path, **options)


def test_pipes_have_a_bound_and_may_be_empty(
    model: Model, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_PIPED", 1000)
    with (
        written(pipe, model.to_bytes()),
        pytest.raises(ModelFileError, match=r"more than 1,000 bytes; write"),
    ):
        crfkit.load(pipe)
    ours, theirs = os.pipe()
    os.close(theirs)
    with pytest.raises(ModelFileError, match="is empty"):
        crfkit.load(f"/dev/fd/{ours}")
    os.close(ours)


def test_checkpoints_and_blocks_are_files(pipe: Path, tmp_path: Path) -> None:
    for path, what in ((pipe, "a pipe"), (tmp_path, "a folder"), (Path("/dev/zero"), "a device")):
        with pytest.raises(ValueError, match=f"{path} is {what}; remove it$"):
            read_tree(path)
    checkpoints = Checkpoints(tmp_path / "run")
    (tmp_path / "run").mkdir()
    os.mkfifo(checkpoints.path)
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors is a pipe; remove it$"):
        train(ItemExtractor()(X, Y), checkpoint=checkpoints)
    stored = BlockedData.write(tmp_path / "blocks", iter([ItemExtractor()(X, Y)]))
    (tmp_path / "blocks" / "block-000000.safetensors").unlink()
    os.mkfifo(tmp_path / "blocks" / "block-000000.safetensors")
    with pytest.raises(ValueError, match=r"block-000000\.safetensors is a pipe; write the blocks again$"):
        stored.block(0)


def test_the_folder_of_a_code_holds_files(tmp_path: Path) -> None:
    CodeCRF(code="minimal").fit(X, Y).save(tmp_path)
    (tmp_path / "code.json").unlink()
    os.mkfifo(tmp_path / "code.json")
    with pytest.raises(ValueError, match=r"code\.json is not a file"):
        CodeCRF.load(tmp_path)


# ---- what lies behind gzip


@pytest.mark.parametrize("rest", [b"more", b"\x1f\x8b", b"\0\0more"])
@pytest.mark.parametrize("kind", ["crfkit", "crfsuite"])
def test_bytes_behind_a_compressed_model_are_refused(
    kind: str, rest: bytes, model: Model, tmp_path: Path
) -> None:
    path = tmp_path / "m.gz"
    write_model(model, tmp_path / "m", kind)
    path.write_bytes(gzip.compress((tmp_path / "m").read_bytes()) + rest)
    with pytest.raises(ModelFileError, match=r"m\.gz (is damaged gzip|ends in the middle of its gzip data)"):
        crfkit.load(path)


def test_a_model_may_be_compressed_in_parts(model: Model, tmp_path: Path) -> None:
    """As parallel and blocked compressors do it; zeros may fill up the last block of a tape."""
    data = model.to_bytes()
    parts = [gzip.compress(data[at : at + 500]) for at in range(0, len(data), 500)]
    (tmp_path / "m.gz").write_bytes(b"".join(parts) + bytes(512))
    assert crfkit.load(tmp_path / "m.gz").to_bytes() == data
