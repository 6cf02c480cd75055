"""Whether a detector of another run or of another process is the same one.

A detector is known by its `settings`, which hold a hash of its weights where it can state them.
Fits and estimates compare them (`refuse_differences`), kept evidence is found by them
(`kept_with`), and a worker makes sure that it loaded the same one (`TravellingObserver`).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.words import Notice

OF_MMDET = re.compile(r"test_cfg\.(\d+\.)?(rcnn\.)?score_thr").fullmatch
"""A threshold of scores in mmdet's settings, of a detector of several heads with a number."""
RUN = uuid.uuid4().hex
LoadDetector = Callable[[], ImageDetector]


def is_identified(detector: object) -> bool:
    """Whether the settings of a detector differ when its weights do; see `BlackBoxDetector`.

    Parameters
    ----------
    detector : ImageDetector
        One that does not say counts as identified.
    """
    return bool(getattr(detector, "is_identified", True))


def kept_with(observer: Observer) -> dict[str, str]:
    """Return what kept rows depend on in addition to `Observer.context`.

    Rows of a detector, or of a reference that is run, that cannot be distinguished from another one
    are of this process alone.

    Parameters
    ----------
    observer : Observer
        The pass.

    Returns
    -------
    dict of str to str
        ``file``: digests of the Python files that black boxes are in, empty for others; ``run``: a
        name of this process, empty where both are identified.
    """
    detectors = (observer.detector, getattr(observer.settings.reference, "detector", None))
    return {
        "file": "".join(getattr(detector, "file_digest", "") for detector in detectors),
        "run": "" if all(map(is_identified, detectors)) else RUN,
    }


def identity_warnings(detector: object) -> tuple[Notice, ...]:
    """Warn where nobody can check whether a detector is the one that was fitted with.

    Parameters
    ----------
    detector : ImageDetector or DetectorRun
        That found the boxes.
    """
    if is_identified(detector):
        return ()
    name = getattr(detector, "name", "the detector")
    text = (
        f"{name} states neither its weights nor settings, so nobody can check that it is the "
        "detector that the estimator was fitted with: pass BlackBoxDetector(..., "
        "weights=PATH) and fit again"
    )
    return (Notice("detector-not-identified", text, severity="note"),)


def refuse_differences(
    expected: Mapping[str, Any], got: Mapping[str, Any], prefix: str = ""
) -> None:
    """Raise `InputError` where the settings of a fit and of its use differ.

    Parameters
    ----------
    expected, got : mapping
        Settings of both, as nested plain values; a tuple equals a list, at any depth, and a setting
        that is not there equals None.
    prefix : str
        Before the names in the message.

    Raises
    ------
    InputError
        If any value differs; the message has one line for each.

    Examples
    --------
    >>> refuse_differences({"sizes": [(416, 416)]}, {"sizes": [[416, 416]], "half": None})
    """
    before, now = dict(_flatten(expected)), dict(_flatten(got))
    different = [
        f"  {prefix}{name}: fitted with {before.get(name)!r}, now {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
    if different:
        raise InputError(
            "This estimator was fitted with another detector or other settings, so its estimate "
            "would mean nothing:\n" + "\n".join(different) + "\nUse the same ones, or fit again."
        )


def score_thresholds(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the settings of a detector that are thresholds of scores; None counts as 0.

    Parameters
    ----------
    settings : mapping
        Of the detector, by name.
    """
    names = [*filter(OF_MMDET, settings)]
    if "framework" in settings:  # a black box without one may mean something else by such a name
        from autoeval.detectors.adapters import adapters

        found_by = settings["framework"]
        names = [one.SCORE_THRESHOLD for one in adapters() if found_by == one.FRAMEWORK]
    return {name: settings[name] or 0.0 for name in names if name in settings}


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each plain value of nested mappings, under a name with dots."""
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _flatten(item, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", json.loads(json.dumps(item, default=str))  # as it is kept


class TravellingObserver:
    """What work holds of a pass; it can go to another process without its detector.

    Parameters
    ----------
    observer : Observer
        The pass.
    load : callable, optional
        Loads the detector there; without it the detector itself goes along.
    """

    def __init__(self, observer: Observer, *, load: LoadDetector | None = None) -> None:
        self.load = load
        self.fingerprint = observer.detector.fingerprint
        self._observer: Observer | None = observer
        self._options = (observer.task, observer.settings, observer.reading)

    @property
    def observer(self) -> Observer:
        """The pass, once prepared."""
        assert self._observer is not None
        return self._observer

    def prepare(self) -> None:
        """Load the detector where it is not there.

        Raises
        ------
        InputError
            If that is another one than that of this run.
        """
        if self._observer is None and self.load is not None:
            task, settings, reading = self._options
            observer = Observer(self.load(), task, settings, reading=reading)
            loaded = observer.detector  # with the stages of the settings, as that of this run
            if loaded.fingerprint != self.fingerprint:
                raise InputError(
                    f"A worker loaded detector {loaded.fingerprint} where this run is of "
                    f"{self.fingerprint}. Do all machines see the same config and checkpoint?"
                )
            self._observer = observer

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_observer": None if self.load else self._observer}
