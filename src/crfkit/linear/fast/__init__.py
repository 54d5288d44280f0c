"""Native passes that go from weights to the loss and its gradient in one step."""
