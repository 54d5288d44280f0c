"""The operators on CUDA devices, by Triton kernels (`crfkit.torch.cuda.choose`)."""

from crfkit.torch.cuda.choose import run

__all__ = ["run"]
