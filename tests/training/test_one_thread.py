"""A training on one thread keeps one core busy: no library that it calls has threads that spin beside it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import sys, time, warnings
from crfkit import Likelihood, Stop, train
from crfkit.objectives import MaxMargin, Perceptron
from crfkit.features import ItemExtractor
from tests.cases import addresses

method = sys.argv[1]
data = addresses.generated()
given = ItemExtractor()(data.X[:300], data.y[:300])
objective = Likelihood(l1=0.01, l2=0.0) if method == "owlqn" else Likelihood(l2=0.00001)
objective = MaxMargin() if method in ("one-slack", "bcfw") else objective
objective = Perceptron() if method == "mira" else objective
stop = Stop(tolerance=1e-12, max_iterations=30 if method == "one-slack" else 150)
warnings.simplefilter("ignore")
time.sleep(0.3)  # whatever imports have started is over
process, thread = time.process_time(), time.thread_time()
while time.thread_time() - thread < 0.5:
    train(given, objective=objective, optimizer=method, n_jobs=1, stop=stop, progress=False)
print((time.process_time() - process) / (time.thread_time() - thread))
"""


@pytest.mark.parametrize(
    "method",
    [
        *("auto", "bcfw"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("lbfgs", "plbfgs", "owlqn", "cg", "newton", "one-slack", "mira")
        ),
    ],
)
def test_one_thread_keeps_one_core_busy(method: str) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, method], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < 1.15
