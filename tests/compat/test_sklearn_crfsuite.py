"""The face of sklearn-crfsuite, and the faces under their original names."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit.compat import install
from crfkit.compat.sklearn_crfsuite import CRF, metrics
from crfkit.compat.sklearn_crfsuite._fileresource import FileResource
from crfkit.compat.sklearn_crfsuite.compat import _Plain
from crfkit.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from crfkit.compat.sklearn_crfsuite.utils import flatten

X = [[{"w": "the"}, {"w": "old"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}]] * 4
Y = [["D", "A", "N"], ["D", "N"]] * 4


@pytest.mark.parametrize("algorithm", [None, "l2sgd", "ap", "pa", "arow"])
def test_fit_predict(algorithm: str | None) -> None:
    crf = CRF(algorithm).fit(X, Y)
    assert crf.predict_single(X[0]) == Y[0]
    assert crf.score(X, Y) == 1.0
    assert crf.predict(X).shape == (8,)
    assert crf.predict(X[:1]).shape == (1, 3)
    assert crf.predict([]).shape == (0,)
    marginals = crf.predict_marginals_single(X[1])
    assert [set(p) for p in marginals] == [{"D", "A", "N"}] * 2
    assert [sum(p.values()) for p in marginals] == pytest.approx([1.0, 1.0])
    assert crf.training_log_ is not None
    assert crf.training_log_.last_iteration is not None


def test_attributes_before_and_after() -> None:
    crf = CRF(c2=0.5)
    for name in ("tagger_", "classes_", "size_", "num_attributes_", "attributes_", "state_features_"):
        assert getattr(crf, name) is None
    assert CRF().transition_features_ is None
    with pytest.raises(AttributeError, match="call fit"):
        crf.predict(X)
    crf.fit(X, Y)
    assert crf.classes_ == ["D", "A", "N"]
    assert crf.attributes_ == ["w:the", "w:old", "w:dog", "w:a"]
    assert crf.num_attributes_ == 4
    assert crf.size_ is not None
    assert crf.size_ > 1000
    assert crf.state_features_ is not None
    assert ("w:dog", "N") in crf.state_features_
    assert crf.transition_features_ is not None
    assert ("D", "N") in crf.transition_features_


def test_pickles_and_files(tmp_path: Path) -> None:
    crf = CRF().fit(X, Y)
    for other in (pickle.loads(pickle.dumps(crf)), copy.deepcopy(crf)):
        assert other.score(X, Y) == 1.0
        assert other.modelfile.name != crf.modelfile.name
    path = str(tmp_path / "m.crfsuite")
    named = CRF(model_filename=path).fit(X, Y)
    assert CRF(model_filename=path).predict_single(X[0]) == Y[0]
    assert path.encode() in pickle.dumps(named)
    assert len(pickle.dumps(named)) < len(pickle.dumps(crf))
    with pytest.raises(FileNotFoundError):
        CRF(model_filename=str(tmp_path / "none")).predict(X)
    name = crf.modelfile.name
    assert name is not None
    assert os.path.exists(name)
    del crf
    assert not os.path.exists(name)
    resource = FileResource("x")
    resource.name = None
    with pytest.raises(ValueError, match="not provided"):
        resource.ensure_name()


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="Pass both X_dev and y_dev"):
        CRF().fit(X, Y, X)
    with pytest.raises(ValueError, match="Parameter not found: c1 = 1"):
        CRF("l2sgd", c1=1).fit(X, Y)
    with pytest.raises(ValueError, match="Bad arguments"):
        CRF("foo").fit(X, Y)


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    crf = CRF(verbose=True, max_iterations=3, trainer_cls=LinePerIterationTrainer)
    crf.fit(X, Y, X[:2], [*Y[:1], ["D", "Z"]])
    shown = capsys.readouterr().out
    assert "Iter 3   time=" in shown
    assert "Acc(item/seq)=0.800 0.500" in shown
    assert "Label  Precision  Recall     F1  Support" in shown
    assert "Storing the model" in shown
    assert "Z" in (crf.classes_ or [])


def test_metrics() -> None:
    y1, y2 = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert flatten(y1) == ["x", "z", "y", "x", "x"]
    assert metrics.flat_accuracy_score(y1, y2) == 3 / 5
    assert metrics.sequence_accuracy_score([], []) == 0
    assert metrics.sequence_accuracy_score([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "c"]]) == 0.5
    assert metrics.sequence_accuracy_score(np.array([["a"]], dtype=object), [["a"]]) == 1.0  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="inconsistent"):
        metrics.flat_accuracy_score(y1, y2[:1])
    pytest.importorskip("sklearn")
    assert metrics.flat_f1_score(y1, y2, average="macro") == pytest.approx(2 / 3)
    assert metrics.flat_fbeta_score(y1, y2, 1, average="macro") == pytest.approx(2 / 3)
    assert metrics.flat_precision_score(y1, y2, average="micro") == 3 / 5
    assert metrics.flat_recall_score(y1, y2, average="micro") == 3 / 5
    assert "precision" in metrics.flat_classification_report(y1, y2, zero_division=0)


def test_scikit_learn_knows_it() -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    from crfkit.compat.sklearn_crfsuite import scorers

    crf = CRF(c1=0.1, keep_tempfiles=False)
    assert clone(crf).get_params() == crf.get_params()
    search = GridSearchCV(CRF(), {"c2": [0.1, 1.0]}, scoring=scorers.sequence_accuracy, cv=2).fit(X, Y)
    assert search.best_score_ == 1.0
    assert scorers.flat_accuracy(search.best_estimator_, X, Y) == 1.0


def test_without_scikit_learn() -> None:
    class Thing(_Plain):
        def __init__(self, a: int = 1) -> None:
            self.a = a

    assert Thing(2).get_params() == {"a": 2}
    assert Thing().set_params(a=3).a == 3
    with pytest.raises(ValueError, match="Invalid parameter"):
        Thing().set_params(b=1)


def run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def test_original_names() -> None:
    code = """
import pickle
from crfkit.compat import install
assert install(force=True)[:2] == ("pycrfsuite", "sklearn_crfsuite")
import pycrfsuite, sklearn_crfsuite
from pycrfsuite._logparser import TrainLogParser
from sklearn_crfsuite import CRF
from sklearn_crfsuite.metrics import flat_accuracy_score
assert CRF().fit([[["a"]]], [["A"]]).predict_single([["a"]]) == ["A"]
import sklearn_crfsuite.estimator, pycrfsuite._pycrfsuite
old = b"csklearn_crfsuite._fileresource\\nFileResource\\n."
assert pickle.loads(old).__module__.startswith("crfkit.compat")
assert install("pycrfsuite") == ("pycrfsuite",)
print("done")
"""
    assert run(code) == "done\n"
    with pytest.raises(ValueError, match="does not replace"):
        install("TorchCRF")


def test_installed_originals_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pycrfsuite.py").write_text("original = True\n")
    begin = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from crfkit.compat import install; "
    left = "import pycrfsuite; print(pycrfsuite.original)"
    assert run(begin + "install(); " + left) == "True\n"
    assert run(begin + "install(); import sklearn_crfsuite as s; print(s.__name__)").startswith("crfkit.")
    assert "pycrfsuite is installed: install('pycrfsuite', force=True)" in run(
        begin + "install('pycrfsuite')"
    )
    forced = "install('pycrfsuite', force=True); import pycrfsuite as p; print(p.__name__)"
    assert run(begin + forced).startswith("crfkit.compat")
    assert "imported already" in run(begin + "import pycrfsuite; install('pycrfsuite', force=True)")


def old_pickle() -> bytes:
    """Return the pickle of a CRF as sklearn-crfsuite would have written it."""
    made = pickle.dumps(CRF().fit(X, Y), protocol=0)
    return made.replace(b"ccrfkit.compat.", b"c")


def test_pickles_of_the_original_open_and_become_models(tmp_path: Path) -> None:
    path = tmp_path / "old.pkl"
    path.write_bytes(old_pickle())
    code = """
import pickle, sys
import crfkit
crfkit.compat.install(force=True)  # both: the pickle holds the training log of pycrfsuite
crf = pickle.load(open(sys.argv[1], "rb"))
crfkit.load(crf.modelfile.name).save(sys.argv[2])
print(type(crf).__module__)
"""
    assert run(code, str(path), str(tmp_path / "new.crf")) == "crfkit.compat.sklearn_crfsuite.estimator\n"
    assert crfkit.models.Tagger(crfkit.load(tmp_path / "new.crf")).tag(X[0]) == Y[0]


def test_a_pickle_is_not_a_model_file(tmp_path: Path) -> None:
    import joblib  # type: ignore[import-untyped]

    path = tmp_path / "m"
    path.write_bytes(old_pickle())
    with pytest.raises(ValueError, match=r"m is a Python pickle, .*crfkit\.compat\.install\(\).*modelfile"):
        crfkit.load(path)
    for compress in (0, 3, ("gzip", 3)):
        joblib.dump(crfkit.ChainCRF().fit(X, Y), path, compress=compress)
        with pytest.raises(ValueError, match=r"m is a Python pickle, .*estimator\.model_\.save"):
            crfkit.load(path)
    path.write_bytes(b"x^ is not compressed")
    with pytest.raises(ValueError, match="model that crfkit knows"):
        crfkit.load(path)
