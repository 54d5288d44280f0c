"""
Which label follows which
=========================

Weights of transitions as a heat map: what attracts is blue, what repels is orange.
"""

from crfkit import ChainCRF, datasets, view

lines = datasets.make_addresses(600).train
crf = ChainCRF(features="lower(word)[0]; shape(word)[0]", tokenizer="blanks").fit(lines)

labels = list(crf.classes_)
weights = [[crf.transition_features_.get((a, b), 0.0) for b in labels] for a in labels]

# %%
view.transitions(labels, labels, weights)
