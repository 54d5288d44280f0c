"""The end of the process while other threads are at work: it ends soon, without a signal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Keeps a thread in native code.
BUSY = """
import threading, time
import numpy as np
from crfkit import Chain, inference
scores = Chain(40).potentials(np.zeros((4000, 40)), edge=np.zeros((40, 40)))
begun = threading.Event()

def work():
    while True:
        begun.set()
        inference.log_partition(scores, threads=THREADS)
"""

DAEMON = (
    BUSY
    + """
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.02)
"""
)

ASIDE = """
import threading, time
from crfkit._safe.background import Aside
begun = threading.Event()

def work():
    begun.set()
    time.sleep(0.2)

aside = Aside()
aside.submit(work)
begun.wait()
"""

ITERATOR = """
import time
from crfkit._safe.background import ahead

def parts():
    for n in range(10):
        yield n
        time.sleep(0.2)

coming = ahead(parts())
next(coming)
"""


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("attempt", range(3))
def test_daemons_of_the_caller_in_native_code(threads: str, attempt: int) -> None:
    assert ended(DAEMON.replace("THREADS", threads)) == (0, "")


def test_bindings_give_up_the_lock_in_this_way_alone() -> None:
    files = list((Path(__file__).parents[2] / "cpp/python").iterdir())
    assert any("const Released " in file.read_text() for file in files)
    assert [file.name for file in files if "gil_scoped_release" in file.read_text()] == []


@pytest.mark.parametrize("program", [ASIDE, ITERATOR], ids=["an aside", "an iterator"])
def test_what_nobody_has_closed(program: str) -> None:
    assert ended(program) == (0, "")


def ended(program: str) -> tuple[int, str]:
    """Return the status of a program, and what it said; one that does not end fails."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20.0)
    return done.returncode, done.stderr
