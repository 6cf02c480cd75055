"""Published label-free methods: box stability first, other scores, their studies and tables.

From bottom to top: ``layouts`` and ``metasets`` read labelled seed sets and make sample sets of
them; ``network`` runs a detector with feature dropout and records what a pass leaves; ``scores``
are the label-free scores, each one class; ``passes`` computes all of them for a set of images;
``methods`` are regressors from scores to accuracy, with `PublishedEstimator`; ``fitting`` scores
the sample sets of a task and fits; ``dropout_search``, ``studies``, ``reports`` and ``reproduce``
stand on these, ``commands`` on all. The core imports none of it.
"""
