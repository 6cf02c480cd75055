"""What is remembered of observed images."""
