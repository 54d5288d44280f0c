"""Training data that are larger than memory, in blocks on disk."""
