"""What decides the boxes of a pass, apart from the detector and the images.

`PassSettings` is the plain pass, without perturbation; that of published methods adds dropout and
more (`autoeval.stability.passes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from autoeval.estimation.observation.reference_boxes import Reference

# Settings of the detector of a pass with dropout; no box of a plain pass depends on them.
OF_DROPOUT = ("dropout_stages",)


@dataclass(frozen=True)
class PassSettings:
    """The settings of a pass that finds clean boxes.

    Parameters
    ----------
    seed : int
        Of what is random in a pass; nothing is in this one.
    reference : Reference, optional
        A stronger detector, whose boxes are compared with those of the detector.
    """

    seed: int = 0
    reference: Reference | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of the detector's `observe`."""
        return {}

    def equipped(self, detector: Any) -> Any:
        """Return a detector as a pass with these settings runs it: here as it is.

        Parameters
        ----------
        detector : ImageDetector
            As it was loaded.
        """
        return detector

    @property
    def kept_with(self) -> Mapping[str, Any]:
        """What kept evidence depends on in addition to `Observer.context`."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain values, with the digest of the reference in place of itself."""
        values = asdict(replace(self, reference=None))
        del values["reference"]
        return values | ({"reference": self.reference.digest} if self.reference else {})


def of_plain_pass(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those settings of a detector that boxes of a plain pass depend on.

    Parameters
    ----------
    settings : mapping
        By name.

    Examples
    --------
    >>> of_plain_pass({"weights": "9f2c", "dropout_stages": ["layer1"]})
    {'weights': '9f2c'}
    """
    return {name: value for name, value in settings.items() if name not in OF_DROPOUT}
