"""Kernels in Triton's language. They compile at their first use, once for each width and type."""
