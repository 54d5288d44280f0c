"""
Training with a proof
=====================

The objective falls, and so does the proved distance from the optimum. The score on held-out data is often
best long before that.
"""

from crfkit import ChainCRF, datasets

docs = datasets.load_addresses().train
crf = ChainCRF(features="address", tokenizer="blanks", optimizer="lbfgs").fit(docs[::2], dev=docs[1::2])

# %%
crf.training_
