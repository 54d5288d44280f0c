"""Scorers for scikit-learn's ``cross_val_score``, ``GridSearchCV`` and their like."""

from sklearn.metrics import make_scorer

from crfkit.compat.sklearn_crfsuite import metrics

__all__ = ["flat_accuracy", "sequence_accuracy"]

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
