"""Training density networks with an eye on the bins of the count: samplers and a loss."""
