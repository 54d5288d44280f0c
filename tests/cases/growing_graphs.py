"""Files of graphs of n, for each format and each dimension."""

from __future__ import annotations

import io

import numpy as np

from crfkit.data.graphs.evidence import read_evidence
from crfkit.data.graphs.files import read_factors
from crfkit.data.graphs.results import read_result
from tests.cases.growth import GrowthCase, refused


def graph_cases() -> list[GrowthCase]:
    """Return the cases of models, evidence and results."""

    def uai(n: int) -> bytes:
        scopes = "\n".join(f"1 {v}" for v in range(n))
        return f"MARKOV\n{n}\n{'2 ' * n}\n{n}\n{scopes}\n{'2 1 2 ' * n}".encode()

    def one_factor(n: int) -> bytes:
        return f"MARKOV\n2\n{n} 2\n1\n2 0 1\n{2 * n} {'1 ' * 2 * n}".encode()

    def fg(n: int) -> bytes:
        return f"{n}\n".encode() + b"".join(b"1\n%d\n2\n1\n0 1.5\n" % v for v in range(n))

    def shapes(n: int) -> bytes:
        scopes = " ".join(f"1 {v}" for v in range(n))
        tables = " ".join(f"{v % 100 + 1} {'1 ' * (v % 100 + 1)}" for v in range(n))
        return f"MARKOV {n} {' '.join(str(v % 100 + 1) for v in range(n))} {n} {scopes} {tables}".encode()

    def factors(data: bytes) -> object:
        return read_factors(io.BytesIO(data))

    def evidence(data: bytes) -> object:
        return read_evidence(io.BytesIO(data), np.full(1 << 20, 2, dtype=np.int32))

    def result(data: bytes) -> object:
        return read_result(io.BytesIO(data))

    return [
        GrowthCase("uai: variables and factors", uai, factors, 10_000),
        GrowthCase("uai: cells of a table", one_factor, factors, 50_000),
        GrowthCase("uai: shapes", shapes, factors, 2000),
        GrowthCase("uai: variables", lambda n: f"MARKOV {n} {'2 ' * n} 0".encode(), factors, 100_000),
        GrowthCase(
            "uai: constants", lambda n: f"MARKOV 0 {n} {'0 ' * n} {'1 2 ' * n}".encode(), factors, 30_000
        ),
        GrowthCase(
            "uai: variables of refused factors",
            lambda n: f"MARKOV {n} {'1 ' * n} 1 {n} {' '.join(map(str, range(n)))} 1 1".encode(),
            refused(factors),
            100_000,
        ),
        GrowthCase("uai: digits", lambda n: b"MARKOV 1 2 1 1 0 2 1 0." + b"1" * n, factors, 4_000_000),
        GrowthCase("uai: digits of a count", lambda n: b"MARKOV " + b"1" * n, refused(factors), 4_000_000),
        GrowthCase(
            "uai: blank lines", lambda n: b"MARKOV" + b"\n" * n + b"1 2 1 1 0 2 1 1", factors, 1_000_000
        ),
        GrowthCase("uai: a word", lambda n: b"M" * n, refused(factors), 2_000_000),
        GrowthCase("uai: wrong at the end", lambda n: uai(n) + b"\nx", refused(factors), 10_000),
        GrowthCase("uai: lines", lambda n: uai(n).replace(b" ", b"\n") + b"\n1", refused(factors), 10_000),
        GrowthCase("fg: factors", fg, factors, 4000),
        GrowthCase("fg: comments", lambda n: b"# a\n" * n + fg(1), factors, 50_000),
        GrowthCase(
            "fg: values of a table",
            lambda n: f"1\n1\n0\n{n}\n{n}\n".encode() + b"".join(b"%d 1.5\n" % i for i in range(n)),
            factors,
            30_000,
        ),
        GrowthCase(
            "evidence: variables",
            lambda n: f"{n} ".encode() + b"".join(b"%d 1\n" % v for v in range(n)),
            evidence,
            5000,
        ),
        GrowthCase("results: marginals", lambda n: f"MAR\n{n} {'2 0.5 0.5 ' * n}".encode(), result, 20_000),
        GrowthCase("results: labels", lambda n: f"MPE\n{n} {'1 ' * n}".encode(), result, 100_000),
        GrowthCase("results: answers", lambda n: b"PR\n-1.5\n" + b"-BEGIN-\n-1.5\n" * n, result, 200_000),
    ]
