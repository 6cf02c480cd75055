"""What a fit on predictions, and an estimate from them, have to say; needs no matplotlib."""
