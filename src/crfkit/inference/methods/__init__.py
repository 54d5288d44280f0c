"""Methods for graphs, one file for each; users find them in `crfkit.methods`."""
