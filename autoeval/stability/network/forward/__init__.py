"""Clean and perturbed passes: the stages of a backbone, and dropout between them."""
