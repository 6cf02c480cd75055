"""Labelled seed sets, transforms, recipes and the sample sets made from them."""
