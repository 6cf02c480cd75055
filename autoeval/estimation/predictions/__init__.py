"""From the predictions of any detector to an estimate, in flat arrays and without a network."""
