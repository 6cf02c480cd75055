"""How well counts agree with the truth: by bin, overall, by place in the image, between models."""
