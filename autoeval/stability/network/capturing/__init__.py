"""What a pass leaves on the way: candidates, logits, pooled features."""
