"""A black box that is also run on altered images, and says why it has no other evidence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import TypedDict, Unpack

from autoeval.detections import Evidence
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import DropoutSpec

MISSING = {
    "perturbed": "a black box has no features that dropout could reach",
    "candidates": "a black box does not state which boxes it suppressed",
    "energies": "a black box returns scores, no class logits",
    "logits": "a black box returns scores, no class logits",
    "features": "a black box does not show its features",
    "prototypes": "a black box does not show its features",
    "reweighted": "a black box has no weights that could be perturbed",
}
NAME_STAGES = (
    "it is not known at which modules of its network; name them, in the order they run: "
    "--stages NAME,NAME"
)
LEVELS = np.arange(256)

# What each view makes of each pixel value, before rounding to 0..255.
VIEWS = {"darker": LEVELS * 0.7, "brighter": LEVELS * 1.3, "flatter": 128 + (LEVELS - 128) * 0.6}


class MorePasses(TypedDict, total=False):
    """What is run and kept beside a clean pass.

    Parameters
    ----------
    dropout : DropoutSpec, optional
        Where features are dropped, and at which rate.
    repeats : int
        Passes with feature dropout (default: 0).
    seed : int
        The masks derive from it, the name of the image and the number of the repeat (default: 0).
    wants : collection of str
        Further fields of `Evidence`: ``candidates``, ``energies``, ``logits``, ``features`` and
        ``prototypes`` are by-products of the clean pass, ``views`` are one more clean pass for each
        of `VIEWS`, and ``reweighted`` one with perturbed weights, the same ones for a seed. What a
        detector does not give is missing from the evidence, with the reason.
    """

    dropout: DropoutSpec | None
    repeats: int
    seed: int
    wants: Collection[str]


class ViewedBlackBox(BlackBoxDetector):
    """The same detector, with what published scores may want of it.

    Parameters
    ----------
    detector : BlackBoxDetector
        Its attributes are shared.

    Examples
    --------
    >>> def find(images):
    ...     n = len(images)
    ...     return [[[0, 0, 4, 4]]] * n, [[.9]] * n, [["car"]] * n
    >>> detector = ViewedBlackBox(BlackBoxDetector(find, ["car"]))
    >>> (evidence,) = detector.observe([np.zeros((8, 8, 3), np.uint8)], ["street"])
    >>> len(evidence.clean), evidence.why_missing("perturbed")
    (1, 'a black box has no features that dropout could reach')
    """

    splits_backbone = False

    def __init__(self, detector: BlackBoxDetector) -> None:
        vars(self).update(vars(detector))

    @property
    def why_no_dropout(self) -> str:
        """Why no features can be dropped, and what would help."""
        return MISSING["perturbed"] if self.network is None else NAME_STAGES

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        **passes: Unpack[MorePasses],
    ) -> list[Evidence]:
        """Run the detector as `BlackBoxDetector.observe` does, and again for each view.

        Views are run where they are wanted.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image.
        **passes
            See `MorePasses`; of what they want, ``views`` are given.

        Returns
        -------
        list of Evidence
            In the order of ``images``, boxes xyxy in pixels of the image as given.

        Raises
        ------
        InputError
            For repeats, and as `BlackBoxDetector.observe`.
        """
        if repeats := passes.get("repeats", 0):
            raise InputError(
                f"Expected no dropout repeats for {self.name} but got {repeats}: "
                f"{self.why_no_dropout}."
            )
        plain = super().observe(images, image_ids)
        evidence = [
            replace(clean_only, missing={**clean_only.missing, **MISSING}) for clean_only in plain
        ]
        if "views" not in passes.get("wants", ()):
            return evidence

        by_view = [self._detect(altered, image_ids) for altered in altered_images(images)]
        views = zip(*by_view, strict=True)
        return [
            replace(image_evidence, views=image_views)
            for image_evidence, image_views in zip(evidence, views, strict=True)
        ]


def alter(image: np.ndarray, view: str) -> np.ndarray:
    """Alter the colours of an image; boxes found on it need no mapping back.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        The image.
    view : str
        A key of `VIEWS`.

    Examples
    --------
    >>> alter(np.array([[[0, 100, 250]]], np.uint8), "brighter")
    array([[[  0, 130, 255]]], dtype=uint8)
    """
    return np.clip(np.rint(VIEWS[view]), 0, 255).astype(np.uint8)[image]


def altered_images(images: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Return for each of the `VIEWS` a list of the images as it shows them.

    Parameters
    ----------
    images : sequence of ndarray of shape (H, W, 3), uint8
        The images.
    """
    return [[alter(image, view) for image in images] for view in VIEWS]
