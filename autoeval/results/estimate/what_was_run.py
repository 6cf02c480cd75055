"""What a run was made with, and where its time went."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.detectors.fingerprint import fingerprint
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section, Tables
from autoeval.results.estimate.estimate_charts import Fitted, PlottedScores
from autoeval.targets import Target
from autoeval.version import __version__

LIBRARIES = ("torch", "mmdet", "mmengine", "mmcv", "numpy", "albumentations")
MISSING = {
    "agreement and box stability under dropout": "need the network",
    "energy, PCR, Fréchet distance": "need logits, suppressed boxes or features of the network",
    "view consistency": "needs passes over altered images",
}
STAGES = {
    "read_s": "waiting for images (decoding, transforms)",
    "network_s": "network",
    "scores_s": "matching and scores",
    "map_s": "mAP",
}


@dataclass(frozen=True)
class WhatWasRun(Section):
    """Settings, time spent (see `time_table`), and every sample set."""

    facts: Mapping[str, str]
    plotted: PlottedScores
    target: Target
    times: pd.DataFrame | None = None

    def show(self, page: Page) -> None:
        page.add_heading("What was run")
        sample_sets, what, *times = self.parts()
        what.show(page, sortable=False)
        for part in times:
            part.show(page, "Where the time went", sortable=False, n_footer=1)
        caption = f"All {len(sample_sets.table)} sample sets with the ids of their recipes"
        sample_sets.show(page, caption, folded=True)

    def parts(self) -> list[Part]:
        what = pd.DataFrame({"what": list(self.facts), "value": list(self.facts.values())})
        score, true = self.plotted.scores[0], f"true {self.target.name}"
        points = self.plotted.points
        shown = points[["source", "sample_set", "transforms", "n_images", score]].assign(
            **{true: self.target.scale * points[self.target.name]},
            transforms=points["transforms"].replace("", "its own images"),
        )
        shown = shown.rename(columns={"sample_set": "recipe", "n_images": "images"})
        spec = {score: "{:.4g}", "images": "{:.0f}", true: self.target.format}
        parts = [Part("sample_sets", points, shown, spec), Part("what_was_run", what)]
        if self.times is not None:
            spec = {name: "{:.1f}" for name in self.times if name != "stage"}
            parts.append(Part("times", self.times, formats=spec))
        return parts

    def to_dict(self) -> dict[str, Any]:
        return {"facts": dict(self.facts)}


def missing_scores(from_files: bool) -> Tables:
    """Show what an estimator fitted on prediction files does without, and why."""
    table = pd.DataFrame({"score": list(MISSING), "why": list(MISSING.values())})
    shown = [(Part("missing_scores", table), "Scores that predictions cannot give")]
    return Tables(shown if from_files else [], sortable=False)


def facts(estimator: Fitted, method: str, detector: str, more: Mapping[str, str]) -> dict[str, str]:
    """Say in words what an estimator was made with, as far as it remembers.

    The detector's name may be empty; `more` facts are of its method.
    """
    versions = {"autoeval": __version__, "python": platform.python_version()}
    versions |= {
        name: getattr(sys.modules[name], "__version__", "")
        for name in LIBRARIES
        if name in sys.modules
    }
    n_sets, made_with = estimator.table_["sample_set"].nunique(), estimator.context_
    of_detector = made_with.get("detector")
    boxes = made_with.get("boxes")
    rows = {
        "detector": detector or ("" if of_detector else "its predictions"),
        "detector fingerprint": fingerprint(of_detector) if of_detector else "",
        "task": made_with.get("task", {}).get("name", ""),
        "method": f"{method}, estimating {estimator.target}",
        "scores": ", ".join(estimator.regression_.training_range_),
        "sources": ", ".join(map(str, estimator.regression_.sources_)),
        "sample sets": f"{n_sets}, with their recipes' ids in the last table",
        "lowest score in the fit": f"{boxes['floor']:.3g}" if boxes else "",
        "seed": str(made_with["pass"]["seed"]) if "pass" in made_with else "",
        **more,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    }
    return {name: value for name, value in rows.items() if value}


def time_table(
    fitted: pd.DataFrame | None, unlabelled: Mapping[str, Any] | None
) -> pd.DataFrame | None:
    """Add up the seconds of each stage of the pass."""
    passes: dict[str, Mapping[str, Any]] = {}
    if fitted is not None and set(STAGES) <= set(fitted):
        passes["sample sets"] = fitted.drop_duplicates(["source", "sample_set"])[
            [*STAGES, "n_images"]
        ].sum()
    if unlabelled is not None and set(STAGES) <= set(unlabelled):
        passes["unlabelled images"] = unlabelled
    if not passes:
        return None
    table = pd.DataFrame({"stage": [*STAGES.values(), "all"]})
    for name, spent in passes.items():
        seconds = [float(spent[stage]) for stage in STAGES]
        seconds.append(sum(seconds))
        table[f"{name}, s"] = seconds
        table[f"{name}, ms an image"] = [1000 * s / spent["n_images"] for s in seconds]
    return table
