"""Many sites over time: which is worst, and whether it got worse."""
