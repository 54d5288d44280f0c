from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str
compiler: str

def simd_levels() -> list[str]: ...

class Problem:
    @staticmethod
    def chain(
        node: NDArray[np.float64],
        tables: Sequence[NDArray[np.float64]],
        start: NDArray[np.float64] | None,
        stop: NDArray[np.float64] | None,
        seq_ptr: NDArray[np.int64],
    ) -> Problem: ...
    @staticmethod
    def segments(
        segment: NDArray[np.float64],
        edge: NDArray[np.float64],
        start: NDArray[np.float64] | None,
        stop: NDArray[np.float64] | None,
        seq_ptr: NDArray[np.int64],
    ) -> Problem: ...
    @staticmethod
    def tree(
        node: NDArray[np.float64],
        node_ptr: NDArray[np.int64],
        edge: NDArray[np.float64],
        edge_ptr: NDArray[np.int64],
        parent: NDArray[np.int32],
        width: NDArray[np.int32],
        seq_ptr: NDArray[np.int64],
    ) -> Problem: ...

class Kernels:
    @staticmethod
    def named(name: str) -> Kernels: ...
    @property
    def name(self) -> str: ...
    def log_partition(self, problem: Problem, log_space: bool, threads: int) -> NDArray[np.float64]: ...
    def expected_score(
        self, problem: Problem, log_space: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def marginals(self, problem: Problem, edges: bool, log_space: bool, threads: int) -> dict[str, Any]: ...
    def reach(self, problem: Problem, edges: bool, threads: int) -> dict[str, Any]: ...
    def best(
        self, problem: Problem, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8] | None]: ...
    def kbest(
        self, problem: Problem, k: int, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8] | None]: ...
    def sample(
        self, problem: Problem, n: int, seed: int, log_space: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8] | None]: ...
    def count(self, problem: Problem, prime: int, threads: int) -> NDArray[np.uint64]: ...
