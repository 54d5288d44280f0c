"""Graphs from files of graphical models, and back."""

from __future__ import annotations

import os
from dataclasses import replace

from crfkit.data.graphs.evidence import evidence_text, read_evidence
from crfkit.data.graphs.files import read_factors, write_factors
from crfkit.data.sink import write_bytes
from crfkit.data.source import Place
from crfkit.structures.graphs.loose import factors_of_potentials, potentials_of_list
from crfkit.structures.graphs.potentials import GraphPotentials


def load(path: Place, *, evidence: Place | None = None, format: str | None = None) -> GraphPotentials:
    """Read a graphical model: UAI (``.uai``, ``.LG``), ``.fg``, OpenGM's HDF5, ``.wcsp``, ``.cfn``, ``.bif``.

    Scores are logarithms: a probability of 0 is -inf. Factors of one shape are one clique; the variables are
    of one kind, "variable".

    Parameters
    ----------
    path : path or open file
        Text may be compressed by gzip.
    evidence : path or open file, optional
        Observed labels, as a UAI file of evidence; answers are given these.
    format : "uai", "lg", "fg", "opengm", "wcsp", "cfn" or "bif", optional
        Default: what the name or the content says.

    Examples
    --------
    >>> import io
    >>> from crfkit import inference
    >>> from crfkit.graphs import load as load
    >>> model = io.BytesIO(b"MARKOV 2  2 2  1  2 0 1  4  0.3 0.1 0 0.6")
    >>> scores = load(model, evidence=io.BytesIO(b"1 0 1"))
    >>> inference.decode(scores)["variable"].tolist()
    [1, 1]
    """
    made = potentials_of_list(read_factors(path, format))
    if evidence is None:
        return made
    return replace(made, observed=read_evidence(evidence, made.batch.width))


def save(
    potentials: GraphPotentials,
    path: str | os.PathLike[str],
    *,
    evidence: str | os.PathLike[str] | None = None,
    format: str | None = None,
) -> None:
    """Write one graph: UAI (``.uai``, ``.LG``), libDAI's ``.fg`` or OpenGM's HDF5.

    Variables are numbered through, kind by kind. Only OpenGM's files keep that factors share a table.

    Parameters
    ----------
    potentials : GraphPotentials
    path : path
        Text is compressed if the name ends in ``.gz``.
    evidence : path, optional
        Where to write the labels that are given, if any.
    format : "uai", "lg", "fg" or "opengm", optional
        Default: what the name says.

    Examples
    --------
    >>> import os, tempfile
    >>> from crfkit import Graph
    >>> from crfkit.graphs import load as load, save as save
    >>> scores = Graph.from_factors([2, 3], [([0, 1], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(scores, os.path.join(folder, "model.LG"))
    ...     load(os.path.join(folder, "model.LG")).tables["2x3"].scores.tolist()
    [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]]
    """
    observed = potentials.observed
    if observed is not None and evidence is None and (observed >= 0).any():
        raise ValueError("some labels are given; name a file for them: evidence=...")
    factors = factors_of_potentials(potentials)
    write_factors(factors, path, format)
    if evidence is not None:
        nothing = factors.width * 0 - 1
        write_bytes(evidence, [evidence_text(nothing if observed is None else observed)])
