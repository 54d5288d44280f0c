"""Triton code of the kernels: imported by the launchers of `crfkit.torch.cuda` when they first run."""
