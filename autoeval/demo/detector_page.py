"""The accuracy of a detector in every environment, and the page with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.demo.roadworld.dataset import CATEGORY, make_picture
from autoeval.demo.roadworld.environments import ENVIRONMENTS
from autoeval.detectors import Detector
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import PassSettings
from autoeval.metasets.sample_set import Sample
from autoeval.metasets.task import Task
from autoeval.metrics.mean_ap import MeanAP
from autoeval.report.tables import format_cells, to_markdown
from autoeval.runtime.progress import progress_bar

PERCENT = "{:.1%}"
FORMATS = {"mAP": PERCENT, "mAP50": PERCENT, "mAP75": PERCENT}


@dataclass(frozen=True)
class Pictures:
    """Labelled pictures of one environment, rendered on access."""

    environment: str
    n_images: int
    seed: int

    def __len__(self) -> int:
        return self.n_images

    def __getitem__(self, index: int) -> Sample:
        """Render one."""
        picture = make_picture(self.environment, index, seed=self.seed)
        blank = np.zeros(len(picture.boxes), np.int64)
        return Sample(str(index), picture.image, picture.boxes, blank, blank > 0)


def measure(detector: Detector, environment: str, n_images: int, *, seed: int = 0) -> dict:
    """Measure a detector on pictures of one environment, rendered in memory.

    Parameters
    ----------
    detector : Detector
        Its one category is ``vehicle``.
    environment : str
        A key of `ENVIRONMENTS`.
    n_images : int
        Number of images.
    seed : int, default 0
        Seed of the images.

    Returns
    -------
    dict
        ``environment``, ``images``, ``vehicles``, ``mAP``, ``mAP50``, ``mAP75`` in [0, 1].
    """
    metric, task = MeanAP([CATEGORY]), Task("road world", (CATEGORY,), ())
    observer = Observer(detector, task, PassSettings(repeats=0, wants=()))
    pictures = Pictures(environment, n_images, seed)
    with progress_bar(n_images, f"evaluating {environment}") as bar:
        for sample, evidence in observer.each(pictures):
            metric.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
            bar.update()
    counts = {"images": n_images, "vehicles": metric.n_boxes}
    return {"environment": environment, **counts, **metric.compute()}


def measure_all(detector: Detector, n_images: int, *, seed: int = 0) -> pd.DataFrame:
    """Measure a detector in every environment; one row each, columns as in `measure`."""
    return pd.DataFrame([measure(detector, name, n_images, seed=seed) for name in ENVIRONMENTS])


def describe_training(
    log: Mapping[str, Any], table: pd.DataFrame, *, seed: int, commands: Sequence[str]
) -> str:
    """Write the Markdown page about a trained detector."""
    shown = table.assign(trained_on=["yes" if name in log["environments"] else ""
                                     for name in table["environment"]])  # fmt: skip
    facts = {key.replace("_", " "): value for key, value in log.items() if key != "losses"}
    losses = pd.DataFrame(log["losses"])
    return PAGE.format(
        commands="\n".join(commands),
        table=to_markdown(format_cells(shown, FORMATS)),
        seed=seed,
        facts="\n".join(f"- {name}: {_words(value)}" for name, value in facts.items()),
        losses=to_markdown(losses.astype(str)),
    )


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


PAGE = """# The road world's detector

`roadworld_nano` is a narrow YOLOX for 320 x 192 images, trained on rendered images of four clear
environments and on nothing else. The other six environments shift light, weather, view or sensor,
and are there to be hard. Weights: `configs/detectors/roadworld_nano.pth` (half precision).

```
{commands}
```

## Accuracy

Vehicles of all kinds are one category. Images: seed {seed}, none of them used in training. mAP is
COCO's, not rounded before this table.

{table}

## Training

{facts}

Losses, mean over the last 50 iterations of each epoch:

{losses}
"""
