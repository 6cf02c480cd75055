"""What only published scores need of a network: dropout of features, logits, altered images.

A detector becomes a `PerturbableDetector` (mmdet; ``perturbable.py``), a `HookedNetwork` (another
framework, at named modules; ``hooked_network.py``) or a `ViewedBlackBox` (altered images alone;
``viewed_black_box.py``): `autoeval.stability.passes.presets.as_perturbable` chooses.
``forward/`` runs the passes: the backbone split in stages (``stages.py``, by family in
``backbones.py``), or with hooks; ``capture.py`` keeps what a clean pass leaves on the way.
"""
