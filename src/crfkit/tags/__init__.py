"""Tags of segments: every scheme (BIO, BIOES, BILOU, ...) is read, written, detected and converted.

==========  ==========================================================================
`SCHEMES`   the names of schemes; the table is in `crfkit.tags.schemes`
`detect`    which scheme the tags of some sequences follow
`spans`     the segments (start, end, label) that the tags of a sequence spell
`to_tags`   the tags of segments
`convert`   tags of one scheme as tags of another
==========  ==========================================================================

>>> from crfkit import tags
>>> tags.spans(["B-PER", "I-PER", "O"]), tags.to_tags([(0, 2, "PER")], 3, "BIOES")
([(0, 2, 'PER')], ['B-PER', 'E-PER', 'O'])
"""

from crfkit.tags.detection import detect
from crfkit.tags.schemes import SCHEMES
from crfkit.tags.segments import convert, spans, to_tags

__all__ = ["SCHEMES", "convert", "detect", "spans", "to_tags"]
