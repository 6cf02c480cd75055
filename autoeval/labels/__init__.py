"""Estimating mAP with a few labels: which images to label, and the estimate from their labels.

Pure functions over the boxes of a detector, with features (`autoeval.sites.site`). From labelled
sets `fit_assistance` (``fit_assistance.py``) learns to predict the influence of images, which
``assistance.py`` does at a site. A `LabelPlan` (``plan.py``, its folder in ``plan_folder.py``)
holds the images to label. `estimate_with_labels` (``labelled_estimate.py``) matches labels with it
(``matching.py``, ``labelled_categories.py``), and combines what they say
(``category_estimates.py``) with the label-free estimates as a prior (``joint.py``); values with
errors and laws of variance are in ``values.py``. See docs/how-to/labels.md.
"""

PLAN = "plan.json"
"""File by which a folder is that of a plan; here, so that whoever asks imports nothing else."""
