"""sklearn-crfsuite's interface on crfkit: ``import crfkit.compat.sklearn_crfsuite as sklearn_crfsuite``.

As version 0.5.0, with the differences of `crfkit.compat.pycrfsuite`, and: `metrics.sequence_accuracy_score`
counts whole sequences also where all have the same length (0.5.0 counts items then). scikit-learn is needed
for the metrics that it defines and for `scorers` only; tqdm and tabulate are not needed.
"""

from crfkit.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF"]
