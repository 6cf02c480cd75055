"""Perturbed features of a split backbone, from the prefix that its clean pass keeps."""

from autoeval.detectors.forward.passes import branches


def perturb(staged, images, spec, seeds, rows=None):
    """Return the clean features and those under one dropout, of selected samples or all."""
    layer = staged.first_layer(spec)
    clean, prefixes = staged.forward(images, {layer})
    prefix = prefixes[layer].take(range(len(images)) if rows is None else rows)
    ((_, perturbed),) = branches(staged, prefix, [spec], seeds)
    return clean, perturbed
