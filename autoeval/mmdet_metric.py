"""Label-free mAP in mmdet's own loops: a metric, and the hook that lends it the detector.

In a config, beside the detector's own settings::

    custom_imports = dict(imports=["autoeval.mmdet_metric"], allow_failed_imports=False)
    test_evaluator = dict(_delete_=True, type="LabelFreeMAP", estimator="estimator.parquet")
    default_hooks = dict(label_free=dict(type="LabelFreeMAPHook"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import torch
from mmengine.dist import all_gather_object, broadcast_object_list, is_main_process
from mmengine.evaluator import BaseMetric, Evaluator
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.model import is_model_wrapper
from mmengine.registry import HOOKS, METRICS
from mmengine.runner import Runner

from autoeval.accuracy.measures import IOUS, OperatingPoint
from autoeval.api.options import load_any_estimator
from autoeval.detectors import MMDetector, ops
from autoeval.detectors.building.category_names import find_categories
from autoeval.detectors.building.checkpoints import harmless_types
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.image_lists import ImageFile
from autoeval.runtime.files import PathLike

ops.register()


@METRICS.register_module()
class LabelFreeMAP(BaseMetric):
    """Estimates mAP on a test set without labels, by a saved estimator.

    The test loop hands over only what the detector sees without dropout, so this metric notes the
    image files, and observes them with the detector that `LabelFreeMAPHook` lends it when the loop
    is through. The estimate is the one that ``autoeval estimate``, or ``autoeval estimate-map``,
    makes of the same images. The first of several processes observes all images.

    It also lets checkpoints be read that hold mmengine's own records beside the weights, which
    torch refuses by default.

    Parameters
    ----------
    estimator : path-like
        File or work dir of ``autoeval fit``, or of ``autoeval estimate-map``, with this very
        detector.
    repeats : int, optional
        Perturbed passes of a published method; by default as many as it was fitted with.
    score_thr : float, optional
        Score threshold at which the default method estimates precision, recall and F1, too.
    iou : float
        At which IoU with a labelled object a box over the threshold is a true positive.
    prefix : str
        Begins the names of the results, ``PREFIX/NAME``.

    Raises
    ------
    InputError
        If the file is missing or is not an estimator, or an option is not of its method.
    """

    def __init__(
        self,
        estimator: PathLike,
        *,
        repeats: int | None = None,
        score_thr: float | None = None,
        iou: float = IOUS[0],
        prefix: str = "label_free",
    ) -> None:
        super().__init__(prefix=prefix)
        torch.serialization.add_safe_globals(harmless_types())
        self.estimator = load_any_estimator(estimator)
        default = isinstance(self.estimator, AccuracyEstimator)
        if repeats is not None and default:
            raise InputError(
                "The default method makes as many perturbed passes as it was fitted with: leave "
                "out `repeats`."
            )
        if not default and (score_thr is not None or iou != IOUS[0]):
            raise InputError(
                "Precision, recall and F1 are estimated by the default method, and this estimator "
                "is of a published one: leave out `score_thr` and `iou`."
            )
        options = {"score_thr": score_thr, "iou": iou} if default else {"repeats": repeats}
        self.options: dict[str, Any] = options
        self.detector: MMDetector | None = None

    def borrow(self, detector: MMDetector) -> None:
        """Take the detector that is being tested.

        Parameters
        ----------
        detector : MMDetector
            It observes the images once the loop is through.

        Raises
        ------
        InputError
            If the estimator was fitted with another one (naming what differs), or cannot be used
            without more than the detector and images.
        """
        self.estimator.check_detector(detector)
        self.detector = detector

    def process(self, data_batch: Any, data_samples: Sequence[Mapping[str, Any]]) -> None:
        """Note the files of a batch.

        Parameters
        ----------
        data_batch : object
            What the loop read; not used.
        data_samples : sequence of mapping
            Of each image what the detector returned, with ``img_id`` and ``img_path``.

        Raises
        ------
        InputError
            If no detector was lent, or a sample does not say which file it is.
        """
        if self.detector is None:
            raise InputError(
                "LabelFreeMAP has no detector to observe images with. It needs its hook: "
                "default_hooks = dict(label_free=dict(type='LabelFreeMAPHook'))."
            )
        self.results.extend(_image_file(sample) for sample in data_samples)

    def evaluate(self, size: int) -> dict[str, float]:
        """Estimate in the first process from the images that all have noted; all return it.

        Parameters
        ----------
        size : int
            Number of images in the test set; what a distributed sampler adds to it is dropped.

        Returns
        -------
        dict of str to float
            Numbers of `compute_metrics`, each behind the prefix.
        """
        rows = zip_longest(*all_gather_object(self.results))
        images = [image for image in chain.from_iterable(rows) if image is not None]
        self.results.clear()
        sent: list[Any] = [self.compute_metrics(images[:size]) if is_main_process() else None]
        broadcast_object_list(sent)
        return {f"{self.prefix}/{name}": value for name, value in sent[0].items()}

    def compute_metrics(self, results: list[ImageFile]) -> dict[str, float]:
        """Print the estimate, its interval and its warnings, and return the numbers.

        Parameters
        ----------
        results : list of ImageFile
            Images of the test set.

        Returns
        -------
        dict of str to float
            Those of `Estimate.figures`; at a score threshold precision, recall and F1 with
            ``_lower`` and ``_upper``.

        Raises
        ------
        InputError
            As `predict` of the estimator.
        """
        assert self.detector is not None
        estimate = self.estimator.predict(
            self.detector,
            images=results,
            **self.options,
        )
        print_log(f"\n{estimate}", logger="current")
        return {
            **estimate.figures(),
            **{
                name if end == "value" else f"{name}_{end}": value
                for name, ends in estimate.other_targets.items()
                if OperatingPoint.of(name)
                for end, value in ends.items()
            },
        }


@HOOKS.register_module()
class LabelFreeMAPHook(Hook):
    """Lends the detector to every `LabelFreeMAP` of a test or validation loop."""

    def __init__(self) -> None:
        self._meta: Mapping[str, Any] = {}

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:
        """Keep what the checkpoint says of its categories.

        Parameters
        ----------
        runner : Runner
            Not used.
        checkpoint : dict
            Its ``meta`` is kept, where it has one.
        """
        self._meta = checkpoint.get("meta") or {}

    def before_test(self, runner: Runner) -> None:
        """Lend the detector to the metrics of the test loop.

        Parameters
        ----------
        runner : Runner
            Has the detector, its config and the metrics.

        Raises
        ------
        InputError
            If an estimator was fitted with another one, or this is none that can be observed.
        """
        self._lend(runner, runner.test_evaluator)

    def before_val(self, runner: Runner) -> None:
        """Lend the detector to the metrics of the validation loop.

        Parameters
        ----------
        runner : Runner
            Has the detector, its config and the metrics.

        Raises
        ------
        InputError
            As in a test; so while the detector trains, since it is not that of the fit.
        """
        self._lend(runner, runner.val_evaluator)

    def _lend(self, runner: Runner, evaluator: Evaluator) -> None:
        """Lend the detector to the metrics of a loop; for errors see `before_test`."""
        metrics = [m for m in evaluator.metrics if isinstance(m, LabelFreeMAP)]
        if not metrics:
            return
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        if not hasattr(model, "backbone"):
            raise InputError(
                f"LabelFreeMAP cannot observe a {type(model).__name__}: it needs a detector with a "
                "backbone, tested without test-time augmentation."
            )
        runner.cfg.model.setdefault("data_preprocessor", runner.cfg.get("data_preprocessor"))
        detector = MMDetector(model, runner.cfg, find_categories(model, runner.cfg, self._meta))
        for metric in metrics:
            metric.borrow(detector)


def _image_file(sample: Mapping[str, Any]) -> ImageFile:
    lost = [name for name in ("img_id", "img_path") if name not in sample]
    if lost:
        raise InputError(
            f"LabelFreeMAP needs {' and '.join(lost)} of each image: add the name to `meta_keys` "
            "of PackDetInputs in the test pipeline."
        )
    return ImageFile(str(sample["img_id"]), Path(sample["img_path"]))
