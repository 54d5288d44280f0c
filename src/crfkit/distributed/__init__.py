"""Training and tagging on more than one machine, on Dask (extra ``dask``).

=====================  =================================================================================
`crfkit.train`         ``train(blocks, cluster="tcp://head:8786")``: as on one machine, with the same bits
`write_blocks`         files to blocks on a disk that all machines share, made by the workers
`TagPartition`         one callable that labels Arrow tables on Dask, Ray and Spark
`tag_files`            files to files of labeled spans; started again, it goes on where it was
=====================  =================================================================================

Workers hold blocks of the data and nothing else: each task is a function of its arguments, so that whatever
is lost with a worker is made again on another one, and what comes back is added in the order of the blocks.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.distributed.connection import connected
    from crfkit.distributed.extraction import write_blocks
    from crfkit.distributed.files import tag_files
    from crfkit.distributed.tagging import TagPartition

__all__ = ["TagPartition", "connected", "tag_files", "write_blocks"]

lazily(
    __name__,
    {
        "TagPartition": ".tagging",
        "connected": ".connection",
        "tag_files": ".files",
        "write_blocks": ".extraction",
    },
)
