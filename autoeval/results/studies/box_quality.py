"""Whether a box that stays put is a good box."""

from __future__ import annotations

from autoeval.report.parts import Part
from autoeval.report.study_report import StudyReport, interval_cells
from autoeval.results.studies.box_scatter import plot_boxes
from autoeval.results.studies.captions import R2
from autoeval.studies.box_level import MEASURES, box_level_correlation, box_table
from autoeval.studies.observed import Observations


def box_level_report(observations: Observations, *, seed: int = 0) -> StudyReport:
    """Set the stability of single boxes beside their confidence (Yang et al. 2024, figure 8).

    Parameters
    ----------
    observations : Observations
        Of own images.
    seed : int
        Of the bootstrap.
    """
    boxes = box_table(observations)
    result = box_level_correlation(boxes, seed=seed)
    shown = result.assign(**{R2: interval_cells(result, "r2")})
    shown = shown[
        ["source", "measure", "boxes", R2, "spearman", "auroc", "boxes_over_half", "r2_over_half"]
    ]
    names = {
        "spearman": "ρ",
        "auroc": "AUROC",
        "boxes_over_half": "boxes over .5",
        "r2_over_half": "R² over .5",
    }
    pooled = result[result["source"] == "all"].set_index("measure")
    titles = {
        measure: f"R² {pooled.loc[measure, 'r2']:.2f}, ρ {pooled.loc[measure, 'spearman']:.2f}, "
        f"R² over .5: {pooled.loc[measure, 'r2_over_half']:.2f}"
        for measure in MEASURES
    }
    formats = dict.fromkeys(("ρ", "AUROC", "R² over .5"), "{:.2f}")
    return StudyReport(
        "box_level",
        "Single boxes: overlap with the truth against confidence and stability",
        "Every box of the sources' own images with a score over "
        f"{observations.stability.score_thr}. *Stability* is the mean IoU with its partner under "
        "dropout, 0 for a lost box. R² and ρ with the IoU of the true box; AUROC of telling boxes "
        "of IoU over .5 from others; *over .5*: boxes whose measure is.",
        plot_boxes(boxes, titles),
        [Part("box_level", result, shown.rename(columns=names), formats)],
        observations.problems,
    )
