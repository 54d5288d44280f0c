"""The experiments by name: a new one is a file in this package and a line here."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module

from crfkit.papers.experiment import Experiment, Given


@dataclass(frozen=True)
class Entry:
    """What is known of an experiment before it is loaded."""

    name: str  #: the module is named so too, with _ for -
    paper: str
    shows: str  #: which tables and figures
    data: str  #: folders of the data that it needs; "generated": none
    minutes: int  #: of the whole, on two cores

    def make(self, given: Given) -> Experiment:
        """Load the experiment and its data."""
        made: Experiment = import_module(f"crfkit.papers.{self.name.replace('-', '_')}").make(given)
        return made


EXPERIMENTS = {
    one.name: one
    for one in (
        Entry("label-bias", "Lafferty, McCallum & Pereira (2001)", "section 5.1", "generated", 1),
        Entry("mixed-order", "Lafferty, McCallum & Pereira (2001)", "section 5.2, Figure 3", "generated", 8),
        Entry("np-chunking", "Sha & Pereira (2003)", "Tables 2-4, Figures 2-3", "conll2000", 15),
        Entry("pos", "Lafferty, McCallum & Pereira (2001)", "section 5.3, Figure 4", "ptb", 6),
        Entry(
            "semi-ner",
            "Sarawagi & Cohen (2004)",
            "Tables 1-2, Figure 1",
            "usaddress, email_enron, seminars, skillspan, gazetteers",
            15,
        ),
        Entry("ecoc", "Cohn, Smith & Osborne (2005)", "Gupta (2005) section 4.1", "brown, ud", 4),
        Entry("pools", "Smith, Cohn & Osborne (2005)", "Gupta (2005) section 2.6", "conll2002, conll2000", 8),
        Entry(
            "induction",
            "McCallum (2003)",
            "Gupta (2005) section 4.2: induced against fixed features",
            "conll2002",
            2,
        ),
        Entry(
            "boosting",
            "Dietterich, Ashenfelter & Bulatov (2004)",
            "trees against linear potentials",
            "ocr, protein",
            10,
        ),
        Entry("constraints", "Gupta (2005)", "section 4.3", "citations, seminars", 8),
        Entry(
            "skip-chain", "Sutton & McCallum (2006)", "section 1.5, Tables 1.1-1.3", "seminars, gazetteers", 8
        ),
        Entry("amn", "Taskar, Chatalbashev & Koller (2004)", "Gupta (2005) section 6", "segmentation", 25),
        Entry("multilabel", "Müller & Behnke (2014)", "several labels at once", "scene", 5),
        Entry("grid", "Sutton & McCallum (2006)", "section 1.4 on grids of pixels", "segmentation", 15),
        Entry("bayesian", "Qi, Szummer & Minka (2005)", "Gupta (2005) section 8", "scene", 6),
        Entry(
            "dcrf",
            "Sutton, Rohanimanesh & McCallum (2004)",
            "Sutton & McCallum (2006) section 1.4.2",
            "conll2000",
            45,
        ),
        Entry(
            "collective",
            "Taskar, Abbeel & Koller (2002)",
            "Gupta (2005) section 7: documents that are linked, classified together",
            "linked",
            8,
        ),
        Entry("rules", "Richardson & Domingos (2006)", "rules with weights, on citations", "linked", 3),
        Entry("training-cost", "Sutton & McCallum (2006)", "section 1.3.2", "conll2002, brown", 10),
        Entry("neural", "Huang, Xu & Yu (2015)", "Table 2, chunking; needs torch", "conll2000", 40),
    )
}


def named(name: str) -> Entry:
    """Return an experiment by its name.

    Examples
    --------
    >>> named("semi-ner").paper
    'Sarawagi & Cohen (2004)'
    >>> named("semi-nr")
    Traceback (most recent call last):
    ...
    ValueError: there is no experiment 'semi-nr'; did you mean 'semi-ner'? See crfkit reproduce --list
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(EXPERIMENTS)}."
    raise ValueError(f"there is no experiment {name!r}; {hint} See crfkit reproduce --list")
