"""Named settings of box stability: what to perturb and how to compare.

``paper`` is the text of Yang et al. 2024 (section 3 and appendix A): equation 4 divides by all M
images, so that one without a box on one side counts as 0. ``paper_skip_empty`` is the same, but
leaves such images out, as the released code does. ``released`` is that code, ``replication`` the
settings of the published replication. Boxes scaled to [0, 1] and boxes in pixels have the same
overlaps.

The released code has no file for ResNet, the backbone of the paper's main tables. It drops before
stages in RegNet ([2, 3] at .1, whatever the options), and before layers in MobileNetV2, where its
``[1, 2]`` is ``DropoutSpec("before", (0, 1))`` here; the position of ``released`` is taken over
from them. For Swin it drops elements of the normalised outputs, which the neck alone reads: here
with the modules ``norm1`` and ``norm2`` of the backbone as stages 0 and 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from typing_extensions import Self

from autoeval.detections import Detections
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.reference_boxes import Reference
from autoeval.runtime.files import atomic_path
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.viewed_black_box import ViewedBlackBox
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.frechet_distance import FeatureStatistics

# What a clean pass leaves behind at next to no cost.
BY_PRODUCTS = ("candidates", "energies", "features")
PRESETS = {
    "paper": (DropoutSpec("after", (1, 2), 0.15), BoxStabilitySettings()),
    "paper_skip_empty": (DropoutSpec("after", (1, 2), 0.15), BoxStabilitySettings(empty="skip")),
    "released": (
        DropoutSpec("before", (1, 2), 0.15),
        BoxStabilitySettings(cost="iou", empty="skip"),
    ),
    "replication": (DropoutSpec("before", (1, 2), 0.15), BoxStabilitySettings(empty="skip")),
}


@dataclass(frozen=True, eq=False)
class SourceDomain:
    """What the Fréchet distance and the original ATC know of the training domain.

    Parameters
    ----------
    name : str
        Of the seed set that stands for it.
    features : FeatureStatistics, optional
        None where the detector's backbone gives no feature maps.
    threshold : float
        Confidence under which there are as many boxes as there are wrong ones.
    """

    name: str
    features: FeatureStatistics | None
    threshold: float

    @property
    def digest(self) -> str:
        """A short name of all its numbers."""
        digest = hashlib.sha256(repr((self.name, self.threshold)).encode())
        if self.features is not None:
            digest.update(self.features.mean.tobytes() + self.features.covariance.tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write an npz file.

        Parameters
        ----------
        path : Path
            The file, written atomically.
        """
        features = {} if self.features is None else asdict(self.features)
        known: dict[str, Any] = {k: v for k, v in features.items() if v is not None}
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, threshold=self.threshold, **known)

    @classmethod
    def load(cls, path: Path, name: str) -> SourceDomain:
        """Read what `save` wrote of the seed set of this name.

        Parameters
        ----------
        path : Path
            The file.
        name : str
            Of the seed set, which is not in the file.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        try:
            with np.load(path) as stored:
                features: dict[str, Any] = dict(stored)
            threshold = float(features.pop("threshold"))
            if features:
                features["n"] = int(features["n"])
            return cls(name, FeatureStatistics(**features) if features else None, threshold)
        except Exception as error:  # a changed byte may make any part of the readers fail
            raise InputError(
                f"Expected a training domain in '{path}' but could not read it: {error}"
            ) from error


class Measure(Protocol):
    """Adds up how right a detector is, image by image, as `MeanAP` does."""

    def update(
        self, detections: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in the detections and the true boxes of one image.

        Parameters
        ----------
        detections : Detections
            Of the clean pass.
        boxes : ndarray of shape (N, 4)
            True boxes.
        labels : ndarray of shape (N,)
            Indices of their categories.
        iscrowd : ndarray of bool, shape (N,)
            Whether each marks a crowd.
        """

    def compute(self) -> dict[str, float]:
        """Return named figures of all images seen."""


class MeasureSettings(Protocol):
    """A dataclass of plain values that makes a measure for each set of images.

    Attributes
    ----------
    revision : int
        To be raised by whoever changes its numbers, as that of a `Score`.
    """

    revision: ClassVar[int]

    def make(self) -> Measure:
        """Make a measure that has seen nothing."""


@dataclass(frozen=True)
class ScoredSettings(PassSettings):
    """All that decides the scores of a pass, apart from the detector and the images.

    Parameters
    ----------
    wants : tuple of str
        Further evidence beside the clean boxes; see `PerturbableDetector.observe`.
    dropout : DropoutSpec
        Where and how much is dropped.
    stability : BoxStabilitySettings
        How boxes are compared.
    repeats : int
        Perturbed passes an image; with none, the scores that need none remain.
    measures : tuple of MeasureSettings
        What to measure with mAP where there are labels.
    domain : SourceDomain, optional
        The training domain, for scores that compare with it.
    stages : tuple of str
        Modules of the backbone at which features are dropped; by default its stages. They are among
        the settings of the detector that is run, see `PerturbableDetector`.
    """

    wants: tuple[str, ...] = BY_PRODUCTS
    dropout: DropoutSpec = field(default_factory=DropoutSpec)
    stability: BoxStabilitySettings = field(default_factory=BoxStabilitySettings)
    repeats: int = 10
    measures: tuple[MeasureSettings, ...] = ()
    domain: SourceDomain | None = None
    stages: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of the detector's `observe`."""
        dropped = {"dropout": self.dropout, "repeats": self.repeats, "seed": self.seed}
        return {"wants": self.wants, **dropped}

    def equipped(self, detector: Any) -> Any:
        """Return a detector with all passes that it allows; see `as_perturbable`.

        Parameters
        ----------
        detector : ImageDetector
            Of any kind.

        Raises
        ------
        InputError
            If `stages` are named for one without a network.
        """
        return as_perturbable(detector, self.stages)

    @property
    def kept_with(self) -> Mapping[str, Any]:
        """What evidence that is kept depends on beside `Observer.context`."""
        kept = {"wants": self.wants, "repeats": self.repeats}
        revisions = [measure.revision for measure in self.measures]
        return kept | ({"measures": revisions} if revisions else {})

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain values; what is not measured or not given is not mentioned.

        Without the number of repeats, as without further evidence: each stands on its own. Stages
        are settings of the detector.
        """
        values = super(ScoredSettings, replace(self, domain=None)).to_dict()
        del values["wants"], values["repeats"], values["domain"], values["stages"]
        if not values["measures"]:
            del values["measures"]
        return values | ({"domain": self.domain.digest} if self.domain else {})

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        *,
        repeats: int,
        wants: tuple[str, ...] = BY_PRODUCTS,
        domain: SourceDomain | None = None,
        reference: Reference | None = None,
        stages: tuple[str, ...] = (),
    ) -> Self:
        """Read what `to_dict` wrote, for a pass without labels: it measures nothing.

        Parameters
        ----------
        values : mapping
            With ``dropout``, ``stability`` and ``seed``; all else is not read from it.
        repeats, wants, domain, reference, stages
            What `to_dict` does not hold.
        """
        return cls(
            values["seed"],
            reference,
            wants=wants,
            dropout=DropoutSpec(**values["dropout"]),
            stability=BoxStabilitySettings(**values["stability"]),
            repeats=repeats,
            domain=domain,
            stages=stages,
        )


def preset(
    name: str,
    *,
    repeats: int = 10,
    seed: int = 0,
    dropout: DropoutSpec | None = None,
    least: int = 0,
) -> ScoredSettings:
    """Return the settings of a preset.

    Parameters
    ----------
    name : str
        One of `PRESETS`.
    repeats : int
        Perturbed passes.
    seed : int
        Of the masks.
    dropout : DropoutSpec, optional
        In place of that of the preset.
    least : int
        Fewest repeats that are allowed.

    Raises
    ------
    InputError
        If there is no such preset, or the repeats are too few.
    """
    if name not in PRESETS:
        raise InputError(f"Expected a preset out of {', '.join(PRESETS)} but got '{name}'.")
    if repeats < least:
        raise InputError(f"Expected {least} dropout repeats or more but got {repeats}.")
    usual, stability = PRESETS[name]
    return ScoredSettings(seed, dropout=dropout or usual, stability=stability, repeats=repeats)


def light(*, repeats: int = 0, seed: int = 0, dropout: DropoutSpec | None = None) -> ScoredSettings:
    """Return the pass of the default, the clean one alone, without further evidence.

    Parameters
    ----------
    repeats : int
        Perturbed passes beside it, as in the preset ``paper``; 0 or more.
    seed : int
        Of the masks.
    dropout : DropoutSpec, optional
        In place of that of the preset.
    """
    settings = preset("paper", repeats=repeats, seed=seed, dropout=dropout)
    return replace(settings, wants=())


def scored_settings(observer: Observer) -> ScoredSettings:
    """Return the settings of an observer that scores, which a plain pass does not have.

    Parameters
    ----------
    observer : Observer
        Of any pass.

    Raises
    ------
    TypeError
        If its settings are others.
    """
    settings = observer.settings
    if not isinstance(settings, ScoredSettings):
        raise TypeError(f"Expected an observer with `ScoredSettings` but got {settings}.")
    return settings


def as_perturbable(detector: Any, stages: Sequence[str] = ()) -> Any:
    """Return the same detector with all passes that it allows.

    One of mmdet becomes a `PerturbableDetector`, at `stages` of its backbone if any are named; a
    black box a `ViewedBlackBox`, and a `HookedNetwork` where it has a network of torch and stages
    are named; any other takes the options of dropout itself.

    Parameters
    ----------
    detector : ImageDetector
        Of any kind.
    stages : sequence of str
        Modules to perturb; the backbone's own stages by default.

    Raises
    ------
    InputError
        If stages are named for one without a network.
    """
    if hasattr(detector, "model"):  # mmdet takes seconds to import
        from autoeval.detectors.detector import MMDetector
        from autoeval.stability.network.perturbable import PerturbableDetector

        perturbable = isinstance(detector, PerturbableDetector)
        if perturbable and (not stages or detector.stages == tuple(stages)):
            return detector
        if isinstance(detector, MMDetector):
            parts = detector.model, detector.config, detector.categories
            return PerturbableDetector(*parts, stages=stages, precision=detector.precision)
    if stages and getattr(detector, "network", None) is not None:
        from autoeval.stability.network.hooked_network import HookedNetwork  # imports torch

        same = getattr(detector, "stages", ()) == tuple(stages)
        return detector if same else HookedNetwork(detector, stages)
    if stages:
        raise InputError(
            f"Expected no stages with {getattr(detector, 'name', detector)}: they are modules of "
            "a network of torch, and there is none to see. Leave them out."
        )
    if isinstance(detector, BlackBoxDetector) and not isinstance(detector, ViewedBlackBox):
        return ViewedBlackBox(detector)
    return detector
