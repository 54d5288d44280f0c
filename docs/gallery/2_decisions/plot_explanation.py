"""
Why this label?
===============

Each bar is what one weight adds to the difference between the best label sequence and the best one that has
another label at this word.
"""

from crfkit import ChainCRF, datasets

addresses = datasets.load_addresses()
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]; suffix(word, 2)[0]", tokenizer="blanks").fit(
    addresses.train
)

# %%
crf.explain(crf.tag("45 Park Ave. Apt 7 Salem OR"), at=1)
