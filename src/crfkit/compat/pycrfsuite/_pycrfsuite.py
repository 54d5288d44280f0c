"""The name of the original's extension module, for programs that import from it."""

from crfkit.compat.pycrfsuite._items import ItemSequence
from crfkit.compat.pycrfsuite._tagger import Tagger
from crfkit.compat.pycrfsuite._trainer import CRFSUITE_VERSION, BaseTrainer, CRFSuiteError, Trainer

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
