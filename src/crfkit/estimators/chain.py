"""`ChainCRF`: a linear-chain CRF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled
from crfkit.estimators.fitting import Fitting, has_gold
from crfkit.estimators.queries import SequenceQueries
from crfkit.features import Recipe
from crfkit.models.encoding import encoded
from crfkit.models.model import SequenceModel
from crfkit.models.reading import read
from crfkit.models.tags import check_tags
from crfkit.structures import Chain
from crfkit.structures.structure import Structure


class ChainCRF(SequenceQueries, Fitting):
    """A linear-chain conditional random field that follows the conventions of scikit-learn.

    Parameters
    ----------
    structure : Chain, or "chain"
        What is labeled how, without the labels, which are found in y: ``Chain(order=2)``. Where its
        constraints have a `crfkit.structures.constraints.Scheme`, labels spell segments: others are neither
        learned nor predicted, and segment metrics read labels so.
    selection : FeatureSelection, or one of "observed", "all", "likely"
        Which weights there are: ``FeatureSelection(min_count=3)``.
    objective : Likelihood, Perceptron, or the name of one
        What to optimize, penalty included.
    optimizer : an optimizer, its name, or "auto"
        "auto" takes the fastest sound one.
    init : Model, "memm" or function, optional
        Where `fit` starts, as in `crfkit.train`; `partial_fit` goes on from what it has.
    stop : Stop
        When training ends: ``Stop(max_iterations=50)``.
    features : "auto", str, path, Recipe, function or None
        What makes attributes of tokens: text of a template (crfkit's own, CRF++ or Wapiti), a `pathlib.Path`
        to one, a kind of `crfkit.features.stock` ("ner", "pos", "chunk", "address", "segment"), a Recipe, or
        a function ``f(tokens, i)`` that gives the item of a position. "auto": tokens (strings, or tuples of
        columns) and Columns get words, shapes, prefixes and suffixes; dicts and arrays are attributes. None:
        X is attributes.
    tokenizer : Tokenizer or its name, optional
        What cuts the text of documents, and of whatever raw text is labeled: "words", "blanks", "characters",
        "given", or one of `crfkit.text`. Default: the documents' own tokens, else words; of a model that was
        trained on tokens, blanks.
    sentences : Sentences or its name
        Where sequences begin in raw text: "rule", "lines", "blank-lines", or "none", one for each text.
    alignment : {"expand", "contract", "unknown", "strict"}
        What becomes of spans of documents that cut a token (`crfkit.text.alignment`).
    scheme : str
        The scheme of the tags in y: one of `crfkit.tags.SCHEMES`, to which y is then held; "auto" finds out.
        Also that of the tags that spans of documents become: BIO where it is "auto".
    train_scheme : {"IO", "BIO", "BIOES", "BCEU"}, optional
        Train on other labels than those of y, which must spell segments (`crfkit.models.encoding`): "BCEU"
        has begin, continue, end and unique. Whatever the estimator returns, and ``classes_``, is as in y.
    metric : str or function
        What judges the dev set, and what `score` gives: a name of `crfkit.metrics`, "log_prob", or a
        function of gold and predicted labels. "auto": the F1 of entities where labels spell them, else the
        accuracy of tokens.
    l1, l2, order, min_count, max_iterations : optional
        What everybody turns: fields of objective, structure, selection and stop, for short.
        ``ChainCRF(l2=0.1, order=2)`` is ``ChainCRF(objective=Likelihood(l2=0.1), structure=Chain(order=2))``.
        They go with names, as in ``ChainCRF(objective="max-margin", l2=0.1)``, and not with objects.
    random_state : int, optional
        For optimizers that draw, and for `sample`.
    n_jobs : int, optional
        Default: all cores. Results do not depend on it.
    constraints : sequence of constraints
        Of `crfkit.constraints`. Those about neighbors, such as ``Scheme("BIO")``, are the structure's:
        training and all queries keep them. Those on whole sequences, such as ``AtMostOnce()``, are kept by
        labels that are predicted, exactly; training, probabilities and draws do not know them.

    Attributes
    ----------
    model_ : Model
        Save, explain or convert it; ``model_.training`` says how it was trained.
    classes_ : array of str [L]
        The labels, in the order of the columns of `predict_proba`: by first appearance.
    n_iter_ : int
        Iterations of the last training.

    Notes
    -----
    Options of structure, selection, objective, optimizer and stop are parameters too, as in a grid search
    over ``structure__order``, ``selection__min_count``, ``objective__l2`` and ``stop__max_iterations``.

    What X and y may be: `crfkit.models.reading` and `crfkit.data.dataset`. An estimator is not a
    classifier for scikit-learn, whose classifiers have one label for each sample: cross-validation does not
    stratify, and scorers come from `crfkit.metrics.scorer`. ``cross_val_predict`` returns an array of lists
    of labels; it allows scikit-learn's own methods only, so marginals of folds need a loop over ``KFold``.

    Examples
    --------
    >>> from crfkit import ChainCRF, Likelihood
    >>> X = [[{"w": "the"}, {"w": "old"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}]]
    >>> crf = ChainCRF(objective=Likelihood(l2=0.1)).fit(X, [["D", "A", "N"], ["D", "N"]])
    >>> crf.predict([[{"w": "the"}, {"w": "dog"}]])
    [['D', 'N']]
    >>> crf.set_params(objective__l2=0.5, structure__order=2).structure.order
    2
    >>> tagger = ChainCRF(features="w[-1..1]; suffix(w, 2)[0]").fit([["the", "dog"]], [["D", "N"]])
    >>> tagger.predict([["the", "hog"]])
    [['D', 'N']]

    Documents of raw text, with spans of characters:

    >>> from crfkit import Doc
    >>> docs = [Doc("Ana lives in New York.", spans=[(0, 3, "PER"), (13, 21, "LOC")])] * 5
    >>> crf = ChainCRF(tokenizer="words").fit(docs)
    >>> [(span.text, span.label) for span in crf.tag("In New York lives Ana.").spans]
    [('New York', 'LOC'), ('Ana', 'PER')]
    """

    structure: Chain | str | None = None
    order: int | None = None
    train_scheme: str | None = None

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: SequenceModel | None
    ) -> tuple[Dataset, Structure]:
        data = read(X, recipe, self._threads, gold=y is None)
        if y is not None:
            data = labeled(data, y, Alphabet(known))
        elif known:  # the data brought labels of their own
            data = replace(data, labels=Alphabet([*data.labels.strings(), *known]))
        return self._encoded(has_gold(data, "ChainCRF", "labels")), self._part("structure")

    def _dev_data(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        data = read(X, recipe, self._threads, gold=y is None)
        return self._encoded(data if y is None else labeled(data, y, Alphabet()))

    def _encoded(self, data: Dataset) -> Dataset:
        if self._scheme is not None:
            check_tags(data.labels.strings(), self._scheme)
        return data if self.train_scheme is None else encoded(data, self.train_scheme)
