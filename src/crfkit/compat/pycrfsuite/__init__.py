"""python-crfsuite's interface on crfkit: ``import crfkit.compat.pycrfsuite as pycrfsuite``.

Same classes, parameters, defaults, messages and model files as python-crfsuite 0.9.12. What is different, on
purpose:

- the three bugs of CRFsuite that change models are not repeated: (attribute, label) pairs whose values
  sum to less than 0 are kept at ``feature.minfreq`` 0, shuffles are seeded, and `Tagger.info` and labels
  survive newlines and " --> " in names;
- a plain string is not an item and not a sequence (its characters were taken one by one), mappings of every
  kind are read as dicts; nan, infinity, names with NUL and texts that are not numbers are refused;
- damaged model files are a ValueError that says what is wrong, never a crash; bytes given to
  `Tagger.open_inmemory` need not be kept;
- a folder that does not exist is an error before training, not a missing file after it;
- `Tagger.dump` replaces a file; the original leaves the end of a longer one behind the dump;
- ``lbfgs`` has one line search (strong Wolfe), whatever ``linesearch`` says; ``l2sgd`` compares rates by the
  objective after a trial pass (see `crfkit.optimize.SGD`);
- training uses all cores; sequences that all have one label, beside a holdout group with others, are a
  ValueError (there is nothing to learn), where CRFsuite learns to prefer that label.
"""

from crfkit.compat.pycrfsuite._dumpparser import ParsedDump
from crfkit.compat.pycrfsuite._items import ItemSequence
from crfkit.compat.pycrfsuite._tagger import Tagger
from crfkit.compat.pycrfsuite._trainer import CRFSUITE_VERSION, BaseTrainer, CRFSuiteError, Trainer

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "ParsedDump",
    "Tagger",
    "Trainer",
]
