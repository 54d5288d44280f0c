"""Methods for losses with kinks, such as max-margin, that know how far they are from the optimum."""
