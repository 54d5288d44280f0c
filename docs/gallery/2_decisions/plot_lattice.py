"""
The lattice of a sentence
=========================

Each column has the labels of a word; the larger a circle, the more probable the label. The dark line is the
best path (Viterbi), the dashed one the second best.
"""

from crfkit import ChainCRF, datasets
from crfkit.models.pictures import lattice_picture

lines = datasets.make_addresses(500).train
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]", tokenizer="blanks").fit(lines)

words = ["4", "St", "John", "St", "Lincoln"]

# %%
lattice_picture(crf.model_, [words], words)
