"""The studies that need the boxes of each image: from arguments, over a pass, to a report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.commands.detector_options import load_named_detector
from autoeval.data.images import read_image
from autoeval.estimation.presets import preset
from autoeval.metasets import Task, draw_recipes, load_metaset_config, load_task, own_images
from autoeval.report.parts import Part
from autoeval.report.picture_rows import picture_rows
from autoeval.report.study_report import StudyReport, interval_cells
from autoeval.results.box_scatter import plot_boxes
from autoeval.results.study_words import HELD_OUT, R2, error_report, judging_of
from autoeval.results.thumbnails import LEGEND, draw_boxes
from autoeval.runtime.store import RowStore
from autoeval.studies.box_level import MEASURES, box_level_correlation, box_table
from autoeval.studies.examples import Example, examples
from autoeval.studies.observed import Observations
from autoeval.studies.observing import observe_sets
from autoeval.studies.set_sizes import size_of_sample_sets, size_of_test_set


def box_level_report(args: argparse.Namespace) -> StudyReport:
    """Set the stability of single boxes beside their confidence (figure 8)."""
    observations, _ = _observe(args, with_samples=False)
    boxes = box_table(observations)
    result = box_level_correlation(boxes, seed=args.seed)
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


def sample_set_size_report(args: argparse.Namespace) -> StudyReport:
    """Fit on smaller sample sets (figure 4 b)."""
    return _size_report(
        args,
        size_of_sample_sets,
        "Error by the number of images in a sample set",
        "Smaller sample sets are random subsets of those there are.",
    )


def unlabelled_set_size_report(args: argparse.Namespace) -> StudyReport:
    """Estimate from fewer test images (figure 4 c)."""
    return _size_report(
        args,
        size_of_test_set,
        "Error by the number of test images",
        "Smaller test sets are random subsets of a source's own images; the truth is the accuracy "
        "on all of them. Sources with fewer images take part with all.",
    )


def examples_report(args: argparse.Namespace) -> StudyReport:
    """Draw the least and the most stable images (figures 1 and 5)."""
    observations, task = _observe(args, with_samples=False)
    unstable, stable = examples(
        observations,
        n_images=args.most,
        per_source=args.per_source,
        min_boxes=args.min_boxes,
    )
    paths = {
        (seed_set.name, record.image_id): record.path
        for seed_set in task.load_seed_sets()
        for record in seed_set.images
    }
    shown = [*unstable, *stable]
    pictures = [_picture(example, paths) for example in shown]
    table = Part(
        "examples",
        _example_table({"least stable": unstable, "most stable": stable}),
        formats={"stability": "{:.2f}", "mAP": "{:.2f}"},
    )
    return StudyReport(
        "examples",
        "Images whose boxes stay put least and most",
        f"At most {args.per_source} of a source, own images with at least {args.min_boxes} boxes. "
        f"{LEGEND}.",
        picture_rows(pictures, f"least stable first, then most stable; {LEGEND}"),
        [table],
        observations.problems,
    )


def _size_report(
    args: argparse.Namespace, study: Callable[..., pd.DataFrame], title: str, about: str
) -> StudyReport:
    observations, _ = _observe(args)
    result = study(observations, judging_of(args), sizes=args.sizes, draws=args.draws)
    report = error_report(
        args.study.replace("-", "_"),
        title,
        f"{HELD_OUT} {about} {args.draws} draws of each size.",
        result,
        x="images",
        target=args.target,
    )
    return replace(report, problems=observations.problems)


def _observe(args: argparse.Namespace, *, with_samples: bool = True) -> tuple[Observations, Task]:
    task = load_task(args.task, args.data_root)
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    settings = replace(preset(args.preset, repeats=args.repeats, seed=args.seed), wants=())
    seed_sets, recipes = task.load_seed_sets(), []
    for seed_set in seed_sets:
        recipes.append(own_images(seed_set, n_images=args.own_images, seed=args.seed))
        if with_samples:
            recipes += draw_recipes(seed_set, **asdict(meta_set), seed=args.seed)
    observations = observe_sets(
        load_named_detector(args),
        task,
        seed_sets,
        recipes,
        settings=settings,
        store=RowStore(args.work_dir / "boxes"),
        batch_size=args.batch_size,
    )
    return observations, task


def _picture(example: Example, paths: dict[tuple[str, str], Path]) -> tuple[np.ndarray, str]:
    evidence = example.image.evidence
    path = paths[example.source, evidence.image_id]
    drawn = draw_boxes(read_image(path), evidence.clean, evidence.perturbed)
    return drawn, f"{example.source}\nstability {example.stability:.2f}, mAP {example.mean_ap:.2f}"


def _example_table(kinds: dict[str, list[Example]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "kind": kind,
                "source": example.source,
                "image": example.image.evidence.image_id,
                "stability": example.stability,
                "mAP": example.mean_ap,
                "boxes": len(example.image.evidence.clean),
                "true boxes": len(example.image.boxes),
            }
            for kind, chosen in kinds.items()
            for example in chosen
        ]
    )
