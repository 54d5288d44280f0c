"""
The strongest features
======================

Which attributes speak for a label, and which against it.
"""

from crfkit import ChainCRF, datasets, view

addresses = datasets.load_addresses()
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]; suffix(word, 2)[0]", tokenizer="blanks").fit(
    addresses.train
)

labels = ["AddressNumber", "StreetNamePostType", "StateName", "ZipCode"]
features = {label: [(name, weight) for name, _, weight in crf.top_features(label, 6)] for label in labels}

# %%
view.top_features(features, labels=labels)
