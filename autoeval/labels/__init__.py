"""Estimating mAP with a few labels: which images to label, and the estimate from their labels.

Pure functions over the boxes of a detector. A `Pool` holds boxes and their features
(`autoeval.sites.pool`). From labelled sets `fit_assistance` fits a box model, mixing weights of
control variates and the small-sample bias. `make_plan` draws images (``label_sampling.py``), and
`estimate_with_labels` combines the sample estimate (``estimators.py``), the difference estimator
(``difference.py``) and
the label-free estimate as a prior (``prior.py``). See docs/how-to/labels.md.
"""
