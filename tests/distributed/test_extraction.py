"""Files to blocks on workers, and `crfkit train --dask`: what one machine makes of the same files."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import data as reading
from crfkit.data.formats.columns import Columns
from crfkit.distributed import write_blocks
from crfkit.errors import DataError
from crfkit.features import Extractor, Recipe
from crfkit.training import BlockedData
from tests.cases.cli import run
from tests.cases.sentences import sentences

pytest.importorskip("distributed")

RECIPE = Recipe.parse("word[0]; suffix(word, 1)[-1]; shape[0]")


def write(folder: Path, ending: str = ".txt", files: int = 3) -> list[str]:
    """Files of 20 sentences each, with a word, its shape and a label."""
    folder.mkdir(exist_ok=True)
    made = []
    for n in range(files):
        X, y = sentences(20, 7 + n)
        rows = [
            [(item[0], f"s{n}", tag) for item, tag in zip(items, tags, strict=True)]
            for items, tags in zip(X, y, strict=True)
        ]
        path = folder / f"part-{n}{ending}"
        reading.write(str(path), Columns.from_rows(rows, ["word", "shape", "label"]))
        made.append(str(path))
    return made


def on_one_machine(paths: list[str], folder: Path, recipe: Recipe, label: Any) -> BlockedData:
    extract = Extractor(recipe, label)

    def parts() -> Any:
        for path in paths:
            for chunk in reading.stream(path, chunk_positions=40):
                yield extract(chunk)  # type: ignore[arg-type]

    return BlockedData.write(folder, parts())


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_blocks_are_those_of_one_machine(tmp_path: Path, two: Any, ending: str) -> None:
    paths = write(tmp_path / "in", ending)
    one = on_one_machine(paths, tmp_path / "one", RECIPE, "label")
    pattern = f"file://{tmp_path}/in/part-*{ending}"  # fsspec
    many = write_blocks(
        pattern, tmp_path / "many", cluster=two, recipe=RECIPE, label="label", block_positions=40
    )
    assert many.blocks == one.blocks > 3
    assert many.fingerprint == one.fingerprint
    for file in sorted((tmp_path / "one").iterdir()):
        if file.name.startswith("block"):
            assert (tmp_path / "many" / file.name).read_bytes() == file.read_bytes(), file.name
    np.testing.assert_array_equal(many.label_counts, one.label_counts)
    assert many.attributes.strings() == one.attributes.strings()


def test_attributes_and_hashed_names(tmp_path: Path, two: Any) -> None:
    made = []
    for n in range(2):
        X, y = sentences(15, n)
        lines = [
            "".join("\t".join([tag, *item]) + "\n" for item, tag in zip(items, tags, strict=True))
            for items, tags in zip(X, y, strict=True)
        ]
        made.append(tmp_path / f"{n}.crfsuite")
        made[-1].write_text("\n".join(lines) + "\n")
    stored = write_blocks(made, tmp_path / "blocks", cluster=two, block_positions=50, format="crfsuite")
    whole = crfkit.data.concatenate([crfkit.read(str(made[0]), "crfsuite")])
    assert len(stored) == 30
    assert stored.attributes.strings()[: len(whole.attributes)] == whole.attributes.strings()  # type: ignore[union-attr]
    paths = write(tmp_path / "in")
    hashed = write_blocks(paths, tmp_path / "hashed", cluster=two, hashed=1000, format="columns")
    assert len(hashed.attributes) == 0
    assert hashed.extractor is not None
    assert hashed.extractor.hashed == 1000


def test_what_is_wrong_is_named(tmp_path: Path, two: Any) -> None:
    paths = write(tmp_path / "in")
    bad = Path(paths[1])
    bad.write_text(bad.read_text() + "one two three four\n")
    with pytest.raises(DataError, match=r"part-1.txt, line \d+"):
        write_blocks(paths, tmp_path / "a", cluster=two, format="columns")
    assert not list((tmp_path / "a").glob("block*"))
    Path(paths[2]).write_text("a b\n")
    with pytest.raises(ValueError, match=r"part-2.txt has columns 2, expected 3 as in .*part-0.txt"):
        write_blocks([paths[0], paths[2]], tmp_path / "b", cluster=two, format="columns")
    with pytest.raises(ValueError, match="no file is like"):
        write_blocks(tmp_path / "none-*", tmp_path / "c", cluster=two)


def test_crfkit_train_on_a_cluster_writes_the_same_file(tmp_path: Path, two: Any) -> None:
    paths = write(tmp_path / "in")
    options = ["--block-positions", "40", "--max-iterations", "8", "--dev", paths[0], "-q", "-a", "lbfgs"]
    run("train", *paths, "-o", tmp_path / "one.crf", *options)
    address = two.cluster.scheduler_address
    pattern = str(tmp_path / "in" / "part-*.txt")
    run("train", pattern, "-o", tmp_path / "many.crf", "--dask", address, *options)
    one, many = (crfkit.load(tmp_path / f"{name}.crf") for name in ("one", "many"))
    assert one.w.tobytes() == many.w.tobytes()
    assert one.attributes.strings() == many.attributes.strings()
    assert one.training.score == many.training.score
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "many.crf", "one.crf"]


def test_crfkit_train_says_what_does_not_go_on_a_cluster(tmp_path: Path, two: Any) -> None:
    paths, address = write(tmp_path / "in"), two.cluster.scheduler_address
    out = ["-o", tmp_path / "m.crf", "--dask", address]
    for options, message in (
        ([paths[0], "--structure", "semi"], "--dask is for chains"),
        (["-"], "standard input cannot be read by the workers"),
        ([paths[0], "-a", "mira-crfpp"], "needs one order of all sequences"),
        ([paths[0], "--train-scheme", "bioes"], "--dask keeps labels as they are"),
    ):
        assert message in run("train", *options, *out, status=None).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes")
@pytest.mark.parametrize("seconds", [2.0, 4.0])
def test_ctrl_c_ends_all_processes_in_one_line(tmp_path: Path, seconds: float) -> None:
    draw = random.Random(1)
    lines = [f"w{draw.randrange(9999)} {draw.choice('ABC')}\n" for _ in range(300_000)]
    (tmp_path / "train.txt").write_text("".join(line + "\n" * (n % 10 == 9) for n, line in enumerate(lines)))
    command = ["-m", "crfkit", "train", "train.txt", "-o", "m.crf", "--dask", "local", "-q"]
    process = subprocess.Popen(
        [sys.executable, *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(seconds)  # at the start of the workers, at the extraction, or at training
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    said = process.communicate(timeout=90)[1]
    assert process.returncode == 130
    if said or not (tmp_path / "m.crf").exists():  # training keeps its model, and is quiet
        assert said.startswith("crfkit: interrupted")
        assert said.count("\n") == 1
