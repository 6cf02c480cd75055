"""Estimating mAP with a few labels: which images to label, and the estimate from their labels.

Pure functions over the boxes of a detector. A `Pool` holds boxes and their features
(`autoeval.sites.site`). From labelled sets `fit_assistance` fits a box model, mixing weights of
control variates and the small-sample bias (``assistance.py``). `make_plan` draws images
(``plan.py``), and `estimate_with_labels` (``labelled_estimate.py``) combines the sample estimate
and the difference estimator (``category_estimate.py``) with the label-free estimate as a prior
(``values.py``; of several categories ``joint.py``). See docs/how-to/labels.md.
"""

PLAN = "plan.json"
"""File by which a folder is that of a plan; here, so that whoever asks imports nothing else."""
