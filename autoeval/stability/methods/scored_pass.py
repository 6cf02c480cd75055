"""The pass of a published method, and the site that it makes of images without labels.

Its scores are those of the training table, with the repeats of the fit. The images whose boxes move
most under dropout are kept while the pass goes by.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.estimate import RESAMPLES
from autoeval.estimation.given import other_reference
from autoeval.estimation.observation.detector_identity import refuse_differences
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.reference_boxes import OF_FILES, Reference
from autoeval.estimation.observation.samples import ImageLoading, UnlabelledSamples
from autoeval.io.find_images import UnlabelledImage, copies_taken
from autoeval.io.tasks.task import Task
from autoeval.sites.site import Site
from autoeval.stability.passes.presets import (
    BY_PRODUCTS,
    ScoredSettings,
    SourceDomain,
    as_perturbable,
)
from autoeval.stability.passes.tally import RESAMPLED, scored_rows
from autoeval.stability.scores.base import needs_of, of_domain
from autoeval.stability.scores.box_stability import STRICT, box_stability

REMEMBERED = {"detector", "pass", "task"}
WANTS = (*BY_PRODUCTS, "views", "reweighted", "prototypes")


@dataclass(frozen=True, eq=False)
class ScoredPass:
    """The pass by which the score table of a published method was made.

    Parameters
    ----------
    context, loading : mapping
        As the estimator holds them; see `AccuracyEstimator`.
    features : tuple of str
        Columns of the table that the method reads.
    table : DataFrame
        Score table of the fit.
    compared : tuple of str
        Scores with a range in the fit.
    of_others : frozenset of str
        Evidence beside the clean boxes that other methods read at the same site.
    """

    context: Mapping[str, Any]
    loading: Mapping[str, Any]
    features: tuple[str, ...]
    table: pd.DataFrame
    compared: tuple[str, ...] = ()
    of_others: frozenset[str] = frozenset()

    @property
    def stages(self) -> tuple[str, ...]:
        """Modules of the backbone that were named as its stages; none by default."""
        return named_stages(self.loading)

    def check_reference(self, has_reference: bool) -> None:
        """Refuse a reference detector that the fit did not have, and none where it reads one.

        Parameters
        ----------
        has_reference : bool
            Whether there is one.

        Raises
        ------
        InputError
            In either case.
        """
        had = "reference" in needs_of(self.table) or self.context.get("pass", {}).get("reference")
        if (has_reference and not had) or (
            not has_reference and "reference" in needs_of(self.features)
        ):
            raise other_reference(has_reference)

    def observer(
        self,
        detector: ImageDetector,
        *,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        reference: Reference | None = None,
        reading: ImageLoading | None = None,
    ) -> Observer:
        """Make the pass that the scores of the training table were made with.

        It collects no more evidence than the scores need.

        Parameters
        ----------
        detector : ImageDetector
            The same as in the fit.
        repeats : int, optional
            Perturbed passes, at most as many as in the fit, which is the default.
        domain : SourceDomain, optional
            The training domain, where a feature compares with it.
        reference : Reference, optional
            A reference detector, where a feature reads one.
        reading : ImageLoading, optional
            How images are loaded.

        Raises
        ------
        InputError
            For another detector, more repeats, and where a training domain or a reference is needed
            and there is none.
        """
        context = self.context
        if not context.keys() >= REMEMBERED:
            raise InputError(
                "This estimator does not know how its scores were made: it was not fitted, or "
                "without `context`. Load one that `autoeval estimate-map` or `fit_task` wrote, or "
                "pass it rows that you made yourself (`predict_rows`)."
            )
        detector = as_perturbable(detector, self.stages)
        refuse_differences(context["detector"], detector.settings, "detector.")
        needed = of_domain(self.features)
        if needed and domain is None:
            raise InputError(
                f"This estimator uses {' and '.join(needed)}, which compare with the detector's "
                "training domain, and an estimator does not carry that. Give the seed set that was "
                "named when it was fitted, with its task (--task FILE --domain-source NAME; in "
                "Python `domain`, made of it by "
                "`autoeval.stability.fitting.kept_domain.observe_source_domain`)."
            )
        self.check_reference(reference is not None)
        needed_by_any, wanted = needs_of(self.features) | self.of_others, 0
        if "perturbed" in needed_by_any or repeats:
            fitted = _fitted_repeats(self.table)
            wanted = fitted if repeats is None else repeats
            if not min(1, fitted) <= wanted <= fitted:
                raise InputError(
                    f"Expected {min(1, fitted)} to {fitted} `repeats`, the number this estimator "
                    f"was fitted with, but got {wanted}."
                )
        wants = tuple(want for want in WANTS if want in BY_PRODUCTS or want in needed_by_any)
        try:
            saved, words = context["task"], detector.categories
            names = tuple(saved["categories"])
            lookup = zip(words, saved["lookup"], strict=True)
            task = Task(saved["name"], names, (), {word: names[k] for word, k in lookup if k >= 0})
            settings = ScoredSettings.from_dict(
                context["pass"],
                repeats=wanted,
                wants=wants,
                domain=domain,
                reference=reference,
                stages=self.stages,
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                "What this estimator remembers of its pass is damaged "
                f"({type(error).__name__}: {error}): fit it again."
            ) from error
        return Observer(detector, task, settings, reading=reading)

    def check_context(self, context: Mapping[str, Any]) -> None:
        """Make sure that rows made with ``context`` may be given to `predict_rows`.

        Parameters
        ----------
        context : mapping of str
            How they were made, as the estimator holds it.

        Raises
        ------
        InputError
            If they were made otherwise.
        """
        fitted: Mapping[str, Any] = {k: v for k, v in self.context.items() if k != "boxes"}
        ignored = {"measures"} - context.get("pass", {}).keys()  # they need labels
        if not of_domain(self.compared):
            ignored |= {"domain"}
        if "reference" not in needs_of(self.compared) or (_by_files(fitted) and _by_files(context)):
            ignored |= {"reference"}
        refuse_differences(_without(fitted, ignored), _without(context, ignored))


def named_stages(loading: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the stages that are kept with how a detector is loaded, see `with_stages`.

    Parameters
    ----------
    loading : mapping of str
        As the estimator holds it.
    """
    return tuple((loading.get("detector") or {}).get("stages", ()))


def with_stages(loading: Mapping[str, Any] | None, stages: Sequence[str]) -> Mapping[str, Any]:
    """Keep stages that were named with how a detector is loaded, where that is known.

    Parameters
    ----------
    loading : mapping of str, optional
        As the estimator holds it.
    stages : sequence of str
        Modules of the backbone.
    """
    if not loading or not stages:
        return loading or {}
    return {**loading, "detector": {**loading["detector"], "stages": list(stages)}}


def _fitted_repeats(table: pd.DataFrame) -> int:
    """Count the perturbed passes of a score table: none where no score of it needs any."""
    return int(table["repeat"].max()) + 1 if "perturbed" in needs_of(table.columns) else 0


def _by_files(context: Mapping[str, Any]) -> bool:
    """Whether a reference's predictions were read, which are others for other images."""
    return str(context.get("pass", {}).get("reference", "")).startswith(OF_FILES)


def _without(context: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Leave out some settings of the pass."""
    described = {k: v for k, v in context.get("pass", {}).items() if k not in ignored}
    return {**context, "pass": described} if "pass" in context else dict(context)


@dataclass(frozen=True, eq=False)
class ScoredSite(Site):
    """A site with the images whose boxes move most under dropout, the least stable one first.

    Parameters
    ----------
    least_stable : tuple of UnstableImage
        Beside what a `Site` holds.
    """

    least_stable: tuple[UnstableImage, ...] = ()


def scored_site(
    observer: Observer,
    images: Sequence[UnlabelledImage],
    *,
    watch: Callable[[Evidence], object],
) -> ScoredSite:
    """Run a detector over images without labels and compute every score.

    Parameters
    ----------
    observer : Observer
        In the words of the task that the method was fitted on.
    images : sequence of UnlabelledImage
        Copies of a file count as often as they are there, as in the published evaluations.
    watch : callable
        Called with the evidence of each image.

    Returns
    -------
    ScoredSite
        Its row holds ``rows``, one a repeat, for `SourceRegression.predict_rows`, and their means.
    """
    samples, stable = UnlabelledSamples(images), LeastStableImages()
    kept = list[Evidence]()

    def keep(evidence: Evidence) -> None:
        watch(evidence)
        kept.append(evidence.boxes_alone())
        stable.update(evidence)

    with observer.begin(samples, len(samples)) as bar:
        rows = scored_rows(
            observer,
            samples,
            advance=bar.update,
            watch=keep,
            resamples=RESAMPLES,
        )
    row = {name: value for name, value in rows[0].items() if name != RESAMPLED}
    numbers = [name for name, value in row.items() if isinstance(value, float)]
    row |= {name: float(np.mean([repeat_row[name] for repeat_row in rows])) for name in numbers}
    lost = row["unreadable"].split("; ") if row["n_unreadable"] else []
    site = Site.of_evidence(kept, observer.task.categories)
    return ScoredSite(
        site.boxes,
        reference=site.reference,
        named=True,
        warnings=(*copies_taken(images), *unreadable_warning(lost, len(samples))),
        backbone=observer.detector.backbone,
        evidence=tuple(kept),
        images=images,
        least_stable=tuple(stable.images),
        detector=observer.detector.fingerprint,
        row={**row, "rows": rows},
    )


@dataclass(frozen=True, eq=False)
class UnstableImage:
    """One image with the boxes that differ.

    Parameters
    ----------
    stability : float
        Mean box stability over the repeats, in [-1, 1]; lost boxes count against it.
    image_id : str
        Its name.
    clean : Detections
        Boxes with a score above .05, which are those compared.
    perturbed : tuple of Detections
        The same of each repeat.
    """

    stability: float
    image_id: str
    clean: Detections
    perturbed: tuple[Detections, ...]

    @property
    def order(self) -> tuple[float, str]:
        """By stability, then by name."""
        return self.stability, self.image_id


class LeastStableImages:
    """Keeps the least stable images seen, the least stable one first.

    Images without a box before and after dropout are passed over. Boxes are matched as by the
    preset ``paper``, so in a pass with that preset no box is matched twice.

    Parameters
    ----------
    n_images : int
        Images to keep.

    Examples
    --------
    >>> import numpy as np
    >>> still = Detections(np.array([[0, 0, 2, 2]]), np.array([.9]), np.array([0]))
    >>> kept = LeastStableImages(1)
    >>> kept.update(Evidence("a", (4, 4), still, (still,)))
    >>> kept.update(Evidence("b", (4, 4), still, (Detections.empty(),)))
    >>> [(image.image_id, image.stability) for image in kept.images]
    [('b', 0.0)]
    """

    def __init__(self, n_images: int = 8) -> None:
        self.n_images = n_images
        self.images: list[UnstableImage] = []

    def update(self, evidence: Evidence) -> None:
        """Take in one image.

        Parameters
        ----------
        evidence : Evidence
            Of one image, with its perturbed passes.
        """
        clean, score_thr = evidence.clean, STRICT.score_thr
        stable = [
            box_stability(clean, boxes, STRICT)
            for boxes in evidence.perturbed
            if (clean.scores > score_thr).any() or (boxes.scores > score_thr).any()
        ]
        if stable:
            mean = math.fsum(stable) / len(stable)
            perturbed = tuple(boxes.above(score_thr) for boxes in evidence.perturbed)
            image = UnstableImage(mean, evidence.image_id, clean.above(score_thr), perturbed)
            self._keep(image)

    def _keep(self, image: UnstableImage) -> None:
        insort(self.images, image, key=lambda kept: kept.order)
        del self.images[self.n_images :]
