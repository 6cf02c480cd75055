"""A site with labels of some of its images that no plan drew, as `autoeval estimate --labels`."""

import autoeval


def estimate_labelled(fitted, boxes, labels, *, words=None, **site):
    """Estimate a site from its boxes and the labels of some of its images."""
    plan = fitted.plan_labels(fitted.predict(boxes, **site), n=1)
    return autoeval.estimate_with_labels(plan, labels, words=words, planned=False)
