"""Files of graphical models as plain arrays, which `crfkit.graphs.load` and `crfkit.graphs.save` use.

==========  ===========================================================  ============
format      what it is                                                   usual ending
==========  ===========================================================  ============
``uai``     UAI competitions: MARKOV and BAYES, tables of probabilities  .uai
``lg``      the same with tables of logarithms                           .LG
``fg``      libDAI's factor graphs                                       .fg
``opengm``  OpenGM's HDF5 files (needs h5py)                             .h5, .hdf5
``wcsp``    toulbar2's cost functions; read only                         .wcsp
``cfn``     the same as JSON; read only                                  .cfn
``bif``     Bayes nets of the BIF format; read only                      .bif
==========  ===========================================================  ============

Text may be compressed by gzip. `read_evidence` and `read_result` read what lies beside a UAI model.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.data.graphs.evidence import evidence_text, read_evidence
    from crfkit.data.graphs.factor_list import FactorList
    from crfkit.data.graphs.files import FORMATS, read_factors, write_factors
    from crfkit.data.graphs.results import Result, read_result, result_text

__all__ = [
    "FORMATS",
    "FactorList",
    "Result",
    "evidence_text",
    "read_evidence",
    "read_factors",
    "read_result",
    "result_text",
    "write_factors",
]

lazily(
    __name__,
    {
        "FORMATS": ".files",
        "FactorList": ".factor_list",
        "Result": ".results",
        "evidence_text": ".evidence",
        "read_evidence": ".evidence",
        "read_factors": ".files",
        "read_result": ".results",
        "result_text": ".results",
        "write_factors": ".files",
    },
)
