"""Where tests of the Triton kernels run: on the GPU if there is one, else under the interpreter."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
