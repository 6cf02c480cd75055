"""A site with labels of some of its images that no plan drew, as `autoeval estimate --labels`."""


def estimate_labelled(fitted, boxes, labels, *, words=None, **site):
    """Estimate a site from its boxes and the labels of some of its images."""
    return fitted.estimate_with_labels(fitted.predict(boxes, **site), labels, words=words)
