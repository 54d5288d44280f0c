"""The operators of `crfkit.torch.ops` on CUDA devices, by Triton kernels (`crfkit.torch.cuda.choose`)."""

from functools import partial

from crfkit.torch.cuda.choose import run

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

best = partial(run, "best")
hvp = partial(run, "hvp")
kbest = partial(run, "kbest")
log_partition = partial(run, "log_partition")
loss = partial(run, "loss")
marginals = partial(run, "marginals")
sample = partial(run, "sample")
