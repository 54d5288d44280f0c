"""Where there is no GPU, Triton's interpreter runs the kernels on tensors of the CPU."""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
