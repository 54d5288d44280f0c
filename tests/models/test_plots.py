"""Pictures of models of graphs: what is drawn, and what is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest

from crfkit import Graph, GraphCRF
from crfkit.features import ItemExtractor
from crfkit.graphs import scopes
from crfkit.models.plots import plot_grid, plot_table

pytest.importorskip("matplotlib")


def fitted() -> GraphCRF:
    graph = Graph(
        {"token": ["D", "N"]}, word=["token"], step=["token", "token"], bias=["token"], far=["token"] * 3
    )
    X = [[["the"], ["dog"], ["the"], ["cat"]]]
    data = graph.batch(
        labels={"token": ["D", "N", "D", "N"]},
        scopes={"step": scopes.chain([0, 4]), "far": [[0, 1, 2]]},
        features={"word": ItemExtractor()(X), "step": np.array([[1.0, 0.5]] * 3)},
    )
    return GraphCRF(graph).fit(data)


def test_tables_are_drawn_with_names() -> None:
    crf = fitted()
    figure = crf.plot("step", attribute=1)
    axes, bar = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["D", "N"]
    np.testing.assert_allclose(axes.images[0].get_array(), crf.model_.tables()["step"][1])
    assert bar.get_ylabel() == "weight"
    words = crf.plot("word").axes[0]
    assert [t.get_text() for t in words.get_yticklabels()] == ["the", "dog", "cat"]
    assert crf.plot("word", attribute="dog").axes[0].get_title() == "word: dog"
    assert crf.plot("bias").axes[0].images[0].get_array().shape == (1, 2)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


def test_images_are_drawn_label_by_label() -> None:
    p = np.random.default_rng(0).dirichlet([1.0] * 3, 12)
    figure = plot_grid(p, (3, 4), labels=["sky", "road", "car"])
    assert [axes.get_title() for axes in figure.axes[:3]] == ["sky", "road", "car"]
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array(), p[:, 1].reshape(3, 4))
    labels = plot_grid(p.argmax(axis=1), (3, 4)).axes[0].images[0].get_array()
    np.testing.assert_array_equal(labels, p.argmax(axis=1).reshape(3, 4))


def test_errors() -> None:
    crf = fitted()
    for clique, attribute, message in [
        ("steps", None, "'steps' is not a clique of the graph"),
        ("step", None, "give attribute=, one of its attributes"),
        ("far", None, "it has more than two variables"),
        ("step", 2, "attribute is 2, expected 0 to 1"),
        ("word", "cow", "'cow' is not an attribute of clique 'word'"),
    ]:
        with pytest.raises(ValueError, match=message):
            plot_table(crf.model_, clique, attribute=attribute)
    with pytest.raises(ValueError, match=r"values has shape \(5,\), expected 12 rows"):
        plot_grid(np.zeros(5), (3, 4))
    with pytest.raises(ValueError, match="there are 1 names for 2 labels"):
        plot_grid(np.zeros((12, 2)), (3, 4), labels=["a"])
