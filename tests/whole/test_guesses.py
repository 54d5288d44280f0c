"""Thirty tasks of new users as first guessed, before any page was read.

The first fifteen are those of somebody who knows scikit-learn. Twelve work as they were guessed; the others
(1, 10, 12) fail with a message that has the right line, which is then run. The other fifteen are those
of users of sklearn-crfsuite, CRF++, spaCy, Hugging Face and pandas.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

import crfkit
from crfkit import ChainCRF, Doc, SemiCRF, metrics
from crfkit.cli.hints import command_hint, option_hint
from crfkit.features import window
from crfkit.metrics import Confusion

X = [
    ["Ana", "lives", "in", "Lima"],
    ["Leo", "saw", "Ana"],
    ["Lima", "is", "old"],
    ["in", "Oslo", "Leo", "ran"],
]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-PER"], ["B-LOC", "O", "O"], ["O", "B-LOC", "B-PER", "O"]]


@pytest.fixture
def crf() -> ChainCRF:
    return ChainCRF().fit(X, Y)


def told(error: pytest.ExceptionInfo[Exception]) -> str:
    """Return what a message says to write."""
    _, _, here = str(error.value).partition(": write ")
    assert here, str(error.value)
    return here


def test_1_ner_from_a_conll_file(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    sentences = [zip(x, y, strict=True) for x, y in zip(X, Y, strict=True)]
    path.write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in one) for one in sentences))
    with pytest.raises(AttributeError) as error:
        crfkit.read_conll(path)  # type: ignore[attr-defined]
    assert told(error) == 'crfkit.read("train.txt")'
    assert ChainCRF().fit(crfkit.read(path)).predict(X) == Y


def test_2_features_by_a_function() -> None:
    def features(tokens: Any, i: int) -> dict[str, Any]:
        return {"word": tokens[i], "upper": tokens[i][0].isupper(), "first": i == 0}

    assert ChainCRF(features=features).fit(X, Y).predict(X)[0] == Y[0]


def test_3_a_window() -> None:
    items = [[{"word": word} for word in x] for x in X]
    assert window(items, -2, 2)[0][0] == {"word": "Ana", "+1:word": "lives", "+2:word": "in"}
    with pytest.raises(AttributeError) as error:
        crfkit.window(items, 2)  # type: ignore[attr-defined]
    assert told(error) == "crfkit.features.window(X, 2)"


def test_4_save_and_load(crf: ChainCRF, tmp_path: Path) -> None:
    crf.save(tmp_path / "m.crf")
    assert ChainCRF.load(tmp_path / "m.crf").predict(X) == crf.predict(X)


def test_5_probabilities(crf: ChainCRF) -> None:
    assert np.asarray(crf.predict_proba(X)[0]).sum(1) == pytest.approx(1.0)


def test_6_top_features(crf: ChainCRF) -> None:
    assert any("Ana" in name for name, _, _ in crf.top_features("B-PER"))


def test_7_the_table_of_transitions(crf: ChainCRF) -> None:
    assert "B-PER" in str(crf.transitions_)


def test_8_explain_one(crf: ChainCRF) -> None:
    assert "B-PER" in str(crf.explain(X[0]))


@pytest.mark.filterwarnings("ignore:.*labels that the model does not know")
def test_9_cross_validate(crf: ChainCRF) -> None:
    assert len(cross_val_score(crf, X * 3, Y * 3, cv=3)) == 3


def test_10_stop_early() -> None:
    with pytest.raises(TypeError) as error:
        ChainCRF().fit(X, Y, X_dev=X, y_dev=Y)
    assert told(error) == "fit(X, y, dev=(X_dev, y_dev))"
    crf = ChainCRF().fit(X, Y, dev=(X, Y))
    assert crf.score(X, Y) == 1.0


def test_11_a_layer_on_a_gpu() -> None:
    layers = pytest.importorskip("crfkit.torch", exc_type=ImportError)
    assert layers.CRF(5) is not None


def test_12_a_semi_markov_model() -> None:
    with pytest.raises(AttributeError) as error:
        crfkit.SemiMarkovCRF(max_length=3)  # type: ignore[attr-defined]
    assert told(error) == "crfkit.SemiCRF"
    found = SemiCRF(max_length=3).fit(X, Y).predict_spans(X)
    assert found[0][0][:3] == (0, 1, "PER")


def test_13_confusion_and_report(crf: ChainCRF) -> None:
    report = metrics.classification_report(Y, crf.predict(X))
    assert "precision" in str(report)
    assert str(report) == str(crf.evaluate(X, Y))
    assert isinstance(metrics.confusion_matrix(Y, crf.predict(X)), Confusion)


def test_14_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [(i, word, tag) for i in range(len(X)) for word, tag in zip(X[i], Y[i], strict=True)]
    frame = pandas.DataFrame(rows, columns=["sentence_id", "word", "tag"])
    crf = ChainCRF().fit(frame)
    frame["predicted"] = [label for labels in crf.predict(frame) for label in labels]
    assert (frame["predicted"] == frame["tag"]).all()


def test_15_from_raw_text_to_entities(tmp_path: Path) -> None:
    docs = [
        Doc("Ana lives in Lima.", spans=[(0, 3, "PER"), (13, 17, "LOC")]),
        Doc("Oslo is old.", spans=[(0, 4, "LOC")]),
    ]
    ChainCRF(tokenizer="words").fit(docs * 3).save(tmp_path / "names.crf")
    tagger = crfkit.load(tmp_path / "names.crf")
    assert [span.label for span in tagger("Ana lives in Oslo.").spans] == ["PER", "LOC"]


# ---- fifteen more, of users of other tools ----------------------------------------------------


def raised(kind: type[Exception], name: str, of: Any) -> str:
    with pytest.raises(kind) as error:
        getattr(of, name)
    return told(error)


@pytest.fixture
def doc() -> Doc:
    docs = [Doc("Ana lives in Lima.", spans=[(0, 3, "PER"), (13, 17, "LOC")])] * 5
    doc: Doc = ChainCRF(tokenizer="words").fit(docs).tag("Ana saw Lima")
    return doc


def test_16_parameters_of_sklearn_crfsuite() -> None:
    with pytest.raises(TypeError) as error:
        ChainCRF(c1=0.1, c2=0.1)
    assert "write l1=0.1, l2=0.2" in str(error.value)


def test_17_verbs_of_sklearn_crfsuite(crf: ChainCRF) -> None:
    assert raised(AttributeError, "predict_marginals", crf) == "predict_proba(X).to_dicts()"
    assert crf.predict_proba(X).to_dicts()[0][0]["B-PER"] > 0.5
    assert raised(AttributeError, "predict_single", crf) == "tag(x)"
    assert crf.tag(X[0]) == Y[0]


def test_18_metrics_of_sklearn_crfsuite() -> None:
    assert told_by_metrics("flat_f1_score") == 'crfkit.metrics.metric("f1_weighted")(y_true, y_pred)'
    assert metrics.metric("f1_weighted")(Y, Y) == 1.0
    assert told_by_metrics("flat_classification_report") == "crfkit.metrics.token_scores(y_true, y_pred)"
    assert "precision" in str(metrics.token_scores(Y, Y))


def told_by_metrics(name: str) -> str:
    return raised(AttributeError, name, metrics)


def test_19_weights_of_sklearn_crfsuite(crf: ChainCRF) -> None:
    assert all(len(key) == 2 for key in crf.state_features_)
    assert all(len(key) == 2 for key in crf.transition_features_)


@pytest.mark.filterwarnings("ignore:.*labels that the model does not know")
def test_20_a_random_search() -> None:
    items = [[{"word": word} for word in x] for x in X]
    search = RandomizedSearchCV(ChainCRF(), {"l1": [0.1, 1.0], "l2": [0.1]}, n_iter=2, cv=2)
    assert search.fit(items, Y).best_params_["l2"] == 0.1


def test_21_commands_of_crfpp() -> None:
    commands = ["train", "tag", "evaluate"]
    assert command_hint("crf_learn", commands) == "write crfkit train"
    assert command_hint("crf_test", commands) == "write crfkit tag"
    assert option_hint("-c", ["-c", "4"], ["--l2"]) == "write --l2 0.25 (l2 is 1 / C)"


def test_22_a_model_by_an_option() -> None:
    given = ["tag", "-m", "names.crf", "new.txt"]
    assert option_hint("-m", given, ["--output"]) == "the model is the first argument: names.crf"


def test_23_patterns_of_wapiti() -> None:
    given = ["train", "-p", "patterns.txt"]
    assert option_hint("-p", given, ["--features", "--jobs"]) == "write --features patterns.txt"


def test_24_a_model_is_called_as_in_spacy(tmp_path: Path) -> None:
    docs = [Doc("Ana lives in Lima.", spans=[(0, 3, "PER"), (13, 17, "LOC")])] * 5
    ChainCRF(tokenizer="words").fit(docs).save(tmp_path / "m.crf")
    nlp = crfkit.load(tmp_path / "m.crf")
    assert [doc.text for doc in nlp.pipe(["Ana", "Lima"])] == ["Ana", "Lima"]
    assert [(span.start, span.end) for span in nlp("Ana lives").spans] == [(0, 3)]


def test_25_entities_as_in_spacy(doc: Doc) -> None:
    assert raised(AttributeError, "ents", doc) == "doc.spans"
    assert raised(AttributeError, "label_", doc.spans[0]) == "span.label"
    assert raised(AttributeError, "start_char", doc.spans[0]) == "span.start"
    assert doc.spans[0].start == 0


def test_26_rows_of_hugging_face() -> None:
    names = ["O", "B-PER", "B-LOC"]
    rows = [{"tokens": x, "ner_tags": [names.index(tag) for tag in y]} for x, y in zip(X, Y, strict=True)]
    crf = ChainCRF().fit([row["tokens"] for row in rows], [row["ner_tags"] for row in rows])
    assert [*map(int, crf.predict(X)[0])] == [1, 0, 0, 2]
    assert len(list(crfkit.text.read(rows, names=names))) == len(X)


def test_27_files_of_hugging_face(crf: ChainCRF) -> None:
    assert raised(AttributeError, "save_pretrained", crf) == 'save("m.crf")'
    assert raised(AttributeError, "pipeline", crfkit).startswith('crfkit.load("m.crf")')


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_28_columns_of_lists(library: str) -> None:
    module = pytest.importorskip(library)
    a: Any
    b: Any
    if library == "numpy":
        a, b = np.array(X, dtype=object), np.array(Y, dtype=object)
    elif library == "pandas":
        a, b = module.Series(X, index=[*"wxyz"]), module.Series(Y, index=[*"wxyz"])
    else:
        a, b = module.Series(X), module.Series(Y)
    crf = ChainCRF().fit(a, b, dev=(a, b))
    assert crf.predict(a) == crf.model_.predict(a) == Y
    assert crf.score(a, b) == crf.evaluate(a, b).score == 1.0


def test_29_a_csv_file(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [(i, word, tag) for i in range(len(X)) for word, tag in zip(X[i], Y[i], strict=True)]
    path = tmp_path / "train.csv"
    pandas.DataFrame(rows, columns=["Sentence #", "Word", "Tag"]).to_csv(path, index=False)
    assert raised(AttributeError, "read_csv", crfkit).startswith("crfkit.read(")
    assert ChainCRF().fit(crfkit.read(path, sequence="Sentence #", label="Tag")).predict(X) == Y


def test_30_train_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    crfkit.data.write(
        path, crfkit.data.Columns.from_rows([list(zip(*one, strict=True)) for one in zip(X, Y, strict=True)])
    )
    assert crfkit.train(path).predict(X) == Y
