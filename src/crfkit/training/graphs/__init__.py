"""Training on graphs: what differs from sequences."""
