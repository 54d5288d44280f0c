"""Model files that are overwritten or cut short while they are mapped: an answer or an error, no crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import Model, Stop, train
from crfkit.features import ItemExtractor
from crfkit.models.store import file_bytes, map_file, pack, unpack

X, Y = [[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2


def model() -> Model:
    return train(ItemExtractor()(X, Y), stop=Stop(max_iterations=30))


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("how", ["overwrite", "cut"])
def test_files_that_change_while_models_use_them(how: str) -> None:
    ended = python("-m", "tests.cases.changed_files", how)
    assert (ended.returncode, ended.stderr) == (0, "")


# ---- the signal

SETUP = """
import faulthandler, mmap, os, signal, sys, threading
import numpy as np
from crfkit.models.store import check_file, map_file

def fill(name):
    path = os.path.join(sys.argv[1], name)
    with open(path, "wb") as file:
        file.write(b"x" * (1 << 16))
    return path

def mapped():
    path = fill("ours")
    return path, map_file(path)

def foreign():  # a fault that is none of ours
    path = fill("theirs")
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    os.truncate(path, 0)
    return data[5000]

def cut(path, data):
    os.truncate(path, 0)
    assert data[5000] == 0
    try:
        check_file(data)
    except ValueError as error:
        assert str(error).startswith(path + " was changed while it was in use"), error
        return
    sys.exit("nobody noticed")

path, data = mapped()
check_file(data)
"""

HEALED = {
    "plain": "cut(path, data)",
    "faulthandler before": "faulthandler.enable(); cut(*mapped())",
    "faulthandler after": "faulthandler.enable(file=open(os.devnull, 'w')); cut(path, data)",
    "faulthandler off again": "faulthandler.enable(); kept = mapped(); faulthandler.disable(); cut(*kept)",
    "ignored": (
        "signal.signal(signal.SIGBUS, signal.SIG_IGN); kept = mapped(); signal.raise_signal(signal.SIGBUS); "
        "cut(*kept)"
    ),
    "a handler of Python": """
seen = []
signal.signal(signal.SIGBUS, lambda *_: seen.append(1))
kept = mapped()
signal.raise_signal(signal.SIGBUS)
assert seen == [1]
cut(*kept)
""",
    "a child": """
if (child := os.fork()) == 0:
    cut(path, data)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
cut(path, data)
""",
    "threads": """
os.truncate(path, 0)
all_at_once = threading.Barrier(8)
sums = []
def add():
    all_at_once.wait()
    sums.append(int(np.frombuffer(data, np.uint8).sum()))
threads = [threading.Thread(target=add) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sums == [0] * 8
cut(path, data)
""",
    "many files": """
many = [mapped() for _ in range(50)]  # one file, mapped often
for kept in many:
    cut(*kept)
del many, kept
again, fresh = mapped()
check_file(fresh)
assert fresh[5000] == ord("x")
""",
}


@pytest.mark.parametrize("case", HEALED)
def test_what_is_gone_reads_as_zeros_and_is_reported(case: str, tmp_path: Path) -> None:
    ended = python("-c", SETUP + HEALED[case], str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")


FATAL = {
    "a fault elsewhere": ("foreign()", ""),
    "after one of ours": ("cut(path, data); foreign()", ""),
    "with faulthandler before": ("faulthandler.enable(); mapped(); foreign()", "Fatal Python error: Bus"),
    "with faulthandler after": ("faulthandler.enable(); foreign()", "Fatal Python error: Bus"),
    "ignored": ("signal.signal(signal.SIGBUS, signal.SIG_IGN); mapped(); foreign()", ""),
    "sent": ("signal.raise_signal(signal.SIGBUS)", ""),
    "sent by another": ("os.spawnlp(os.P_WAIT, 'kill', 'kill', '-BUS', str(os.getpid()))", ""),
}


@pytest.mark.parametrize("case", FATAL)
def test_other_bus_errors_end_the_process_as_before(case: str, tmp_path: Path) -> None:
    code, message = FATAL[case]
    ended = python("-c", f"{SETUP}\n{code}\nprint('alive')", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (-signal.SIGBUS, "")
    assert ended.stderr.startswith(message) if message else ended.stderr == ""


# ---- what stays in the file


def test_arrays_are_copied_out_of_a_mapped_file_before_they_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "arrays"
    path.write_bytes(b"".join(pack({"w": np.ones(3), "ids": np.arange(3)}, {})))
    arrays, _ = unpack(map_file(path), "f", stays=lambda name: name == "w")
    path.write_bytes(bytes(path.stat().st_size))
    assert (arrays["w"].tolist(), arrays["ids"].tolist()) == ([0.0, 0.0, 0.0], [0, 1, 2])
    assert not arrays["ids"].flags.writeable


def test_only_weights_and_names_of_a_model_stay_in_its_file(tmp_path: Path) -> None:
    model().save(path := tmp_path / "m.crf")
    opened = Model.load(path)
    ids = [array for block in opened.layout.blocks for array in (block.ptr, block.cell)]
    before = [array.copy() for array in ids]
    path.write_bytes(b"\xff" * path.stat().st_size)
    assert np.isnan(opened.w).all()
    for array, kept in zip(ids, before, strict=True):
        assert np.array_equal(array, kept)


def test_weights_that_become_nan_are_an_error_that_says_so(tmp_path: Path) -> None:
    model().save(path := tmp_path / "m.crf")
    opened = Model.load(path)
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(ValueError, match="weights must be finite"):
        opened.predict([[["unknown"]]])


def test_a_file_that_is_read_into_memory_may_change(tmp_path: Path) -> None:
    made = model()
    made.save(path := tmp_path / "m.crf")
    read = [Model.load(path, mapped=False), crfkit.load(path, mapped=False)]
    assert isinstance(file_bytes(path, mapped=False), bytes)
    path.write_bytes(b"")
    for one in read:
        assert one.predict(X) == made.predict(X)
        assert one.attributes.strings() == made.attributes.strings()


def test_a_file_that_is_replaced_by_renaming_changes_nothing(tmp_path: Path) -> None:
    made = model()
    made.save(path := tmp_path / "m.crf")
    opened = Model.load(path)
    (tmp_path / "new").write_bytes(b"")
    os.replace(tmp_path / "new", path)
    assert opened.predict(X) == made.predict(X)


def test_files_of_foreign_kinds_are_named_where_they_are_cut_short(tmp_path: Path) -> None:
    crfkit.models.files.write_model(model(), path := tmp_path / "m.crfsuite", "crfsuite")
    opened = crfkit.load(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"m\.crfsuite was changed while.*os\.replace.*mapped=False"):
        opened.attributes.find("dog")
