"""The pass of published methods: perturbed passes, and every score of a set of images."""
