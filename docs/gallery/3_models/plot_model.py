"""
A model at a glance
===================

A model shows what it is, how training went, how labels follow each other, and the strongest features of
each label.
"""

from crfkit import ChainCRF, datasets

lines = datasets.make_addresses(600).train
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]; suffix(word, 2)[0]", tokenizer="blanks").fit(
    lines
)

# %%
crf.model_
