"""Small trained models: one of crfkit with resources and constraints, and one of CRFsuite."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crfkit import Chain, FeatureSelection, GraphCRF, Stop, train
from crfkit.data.formats.columns import Columns
from crfkit.features import Dictionary, Extractor, Gazetteer, ItemExtractor, Recipe
from crfkit.graphs.text_columns import training_graphs
from crfkit.graphs.text_form import GraphForm
from crfkit.models import SequenceModel
from crfkit.models.files.crfsuite_write import crfsuite_bytes
from crfkit.models.graph_model import GraphModel
from crfkit.structures.constraints import STOP, Constraint, Forbid, Scheme, SegmentLength


def native_model() -> SequenceModel:
    rows = [[("The", "DT", "O"), ("New", "NN", "B"), ("York", "NN", "I")], [("a", "DT", "B")]]
    resources = {
        "cities": Gazetteer(["New York"]),
        "cluster": {"The": "c1", "a": ["c1", "c2"]},
        "towns": Dictionary(["New York", "York", "Boston"]),
        "vectors": {"The": [0.5, 1.0], "a": [0.25, -1.0]},
    }
    text = (
        'bias; word[-1..1]; gazetteer(word, "cities")[0]; lookup(word, "cluster")[0]\n'
        'embedding(word, "vectors")[0]; jaccard(word, towns)[0]; jarowinkler(word, towns)[0]\n'
        'edge: pos[0]; is(word, "^[A-Z]")[0]'
    )
    extractor = Extractor(Recipe.parse(text, resources), label="tag")
    data = extractor(Columns.from_rows(rows, names=["word", "pos", "tag"]))
    rules: list[Constraint] = [Scheme("BIO"), Forbid("O", STOP), SegmentLength(None, maximum=3)]
    parts: Any = {"structure": Chain(constraints=rules), "selection": FeatureSelection(start=True, stop=True)}
    return train(data, stop=Stop(max_iterations=3), **parts)


def crfsuite_model() -> bytes:
    X = [[["w=a", "x"], {"w": "b", "v": 0.5}], [["w=c"], ["x", "w=a"]]]
    return crfsuite_bytes(train(ItemExtractor()(X, [["P", "Q"], ["R", "P"]]), stop=Stop(max_iterations=3)))


def graph_model() -> GraphModel:
    form = GraphForm.parse(
        "columns word pos chunk\nkind pos\nkind chunk\nkind mood hidden 2\nfeatures word[-1..0]\n"
        "clique pos by features\nclique pos chunk cells=free\nclique chunk[-1] chunk cells=potts\n"
        "clique mood pos\nclique pos pos equal word where capitalized by features of first\n"
    )
    rows = [[("The", "DT", "B"), ("York", "NN", "I"), ("York", "NN", "I")], [("a", "DT", "B")]]
    data = training_graphs(form, Columns.from_rows(rows, names=["word", "pos", "chunk"]))
    model = GraphCRF(data.graph, stop=Stop(max_iterations=3)).fit(data).model_
    return replace(model, form=form)
