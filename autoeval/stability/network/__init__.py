"""What only published scores need of a network: dropout of features, logits, altered images."""
