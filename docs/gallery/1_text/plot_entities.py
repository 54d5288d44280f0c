"""
Text in color
=============

A ``Doc`` shows itself: each span has the color of its label and its probability. Dashes mark what the model
is unsure of.
"""

from crfkit import ChainCRF, datasets

addresses = datasets.load_addresses()
crf = ChainCRF(features="address", tokenizer="blanks").fit(addresses.train)

# %%
crf.tag("Lincoln House, 4 St John St, Lincoln IL 62656")
