"""Threads that ask one model, tagger, estimator and batch of graphs, while another fits the estimator."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np

import crfkit
from crfkit import ChainCRF
from crfkit.models import Tagger
from tests.cases.restored import X, Y, graph_batch

ROUNDS = 25


def test_eight_threads_ask_while_another_fits() -> None:
    crf = ChainCRF(n_jobs=2).fit(X, Y)
    tagger, batch = Tagger(crf.model_), graph_batch()
    word = np.arange(10.0).reshape(5, 2)

    def answers() -> tuple[Any, ...]:
        graphs = crfkit.inference.decode(batch.potentials(word=word), threads=2)
        return (
            crf.predict(X),
            [row.tolist() for row in crf.model_.predict_proba(X, threads=2)],
            [tagger.tag(items) for items in X],
            [labels.tolist() for labels in graphs["token"]],
        )

    expected, ended = answers(), Event()

    def ask() -> list[tuple[Any, ...]]:
        return [answers() for _ in range(ROUNDS)]

    def fit() -> int:
        fits = 0
        while not ended.is_set():
            crf.fit(X, Y)
            fits += 1
        return fits

    with ThreadPoolExecutor(9) as pool:
        fitting = pool.submit(fit)
        try:
            asked = [pool.submit(ask) for _ in range(8)]
            found = [each.result() for each in asked]
        finally:
            ended.set()
        assert fitting.result() > 0
    assert all(one == expected for each in found for one in each)
