"""Estimating mAP with a few labels: which images to label, and the estimate from their labels.

Pure functions over the boxes of a detector, with features (`autoeval.sites.site`). From labelled
sets `fit_assistance` learns to predict the influence of
images, which ``assistance.py`` does at a site. A `LabelPlan` (``plan.py``) holds the images to
label, and `estimate_with_labels` (``labelled_estimate.py``) combines what the labels say
(``category_estimates.py``) with the label-free estimates as a prior (``joint.py``); laws of
variance and bias are in ``values.py``. See docs/how-to/labels.md.
"""

PLAN = "plan.json"
"""File by which a folder is that of a plan; here, so that whoever asks imports nothing else."""
