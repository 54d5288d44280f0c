"""What to write for a name that people look for in a package or an object, and that is another one here."""

from __future__ import annotations

from typing import Final

#: Of each package and class: the names as other tools have them, and what to write.
_HERE: Final = {
    "crfkit": {
        "read_conll": 'crfkit.read("train.txt")',
        "load_conll": 'crfkit.read("train.txt")',
        "CRF": "crfkit.ChainCRF, or crfkit.compat.sklearn_crfsuite.CRF",
        "LinearChainCRF": "crfkit.ChainCRF",
        "SemiMarkovCRF": "crfkit.SemiCRF",
        "Tagger": "crfkit.models.Tagger, or crfkit.load(path)",
        "Trainer": "crfkit.ChainCRF, or crfkit.compat.pycrfsuite.Trainer",
        "load_model": "crfkit.load(path)",
        "read_csv": 'crfkit.read("train.csv", sequence="id", label="tag")',
        "fit": "crfkit.train(data), or crfkit.ChainCRF().fit(X, y)",
        "tag": 'crfkit.load("m.crf").tag(x)',
        "predict": 'crfkit.load("m.crf").predict(X)',
        "evaluate": "crf.evaluate(X, y), or crfkit.metrics.classification_report(y_true, y_pred)",
        "save": 'crf.save("m.crf")',
        "pipeline": 'crfkit.load("m.crf"), and call it on a text',
        "displacy": "crfkit.view.page(doc)",
        "Gazetteer": "crfkit.features.Gazetteer",
        "Recipe": "crfkit.features.Recipe",
        "Columns": "crfkit.data.Columns",
        "GridSearchCV": "sklearn.model_selection.GridSearchCV",
        "window": "crfkit.features.window(X, 2)",
    },
    "crfkit.metrics": {
        "confusion": "crfkit.metrics.confusion_matrix(y_true, y_pred)",
        "f1_score": 'crfkit.metrics.metric("span_f1")(y_true, y_pred)',
        "accuracy_score": 'crfkit.metrics.metric("accuracy")(y_true, y_pred)',
        "flat_classification_report": "crfkit.metrics.token_scores(y_true, y_pred)",
        "flat_accuracy_score": 'crfkit.metrics.metric("accuracy")(y_true, y_pred)',
        "sequence_accuracy_score": 'crfkit.metrics.metric("sequence_accuracy")(y_true, y_pred)',
        "precision_score": 'crfkit.metrics.metric("span_precision")(y_true, y_pred)',
        "recall_score": 'crfkit.metrics.metric("span_recall")(y_true, y_pred)',
        "flat_f1_score": 'crfkit.metrics.metric("f1_weighted")(y_true, y_pred)',
    },
    "Doc": {
        "ents": "doc.spans",
        "entities": "doc.spans",
        "sents": "doc.sentences",
        "to_html": "crfkit.view.page(doc)",
    },
    "Span": {
        "label_": "span.label",
        "tag": "span.label",
        "score": "span.probability",
        "start_char": "span.start",
        "end_char": "span.end",
    },
    "crfkit.torch": {"LinearChainCRF": "crfkit.torch.CRF", "SemiMarkovCRF": "crfkit.torch.SegmentCRF"},
}


def missing(package: str, name: str) -> AttributeError:
    """Return the error for a name that a package, or an object of a class, does not have.

    Examples
    --------
    >>> print(missing("crfkit", "LinearChainCRF"))
    module 'crfkit' has no attribute 'LinearChainCRF': write crfkit.ChainCRF
    >>> print(missing("crfkit", "xyz"))
    module 'crfkit' has no attribute 'xyz'
    >>> print(missing("Doc", "ents"))
    'Doc' object has no attribute 'ents': write doc.spans
    """
    here = _HERE.get(package, {}).get(name)
    whose = f"{package!r} object" if package[0].isupper() else f"module {package!r}"
    return AttributeError(f"{whose} has no attribute {name!r}" + (f": write {here}" if here else ""))
