"""What a run would take, and what it could say at best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import stats

from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.report.numerals import counted
from autoeval.report.sections import Section

LEVEL = 0.9
_AIMS = (0.05, 0.1)


@dataclass(frozen=True)
class Plan(Section):
    """The size of a run.

    Parameters
    ----------
    n_families : int
        Families of the sources that can be used: what an interval counts.
    n_sets, n_observed : int
        Sample sets, and images to run the detector on, those of new images among them.
    n_read, read_s : int, float
        Images that were read here, and the seconds that took.
    rate : float, optional
        Images a second of a run with the detector.
    """

    n_families: int
    n_sets: int
    n_observed: int
    n_read: int
    read_s: float
    rate: float | None = None

    def text(self) -> str:
        """Say it in sentences."""
        return "\n".join([self._size(), self._time(), interval_at_best(self.n_families)])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "n_families": self.n_families,
            "n_sample_sets": self.n_sets,
            "n_images_to_observe": self.n_observed,
            "read_images_per_s": self._read_rate(),
            "hours": self.n_observed / self.rate / 3600 if self.rate else None,
            "interval": interval_at_best(self.n_families),
        }

    def _read_rate(self) -> float | None:
        return self.n_read / self.read_s if self.read_s > 0 and self.n_read else None

    def _size(self) -> str:
        families = counted(self.n_families, "family", "families")
        return (
            f"A run observes {counted(self.n_observed, 'image')}: "
            f"{counted(self.n_sets, 'sample set')} of {families}, and the new images. "
            "Each is seen once as it is, once at half the size, and again in each repeat."
        )

    def _time(self) -> str:
        if self.rate:
            takes = _duration(self.n_observed / self.rate)
            return f"At {self.rate:g} images a second that takes {takes}."
        read = self._read_rate()
        least = f" Reading alone takes {_duration(self.n_observed / read)} here." if read else ""
        return f"How long that takes is the detector's matter: give its rate with --rate.{least}"


def interval_at_best(n_families: int, level: float = LEVEL) -> str:
    """Say how wide an interval by family is beside the error on families left out.

    It is ±t(m - 1) times the root of the mean squared error where families are too few for the
    jackknife+, which needs the largest errors themselves; see `source_interval`.

    Examples
    --------
    >>> interval_at_best(2)
    'Fewer than 3 families: there will be no interval.'
    """
    if n_families < MIN_SOURCES:
        return f"Fewer than {MIN_SOURCES} families: there will be no interval."
    factor = float(stats.t.ppf((1 + level) / 2, n_families - 1))
    ideal = float(stats.norm.ppf((1 + level) / 2))
    needed = " and ".join(
        f"±{100 * aim:.0f} points needs errors of {100 * aim / factor:.1f}" for aim in _AIMS
    )
    return (
        f"With {n_families} families the {level:.0%} interval is about ±{factor:.2f} times the "
        f"typical error on a family left out (±{ideal:.2f} with very many): {needed}."
    )


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} seconds"
