"""
Probabilities of all labels
===========================

The probability of each label at each word, summed over everything else. The best sequence takes the cells
with a frame: they need not be the largest ones.
"""

import numpy as np

from crfkit import ChainCRF, datasets, view

lines = datasets.make_addresses(500).train
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]", tokenizer="blanks").fit(lines)

words = ["4", "St", "John", "St", "Lincoln"]
labels = list(crf.classes_)
best = [labels.index(label) for label in crf.predict([words])[0]]

# %%
view.marginals(words, labels, np.asarray(crf.predict_proba([words])[0]), best, title="Marginals")
