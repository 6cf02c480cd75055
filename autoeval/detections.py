"""Plain containers for what a detector says about an image.

Coordinates are xyxy in pixels of the image as it was decoded (before any resize).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError

OF_BOXES = {"boxes": True}  # marks a field of `Evidence` that holds boxes, of one pass or several
FRAMEWORK = "framework"
PRECISIONS = (FRAMEWORK, "single", "half")  # see `autoeval.detectors.predicting.in_precision`
SCORE_THR = 0.05  # boxes with a lower score count in no score
CONFIDENT = 0.3  # a box with a higher score is taken for one that the detector is sure of
ARRAYS = ("energies", "logits", "features", "prototypes")
OF_EACH_BOX = ("energies", "logits")  # arrays with a row for each clean box


def check_precision(precision: str) -> None:
    """Refuse a precision that there is not.

    Parameters
    ----------
    precision : str
        Precision in which a network is run.

    Raises
    ------
    InputError
        If it is none of `PRECISIONS`.
    """
    if precision not in PRECISIONS:
        raise InputError(
            f"Expected a precision out of {', '.join(PRECISIONS)} but got {precision!r}."
        )


@dataclass(frozen=True, eq=False)
class Detections:
    """The N boxes of one image.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        xyxy, pixels; float32 as networks give them and where there are none, all else becomes
        float64.
    scores : ndarray of shape (N,)
        Confidences in [0, 1], of the same types.
    labels : ndarray of shape (N,), int64
        Index into the category tuple of whoever made the detections.

    Raises
    ------
    ValueError
        If the arrays do not describe the same N boxes.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 4, 4], [1, 1, 2, 2]])
    >>> found = Detections(boxes, np.array([.9, .2]), np.array([0, 2]))
    >>> len(found), len(found.above(.5)), found.relabel(np.array([-1, -1, 0])).labels
    (2, 1, array([0]))
    """

    boxes: np.ndarray
    scores: np.ndarray
    labels: np.ndarray

    def __post_init__(self) -> None:
        boxes, scores = _floating(self.boxes), _floating(self.scores)
        labels = np.asarray(self.labels, np.int64)
        n = len(scores)
        if boxes.shape != (n, 4) or scores.shape != (n,) or labels.shape != (n,):
            raise ValueError(
                f"Expected `boxes` (N, 4), `scores` (N,) and `labels` (N,) with one N "
                f"but got {boxes.shape}, {scores.shape} and {labels.shape}."
            )
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "labels", labels)

    def __len__(self) -> int:
        return len(self.scores)

    @classmethod
    def empty(cls) -> Detections:
        """Make the detections of an image on which nothing was found."""
        return cls(np.zeros((0, 4)), np.zeros(0), np.zeros(0))

    def __getitem__(self, index: np.ndarray | slice) -> Self:
        """Return the boxes that a mask, an index array or a slice selects."""
        return type(self)(**{name: column[index] for name, column in vars(self).items()})

    def above(self, score_thr: float) -> Self:
        """Keep the boxes whose score exceeds a threshold.

        Parameters
        ----------
        score_thr : float
            The threshold; a box of this very score is dropped.
        """
        return self[self.scores > score_thr]

    def relabel(self, lookup: np.ndarray) -> Self:
        """Translate labels; boxes of labels without a new one are dropped.

        Parameters
        ----------
        lookup : ndarray of shape (K,), int
            New label of each of the K labels, -1 for none.
        """
        labels = np.asarray(lookup, np.int64)[self.labels]
        return replace(self, labels=labels)[labels >= 0]


def _floating(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype == np.float32:
        return values
    # None are single, too: an empty list, joined with the scores of other images, would make them
    # double, by which .2 in single precision is over .2.
    return values.astype(np.float64 if values.size else np.float32)


@dataclass(frozen=True, eq=False)
class Candidates(Detections):
    """The M boxes that went into non-maximum suppression, and which of them it kept.

    All are above the score threshold of the detector's head.

    Parameters
    ----------
    kept : ndarray of shape (M,), bool
        Whether a box was not suppressed. Those beyond the detector's limit of boxes an image are
        among them, so there may be more of them than clean boxes.

    Raises
    ------
    ValueError
        If it is of another shape; see also `Detections`.
    """

    kept: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        kept = np.asarray(self.kept, bool)
        if kept.shape != self.scores.shape:
            raise ValueError(
                f"Expected `kept` of shape {self.scores.shape}, one value a box, "
                f"but got {kept.shape}."
            )
        object.__setattr__(self, "kept", kept)


@dataclass(frozen=True, eq=False)
class Classified(Detections):
    """N boxes with the probability of every category.

    Parameters
    ----------
    probabilities : ndarray of shape (N, K), float32
        Of the head's categories, and of none of them in the last column; rows sum to 1. They stay
        as they are when labels are translated.

    Raises
    ------
    ValueError
        If they are not N; see also `Detections`.
    """

    probabilities: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.probabilities) != len(self):
            raise ValueError(
                f"Expected `probabilities` of {len(self)} boxes but got {len(self.probabilities)}."
            )


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that one pass of a detector leaves behind about one image.

    What is declared here as boxes is relabelled, checked and kept like the others.

    Parameters
    ----------
    image_id : str
        Name of the image within its set.
    image_size : tuple of int
        Height and width in pixels.
    clean : Detections
        The N boxes of the unperturbed network.
    perturbed : tuple of Detections
        Boxes of each repeat with feature dropout; empty where none was asked for.
    views : tuple of Detections
        Boxes of photometrically altered views of the image, in its own coordinates.
    reference : Detections, optional
        Boxes of a second, stronger detector, labelled as those of the first.
    reweighted : tuple of Classified
        Boxes of the network as it is, and with its weights perturbed.
    candidates : Candidates, optional
        Boxes before non-maximum suppression.
    energies : ndarray of shape (N,), float64, optional
        Free energy of the class logits z of each clean box, -log Σ exp z: the lower, the surer.
    logits : ndarray of shape (N, K), float32, optional
        The head's class logits of each clean box. Its K columns are the head's own, with the
        background where it has one; they stay as they are when labels are translated.
    features : ndarray of shape (C,), float32, optional
        Last stage of the backbone, averaged over the image.
    prototypes : ndarray of shape (K + 1, C + 1), float32, optional
        The same stage averaged over each candidate, and a 1, summed with the probabilities of the
        head's K categories and of the background as weights. It stays as it is when labels are
        translated.
    missing : mapping of str to str
        Why a field above is not there, by the name of the field.

    Raises
    ------
    ValueError
        If there are energies or logits, but not of each clean box.
    """

    image_id: str
    image_size: tuple[int, int]
    clean: Detections = field(metadata=OF_BOXES)
    perturbed: tuple[Detections, ...] = field(default=(), metadata=OF_BOXES)
    views: tuple[Detections, ...] = field(default=(), metadata=OF_BOXES)
    reference: Detections | None = field(default=None, metadata=OF_BOXES)
    reweighted: tuple[Classified, ...] = field(default=(), metadata=OF_BOXES)
    candidates: Candidates | None = field(default=None, metadata=OF_BOXES)
    energies: np.ndarray | None = None
    logits: np.ndarray | None = None
    features: np.ndarray | None = None
    prototypes: np.ndarray | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in OF_EACH_BOX:
            values = getattr(self, name)
            if values is not None and len(values) != len(self.clean):
                raise ValueError(
                    f"Expected `{name}` of {len(self.clean)} clean boxes but got {len(values)}."
                )

    def why_missing(self, name: str) -> str | None:
        """Say why a field is not there, None if it is.

        Parameters
        ----------
        name : str
            Name of the field.
        """
        value = getattr(self, name)
        if value is None or (isinstance(value, tuple) and not value):
            return self.missing.get(name, f"the pass was made without {name}")
        return None

    def require(self, name: str) -> Any:
        """Return a field that has to be there.

        Parameters
        ----------
        name : str
            Name of the field.

        Raises
        ------
        InputError
            If it is not there, with the reason.
        """
        reason = self.why_missing(name)
        if reason is not None:
            raise InputError(f"Expected {name} of image '{self.image_id}' but {reason}.")
        return getattr(self, name)

    def boxes_alone(self) -> Evidence:
        """Keep the boxes of passes on the image as it is: what is held for many images at once."""
        dropped = dict.fromkeys(("candidates", *ARRAYS))
        return replace(self, views=(), reweighted=(), **dropped)

    def by_category(self, n_categories: int) -> list[Evidence]:
        """Return the boxes of each category alone, labelled 0.

        All categories of which there is no box share one object, so that they can be measured once.

        Parameters
        ----------
        n_categories : int
            Labels are under this number.
        """
        fields = [getattr(self, name) for name in BOXES]
        every = [
            one for boxes in fields for one in (boxes if isinstance(boxes, tuple) else [boxes])
        ]
        present = {int(k) for boxes in every if boxes is not None for k in np.unique(boxes.labels)}
        nothing = self.relabel(np.full(n_categories, -1))
        lookups = np.where(np.eye(n_categories, dtype=bool), 0, -1)
        return [self.relabel(lookups[k]) if k in present else nothing for k in range(n_categories)]

    def relabel(self, lookup: np.ndarray) -> Evidence:
        """Translate the labels of every set of boxes.

        Parameters
        ----------
        lookup : ndarray of shape (K,), int
            New label of each of the K labels, -1 for none; see `Detections.relabel`.
        """
        changed: dict[str, Any] = {}
        for name in BOXES:
            evidence = getattr(self, name)
            if name in SEVERAL:
                changed[name] = tuple(boxes.relabel(lookup) for boxes in evidence)
            elif evidence is not None:
                changed[name] = evidence.relabel(lookup)
        kept = np.asarray(lookup, np.int64)[self.clean.labels] >= 0
        for name in OF_EACH_BOX:
            if getattr(self, name) is not None:
                changed[name] = getattr(self, name)[kept]
        return replace(self, **changed)


_OF_BOXES = [boxes_field for boxes_field in fields(Evidence) if boxes_field.metadata == OF_BOXES]
BOXES = tuple(boxes_field.name for boxes_field in _OF_BOXES)
SEVERAL = tuple(boxes_field.name for boxes_field in _OF_BOXES if boxes_field.default == ())
