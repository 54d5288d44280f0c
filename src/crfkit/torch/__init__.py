"""CRF layers for PyTorch."""
