"""
Label bias: a CRF beside an MEMM
================================

A maximum-entropy Markov model normalizes each step by itself. After ``r`` it has chosen a branch, and a
state with one successor must pass on all its probability, whatever the letter says. A CRF compares whole
sequences. The task is from Lafferty, McCallum and Pereira (2001): tell "rib" from "rob", of which rib is
the more frequent.
"""

from crfkit import MEMM, ChainCRF
from crfkit.models.pictures import lattice_picture

rib, rob = (["r", "i", "b"], ["r1", "i1", "b1"]), (["r", "o", "b"], ["r2", "o2", "b2"])
data = [rib] * 3 + [rob]
X, y = [x for x, _ in data], [z for _, z in data]
models = [estimator(features="word[0]", l2=0.01).fit(X, y) for estimator in (MEMM, ChainCRF)]
for model in models:
    print(type(model).__name__, model.predict([["r", "o", "b"]])[0])

# %%
# The lattice of "rob" in the MEMM: the first letter has decided.

lattice_picture(models[0].model_, [["r", "o", "b"]], ["r", "o", "b"])

# %%
# The lattice of "rob" in the CRF: the second letter decides about the first one, too.

lattice_picture(models[1].model_, [["r", "o", "b"]], ["r", "o", "b"])
