"""
A graph: equal words, equal labels
==================================

A skip-chain connects equal words of a text. The second "Green" follows "Mr.", so it is a person; the long
edge tells the first one.
"""

from crfkit import view

words = ["Green", "spoke", "and", "Mr.", "Green", "left"]
variables = [("word", word, True) for word in words] + [("label", None, False)] * len(words)
n = len(words)
factors = [("step", [n + i, n + i + 1]) for i in range(n - 1)] + [("word", [i, n + i]) for i in range(n)]

# %%
view.graph(variables, [*factors, ("skip", [n, n + 4])], title="Skip-chain")
