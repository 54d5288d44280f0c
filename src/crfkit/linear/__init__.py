"""The linear layer: which weights there are, attributes to scores, and gradients of scores to weights."""
