"""Which of several detectors is better at a site, with few labels or none.

`compare_sites` (``compare_sites.py``) is behind `autoeval.compare` and makes a `Comparison`
(``comparison.py``). It brings the detectors to the same images and categories
(``common_ground.py``), predicts each difference without labels (``unlabelled_difference.py``), and
estimates it from labels where there are some (``paired_labels.py``). ``train_differences.py`` made
the shipped numbers of the label-free prediction. See docs/how-to/compare.md.
"""
