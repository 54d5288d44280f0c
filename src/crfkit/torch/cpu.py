"""The operators of `crfkit.torch.ops` on the CPU."""

from crfkit.torch.general import best, hvp, kbest, log_partition, loss, marginals, sample

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]
