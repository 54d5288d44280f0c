"""The linear layer: which weights exist, how attributes become scores, how gradients return to weights."""
