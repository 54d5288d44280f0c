"""
Honest probabilities
====================

Of all labels with probability 0.8, 80 % should be right. A model of few data with a weak penalty is too
sure; one temperature, learned from other data, corrects that.
"""

from crfkit import ChainCRF, datasets
from crfkit.metrics.pictures import calibration_picture
from crfkit.models.calibration import reliability

docs = datasets.load_addresses().train
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]", tokenizer="blanks", l2=0.01).fit(docs[:600])
dev, test = docs[600:1000], docs[1000:]
calibrated = crf.model_.calibrated(dev, None)

# %%
calibration_picture(
    {"before": reliability(crf.model_, test).labels, "after": reliability(calibrated, test).labels}
)
