"""Estimating mAP with a few labels: which images to label, and what their labels say.

Pure functions over the boxes of a detector: influence of images (``influence.py``), the difference
estimator (``difference.py``), the label-free estimate as a prior (``prior.py``), the draw
(``draw.py``), the widths to expect (``needed.py``), stopping (``sequential.py``); and what labelled
places teach (``aid.py``). docs/labels.md tells how they go together.
"""
