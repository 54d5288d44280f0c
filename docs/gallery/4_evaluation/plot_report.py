"""
Precision, recall, confusions
=============================

The report of ``evaluate`` shows a row for each label, and which labels are taken for which.
"""

from crfkit import ChainCRF, datasets

made = datasets.make_addresses(700)
crf = ChainCRF(features="lower(word)[0]; shape(word)[-1..1]", tokenizer="blanks").fit(made.train)

# %%
crf.evaluate(made.test)
