"""The memory that exact marginals take is what was counted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.real_data import DATA

UAI = DATA / "uai"

#: A process of its own, whose heap has no holes: what the answer takes at its peak, and what was counted.
MEASURE = """
import re, sys
import numpy as np
from crfkit.graphs import load as load_graph
from crfkit.inference.methods import Elimination
from crfkit.structures.graphs.evidence import without_observed
from tests.cases.graphs import grid

def memory(field):
    return 1024 * int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

name, method = sys.argv[1], Elimination(lanes=False)
if name.endswith(".uai"):
    scores = without_observed(load_graph(name, evidence=name + ".evid")).potentials
else:
    rows, columns, labels = map(int, name.split())
    scores = grid(np.random.default_rng(0), rows, columns, labels)
counted = method.estimate(scores)["bytes"][0]
before = memory("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
method.marginals(scores, False, 1)
print(counted, memory("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the peaks of Linux")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers take memory of their own")
@pytest.mark.parametrize("name", ["18 18 2", "8 8 5", "CSP_11", "ObjectDetection_11"])
def test_memory_is_taken_as_it_was_counted(name: str) -> None:
    if "_" in name:
        name = str(UAI / f"{name}.uai")
        if not Path(name).exists():
            pytest.skip("needs the models of the UAI competition")
    ran = subprocess.run([sys.executable, "-c", MEASURE, name], capture_output=True, text=True, check=True)
    counted, taken = map(float, ran.stdout.split())
    assert counted > 8e6
    assert 0.5 * counted < taken < 1.2 * counted + 4e6
