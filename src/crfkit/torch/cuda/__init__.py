"""The operators of `crfkit.torch.ops` on CUDA devices, by Triton kernels; which kernel serves which size."""

from crfkit.torch.general import best, hvp, kbest, log_partition, loss, marginals, sample

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]
