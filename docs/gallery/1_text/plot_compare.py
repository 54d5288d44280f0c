"""
Two models and the truth
========================

``view.compare`` puts the spans of several models below each other, and says which agree with the gold
spans.
"""

from crfkit import ChainCRF, datasets, view

addresses = datasets.load_addresses()
small = ChainCRF(features="lower(word)[0]", tokenizer="blanks").fit(addresses.train)
large = ChainCRF(features="address", tokenizer="blanks").fit(addresses.train)

text = "PO Box 12, 3400 Park Ave Apt 7, New York NY 10022"


def spans_of(crf):
    return [(span.start, span.end, span.label, span.probability) for span in crf.tag(text).spans]


# %%
view.compare(text, {"words alone": spans_of(small), "all features": spans_of(large)}, title="Two parsers")
