"""
A rule repairs a sentence
=========================

Each label once: the best label sequence that keeps the rule, found exactly. Probabilities do not change, so
a label that the rule enforces may have a low one.
"""

from crfkit import ChainCRF, view
from crfkit.constraints import AtMostOnce, Before

X = [line.split() for line in ("Lee Tall Trees 1999", "Diaz Cats 2001", "Wu Dogs 1970", "Berg Houses 1988")]
y = [["author", "title", "title", "year"]] + [["author", "title", "year"]] * 3
crf = ChainCRF(features="lower(word)[0]; shape(word)[0]").fit(X, y)
strict = crf.model_.constrained([AtMostOnce(), Before("author", "title")])

words = ["Kubrick", "2001", "Odyssey", "1968"]
text, free = view.joined(words, crf.predict_spans([words])[0])
_, ruled = view.joined(words, strict.predict_spans([words])[0])

# %%
view.compare(text, {"free": free, "each once, in order": ruled}, title="Kubrick's film")
