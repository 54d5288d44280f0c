"""
A confusion matrix
==================

True labels in rows, predicted ones in columns. ``Confusion.from_estimator`` needs an estimator and labeled
data.
"""

from crfkit import ChainCRF, datasets, metrics

made = datasets.make_addresses(700)
crf = ChainCRF(features="lower(word)[0]; shape(word)[-1..1]", tokenizer="blanks").fit(made.train)

# %%
metrics.Confusion.from_estimator(crf, made.test)
