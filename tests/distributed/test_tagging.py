"""Tagging by partitions: the spans of one process, on Dask, Ray and Spark."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import ChainCRF
from crfkit.distributed import TagPartition, tag_files, write_blocks
from tests.cases.cli import run

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")

TEXTS = [
    "Ana lives in New York",
    "nobody here",
    None,
    "",
    "in New York\u2028Leo saw Ana",
    "\U0001f600 Ana",
] * 40


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads raw text."""
    X = [["Ana", "lives", "in", "New", "York"], ["Leo", "saw", "nobody", "here"]] * 5
    y = [["B-PER", "O", "O", "B-LOC", "I-LOC"], ["B-PER", "O", "O", "O"]] * 5
    made = tmp_path_factory.mktemp("model") / "m.crf"
    ChainCRF().fit(X, y).model_.with_text("words").save(made)
    return made


def files(folder: Path, count: int = 4) -> list[Path]:
    folder.mkdir()
    made = []
    for k in range(count):
        made.append(folder / f"part-{k}.parquet")
        pq.write_table(pa.table({"id": list(range(k, len(TEXTS), count)), "text": TEXTS[k::count]}), made[-1])
    return made


def expected(path: Path) -> dict[int, Any]:
    """The spans of each text by the model itself."""
    model = crfkit.load(path)
    return {
        n: None if text is None else [(s.start, s.end, s.label) for s in model(text).spans]
        for n, text in enumerate(TEXTS)
    }


def found(rows: list[dict[str, Any]]) -> dict[int, Any]:
    return {
        row["id"]: None
        if row["spans"] is None
        else [(one["start"], one["end"], one["label"]) for one in row["spans"]]
        for row in rows
    }


def test_a_partition_has_the_spans_of_the_model(path: Path) -> None:
    tag = TagPartition(path)
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS})
    made = tag(table)
    assert found(made.to_pylist()) == expected(path)
    assert len([1 for spans in expected(path).values() if spans]) > 100
    assert made.schema == tag.schema(table.schema)
    again: TagPartition = pickle.loads(pickle.dumps(tag))
    assert len(pickle.dumps(tag)) < 500
    assert again.model is tag.model  # once in a process
    batches = list(again.iterate(iter(table.to_batches(50))))
    assert pa.Table.from_batches(batches).to_pylist() == made.to_pylist()
    assert again.frame(table.to_pandas())["spans"].tolist() == made["spans"].to_pylist()
    assert again(table.slice(0, 0)).num_rows == 0


def test_tokens_and_what_is_wrong(path: Path, tmp_path: Path) -> None:
    rows = [["Ana", "lives"], [], None, ["in", "New", "York"]]
    made = TagPartition(path, "words")(pa.table({"words": rows}))
    assert [
        one if one is None else [(s["start"], s["end"], s["label"]) for s in one]
        for one in made["spans"].to_pylist()
    ] == [[(0, 1, "PER")], [], None, [(1, 3, "LOC")]]
    with pytest.raises(ValueError, match="there is no column 'text'; the columns are words"):
        TagPartition(path)(pa.table({"words": rows}))
    with pytest.raises(ValueError, match="column text is of int64, expected strings"):
        TagPartition(path)(pa.table({"text": [1]}))
    with pytest.raises(ValueError, match="there is a column 'spans' already"):
        TagPartition(path)(pa.table({"text": ["a"], "spans": [1]}))
    other = TagPartition(path, digest="0" * 32)
    with pytest.raises(ValueError, match="is another model than where this was sent from"):
        other(pa.table({"text": ["a"]}))


def test_files_are_tagged_once(path: Path, tmp_path: Path, two: Any) -> None:
    given = files(tmp_path / "in")
    out = tmp_path / "out"
    made = tag_files(TagPartition(path), f"{tmp_path}/in/part-*.parquet", out, cluster=two)
    assert [one.name for one in made] == [one.name for one in given]
    rows = [row for one in made for row in pq.read_table(one).to_pylist()]
    assert found(rows) == expected(path)
    before = {one: one.stat().st_mtime_ns for one in made}
    made[2].unlink()
    tag_files(TagPartition(path), given, out, cluster=two)
    changed = [one for one in made if one.stat().st_mtime_ns != before[one]]
    assert changed == [made[2]]
    assert sorted(one.name for one in out.iterdir()) == [one.name for one in given]
    other = tmp_path / "other.crf"
    ChainCRF(l2=3.0).fit([["Ana"]] * 3, [["B-PER"], ["O"], ["O"]]).model_.with_text("words").save(other)
    with pytest.raises(ValueError, match="was made by another model; remove it, or give another folder"):
        tag_files(TagPartition(other), given, out, cluster=two)


def test_a_killed_worker_costs_its_partition(path: Path, tmp_path: Path, two: Any) -> None:
    given = files(tmp_path / "in", 12)
    out = tmp_path / "out"

    def kill() -> None:
        deadline = time.monotonic() + 20.0
        while not list(out.glob("*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.001)
        os.kill(next(iter(two.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    made = tag_files(TagPartition(path), given, out, cluster=two)
    killer.join()
    rows = [row for one in made for row in pq.read_table(one).to_pylist()]
    assert found(rows) == expected(path)
    assert len(list(out.iterdir())) == 12


def test_files_that_a_worker_does_not_see(path: Path, tmp_path: Path, two: Any) -> None:
    """A link that leads to a folder which this process alone has open."""
    files(tmp_path / "in", 2)
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    folder = os.open(tmp_path, os.O_RDONLY)
    own = os.dup2(folder, 900)
    try:
        there = Path(f"/proc/self/fd/{own}")
        message = r"worker tcp://.* does not see /proc/self/fd/900/.*that all machines mount"
        with pytest.raises(ValueError, match=message):
            tag_files(TagPartition(path), there / "in" / "part-*.parquet", tmp_path / "out", cluster=two)
        with pytest.raises(ValueError, match=message):
            tag_files(TagPartition(path), tmp_path / "in" / "part-*.parquet", there / "out", cluster=two)
        with pytest.raises(ValueError, match=message):
            write_blocks(there / "in" / "part-*.parquet", tmp_path / "blocks", cluster=two)
    finally:
        os.close(folder)
        os.close(own)


def test_crfkit_tag_on_a_cluster(path: Path, tmp_path: Path, two: Any) -> None:
    files(tmp_path / "in", 2)
    address = two.cluster.scheduler_address
    pattern = f"{tmp_path}/in/part-*.parquet"
    done = run("tag", path, pattern, "--dask", address, "-o", tmp_path / "out")
    assert "2 files" in done.stderr
    rows = [row for one in sorted((tmp_path / "out").iterdir()) for row in pq.read_table(one).to_pylist()]
    assert found(rows) == expected(path)
    refused = run("tag", path, pattern, "--dask", address, status=2)
    assert "--output" in refused.stderr


def test_dask_dataframe(path: Path, tmp_path: Path, two: Any) -> None:
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    files(tmp_path / "in")
    frame = dd.read_parquet(tmp_path / "in", columns=["id", "text"])
    meta = frame._meta.assign(spans=pd.Series(dtype=object))
    made = two.compute(frame.map_partitions(TagPartition(path).frame, meta=meta)).result()
    assert found(made.to_dict("records")) == expected(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of their own
def test_ray(path: Path, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    files(tmp_path / "in")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    try:
        made = ray.data.read_parquet(str(tmp_path / "in")).map_batches(
            TagPartition,
            fn_constructor_args=[str(path)],
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=1),
        )
        assert found(made.take_all()) == expected(path)
    finally:
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of their own
def test_spark(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    files(tmp_path / "in")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        schema = "id long, text string, spans array<struct<start:int,end:int,label:string,p:float>>"
        frame = spark.read.parquet(str(tmp_path / "in"))
        made = frame.mapInArrow(TagPartition(path).iterate, schema).collect()
        assert found([row.asDict(recursive=True) for row in made]) == expected(path)
    finally:
        spark.stop()
