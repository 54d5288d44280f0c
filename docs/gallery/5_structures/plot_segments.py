"""
Segments that could be
======================

A semi-Markov model gives every segment a probability, also those that overlap.
"""

from crfkit import SemiCRF
from crfkit.models.pictures import lattice_picture

X = [
    s.split()
    for s in ["in New York it rains", "York is old", "new cars in York", "in New Delhi", "she saw New York"]
]
y = [
    ["O", "B-CITY", "I-CITY", "O", "O"],
    ["B-CITY", "O", "O"],
    ["O", "O", "O", "B-CITY"],
    ["O", "B-CITY", "I-CITY"],
    ["O", "O", "B-CITY", "I-CITY"],
]
crf = SemiCRF(features="word[0]; begin: word[-1]; segment: shape(word)[..]; segment: length").fit(X, y)
words = ["cars", "in", "New", "Dover"]

# %%
lattice_picture(crf.model_, [words], words)
