"""Estimates with a few labels from one labelled set and prediction files.

    python -m benchmarks.labels pairs DATA PREDICTIONS [--draws N] [--target recall@0.3]
        [--fit-on set] [--out DIR] > tables.md
    python -m benchmarks.labels sites DATA NAME=PREDICTIONS ... [--draws N] [--work-dir DIR]
        [--out FILE]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them.

*pairs*: all that is used (box model, mixing weights, small-sample bias, label-free estimate) is
fitted on the `val` images of coco_mini; and on single sites of one category in turn, the three
largest of different groups for each category. Of each site of another group that has 60 images k
are drawn, again and again, and taken as labelled. Error: mean absolute difference to the value on
all its images, mean over sites; coverage and half-width of nominal 90 % intervals. *sample*: simple
random draws and no assistance; the others are drawn by plan.

*sites*: the whole way of a user, by `autoeval.fit` and a plan. Each site of `FEWEST_ON_THE_WAY`
images or more, but those of COCO, is estimated by fits on one other labelled site alone: in turn
the three largest sites of different groups of its task, without its own group; those of ``all`` by
a fit on the `val` images of coco_mini. Of each site k images are drawn by a plan again and again,
and taken as labelled, as in `benchmarks/many_categories.py`; the truth is the mAP by all labels.
Draws of a site share its truth and its boxes, so that the site is the unit: coverage is the mean
over sites of their own (over detectors, fits and draws), ± its standard error from the spread over
sites. *forecast*: the half-width that the plan promises; *wider*: the share of draws whose
half-width is over 1.25 times that. Points of 100, nominal 90 %.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

import autoeval
from autoeval.accuracy.measures import OperatingPoint, RankedDetections, image_counts, influence_on
from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.estimate import bounds
from autoeval.estimation.label_planning import error_elsewhere, with_error
from autoeval.labels.assistance import MODEL, LabelAssistance, MixingWeights, ProbableLabels
from autoeval.labels.category_estimates import (
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    measure_counts,
    measure_sample,
)
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance, pairs_of
from autoeval.labels.labelled_estimate import estimate_category
from autoeval.labels.plan import balanced_order
from autoeval.labels.values import OF_ONE_SET, ValueWithError
from autoeval.model.regression import Regression
from autoeval.report.page import format_cells, to_markdown
from autoeval.sites.site import Site
from benchmarks.many_categories import SET, WORDS, Pool, estimates, planned_pool, write_boxes
from benchmarks.panel import (
    FITTED_ON,
    LABELLED,
    MOST_LABELLED,
    TASKS,
    add_detectors,
    group_of,
    in_part,
    read_sets,
    write_part,
)

CATEGORIES = ("vehicle", "person")
FIRST = 3  # sites of each category that are fitted on
SIZES = (10, 20, 50)
FEWEST_IMAGES = 60
FORMATS = {
    **dict.fromkeys(("error", "bias", "half-width"), "{:.1f}"),
    **dict.fromkeys(("coverage", "dropped"), "{:.1%}"),
}
SIZES_ON_THE_WAY = (10, 20, 40, 80)
FEWEST_ON_THE_WAY = 40  # images of a site
WIDER = 1.25
FORMATS_ON_THE_WAY = {
    **dict.fromkeys(("MAE", "half-width", "forecast", "±"), "{:.1f}"),
    **dict.fromkeys(("coverage", "lowest site"), "{:.1f}%"),
    "wider": "{:.0f}%",
}

Priors = Mapping[tuple[str, str], ValueWithError]


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    pairs = commands.add_parser("pairs", help="categories of sites, by all that estimates use")
    pairs.add_argument("data", type=Path)
    pairs.add_argument("predictions", type=Path)
    pairs.add_argument("--draws", type=int, default=60)
    pairs.add_argument("--target", default="mAP", help="such as recall@0.3 (%(default)s)")
    pairs.add_argument("--fit-on", choices=("set", "site"), help="one of the two; both by default")
    pairs.add_argument("--out", type=Path, help="folder for the figures of every site as CSV")
    pairs.set_defaults(run=print_pairs)
    sites = commands.add_parser("sites", help="every site, the whole way of a user")
    add_detectors(sites)
    sites.add_argument("--draws", type=int, default=30)
    sites.add_argument("--work-dir", type=Path, default=Path("work_dirs/label_coverage"))
    sites.add_argument("--out", type=Path, help="CSV of every draw")
    sites.set_defaults(run=print_sites)
    args = parser.parse_args()
    args.run(args)


def print_pairs(args: argparse.Namespace) -> None:
    """Print the tables of pairs of site and category."""
    sets = list(read_sets(args.data, args.predictions))
    sites = [of for of in sets if set(of.boxes.categories) <= set(CATEGORIES)]
    for kind in (args.fit_on,) if args.fit_on else ("set", "site"):
        coco = [of for of in sets if of.name == LABELLED]
        labelled = coco if kind == "set" else single_sites(sites)
        pairs = pairs_from(labelled, sites, args.target)
        evaluated = backtest(pairs, draws=args.draws)
        print(
            f"## One labelled {kind}\n\n{to_markdown(format_cells(summary(evaluated), FORMATS))}\n"
        )
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            evaluated.to_csv(args.out / f"labels_from_one_{kind}.csv", index=False)


def single_sites(sites: Sequence[Site]) -> list[Site]:
    """Choose the largest sites of each category, one of a group."""
    chosen: list[Site] = []
    for category in CATEGORIES:
        own = [site for site in sites if site.boxes.categories == (category,)]
        own.sort(key=lambda site: (-len(site), site.name))
        first = {site.group: site for site in reversed(own)}
        chosen += [site for site in own if first[site.group] is site][:FIRST]
    return chosen


def pairs_from(labelled: Sequence[Site], sites: Sequence[Site], target: str) -> list[EvaluatedPair]:
    """Return the pairs of sites of other groups, for each labelled set that is fitted on alone.

    A set of one category evaluates that category only.
    """
    large = {site.name: site.at_most(MOST_IMAGES) for site in sites if len(site) >= FEWEST_IMAGES}
    pairs: list[EvaluatedPair] = []
    for fitted_set in labelled:
        others = [of for of in sites if of.group != fitted_set.group and of.name in large]
        priors = priors_from(fitted_set, others, target)
        evaluated_sites = [large[site.name] for site in others]
        pairs += evaluated_pairs(
            fit_assistance([fitted_set]), evaluated_sites, priors, target=target
        )
    return pairs


def priors_from(
    labelled: Site, sites: Sequence[Site], target: str = "mAP"
) -> dict[tuple[str, str], ValueWithError]:
    """Estimate every pair, each as of a new site, by a regression on one labelled set."""
    fitted_rows, calibration = calibrated_rows([labelled])
    estimator = Regression(target=target).fit(fitted_rows)
    error = error_elsewhere(estimator.left_out_, estimator.level) or OF_ONE_SET
    single = labelled.boxes.categories if len(labelled.boxes.categories) == 1 else None
    priors = {}
    for site in sites:
        rows = labelled_rows(site, calibration)
        for k, category in enumerate(rows["category"]):
            if single is None or category in single:
                (interval,) = estimator.predict(rows.iloc[[k]])
                prior = with_error(bounds(interval), estimator.level, error)
                priors[site.name, category] = prior
    return priors


@dataclass(frozen=True, eq=False)
class EvaluatedPair:
    """One category of one site, with what was fitted elsewhere.

    `fitted_on` is the labelled set, or ``other groups``; `predicted` (N,) the influence of each
    image, made by `mixing`; `prior` the label-free estimate with its error; `target` as
    ``recall@0.3``.
    """

    name: str
    category: str
    fitted_on: str
    ranking: RankedDetections
    predicted: np.ndarray
    mixing: MixingWeights
    small_sample_bias: float
    prior: ValueWithError
    target: str = "mAP"

    @property
    def truth(self) -> float:
        """The target on all images."""
        return self.measure(np.arange(len(self.ranking.n_true))).value

    def measure(self, images: np.ndarray) -> SampleAccuracy:
        """Measure the target on some images, (k,) int."""
        sample = LabelledSample(images, len(self.ranking.n_true))
        if self._counts is None:
            return measure_sample(self.ranking.take(images), sample, self.target)
        return measure_counts(self.target.partition("@")[0], self._counts[:, images], sample)

    @cached_property
    def drawn_from(self) -> EvaluatedPair:
        """The pair on the images that a plan draws from: for precision those with a box."""
        if self._counts is None or not self.target.startswith("precision"):
            return self
        chosen = np.flatnonzero(self._counts[1])
        # the mean is of these
        predicted = self.predicted[chosen] * len(chosen) / len(self.ranking.n_true)
        return replace(self, ranking=self.ranking.take(chosen), predicted=predicted)

    @cached_property
    def _counts(self) -> np.ndarray | None:
        """Counts of a target at a threshold, (3, N), which need no matching again."""
        point = OperatingPoint.of(self.target)
        return image_counts(self.ranking, point.score_thr, point.level) if point else None


def evaluated_pairs(
    assistance: LabelAssistance,
    sites: Sequence[Site],
    priors: Priors,
    *,
    target: str = "mAP",
) -> Iterator[EvaluatedPair]:
    """Yield each pair of a site and a category that has a prior, with a fitted assistance."""
    point = OperatingPoint.of(target)
    several = len(assistance.sites) > 1
    fitted_on = "other groups" if several else assistance.sites[0]
    for site in sites:
        probable = ProbableLabels.of_reference(site)
        predicted = [drawn.mean(axis=0) for drawn in assistance.predict(site.pool, probable)]
        mixing = assistance.mixing_weights(probable)
        if point is not None:
            mixing = assistance.points[point.measure]
            counts = [
                image_counts(ranking, point.score_thr, point.level)
                for ranking in assistance.box_model.rankings(site.pool)
            ]
            predicted = [
                mixing.slopes[MODEL] * np.nan_to_num(influence_on(point.measure, category_counts))
                for category_counts in counts
            ]
        for pair in pairs_of(site, everywhere=True):
            category = site.boxes.categories[pair.category]
            prior = priors.get((site.name, category))
            if prior is not None:
                made = EvaluatedPair(
                    site.name,
                    category,
                    fitted_on,
                    pair.ranking,
                    predicted[pair.category],
                    mixing,
                    assistance.small_sample_bias if point is None else 0.0,
                    prior,
                    target,
                )
                if np.isfinite(made.truth):  # precision of a pair without a box has none
                    yield made


def backtest(
    pairs: Sequence[EvaluatedPair], *, sizes: Sequence[int] = SIZES, draws: int = 60, seed: int = 0
) -> pd.DataFrame:
    """Draw labelled images repeatedly, by a plan and simply, and evaluate every estimator.

    One row a site, size and estimator: ``sample`` is from a simple random draw alone; ``coverage``
    and ``half_width`` of nominal 90 % intervals; ``dropped`` the share of draws in which the prior
    was.
    """
    rows: list[dict] = []
    for one in pairs:
        n_pool = len(one.ranking.n_true)
        orders = [_planned(one, seed + d) for d in range(draws)]
        for k in (k for k in sizes if k <= MOST_LABELLED * n_pool):
            drawn = [_draw(one, k, seed + d, order) for d, order in enumerate(orders)]
            rows += _evaluate(one, k, drawn)
    return pd.DataFrame(rows)


def summary(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Average over sites, in points of 100."""
    groups = evaluated.groupby(["category", "k", "estimator"], sort=False)
    means = groups[["error", "bias", "coverage", "half_width", "dropped"]].mean()
    means[["error", "bias", "half_width"]] *= 100
    means = means.assign(pairs=groups.size())
    return means.rename(columns={"half_width": "half-width"}).reset_index()


def _draw(one: EvaluatedPair, k: int, seed: int, order: np.ndarray) -> dict[str, ValueWithError]:
    rng, n_pool = np.random.default_rng([seed, k]), len(one.ranking.n_true)
    simple = _estimate(one, np.sort(rng.choice(n_pool, k, replace=False)))
    planned = _estimate(one.drawn_from, order[:k])
    return {
        "sample": simple.sample,
        "sample, drawn by plan": planned.sample,
        "difference": planned.difference,
        "combined": planned.combined.estimate,
        "dropped": ValueWithError(float(planned.combined.conflict), 0.0),
    }


def _planned(one: EvaluatedPair, seed: int) -> np.ndarray:
    return balanced_order(np.argsort(one.drawn_from.predicted, kind="stable"), seed=seed)


def _estimate(one: EvaluatedPair, images: np.ndarray) -> LabelEstimates:
    return estimate_category(
        one.measure(images),
        LabelledSample(images, len(one.ranking.n_true)),
        one.predicted,
        one.mixing,
        small_sample_bias=one.small_sample_bias,
        prior=one.prior,
    )


def _evaluate(
    one: EvaluatedPair, k: int, drawn: Sequence[Mapping[str, ValueWithError]]
) -> Iterator[dict]:
    dropped = float(np.mean([draw["dropped"].value for draw in drawn]))
    truth = one.truth
    for name in (name for name in drawn[0] if name != "dropped"):
        estimates = [draw[name] for draw in drawn if draw[name].known]
        if not estimates:
            continue
        errors = np.array([estimate.value for estimate in estimates]) - truth
        halves = np.array([estimate.half_width(0.9) for estimate in estimates])
        yield {
            "site": one.name,
            "category": one.category,
            "fitted_on": one.fitted_on,
            "k": k,
            "estimator": name,
            "error": np.abs(errors).mean(),
            "bias": errors.mean(),
            "coverage": np.mean(np.abs(errors) <= halves + 1e-9),
            "half_width": halves.mean(),
            "dropped": dropped if name == "combined" else np.nan,
        }


def print_sites(args: argparse.Namespace) -> None:
    """Print coverage and error at every site, by number of labels."""
    rows: list[dict] = []
    for name, folder in args.detectors:
        for pool, fit in read_pools(args.data, name, folder, args.work_dir / name):
            own = drawn_labels(pool, args.draws)
            rows += [{"detector": name, "site": pool.name, "fit": fit, **row} for row in own]
            print(f"{name} {pool.name} by {fit}: {len(own)} draws", flush=True)
    table = pd.DataFrame(rows)
    if args.out:
        table.to_csv(args.out, index=False)
    for by in (["labels"], ["detector", "labels"]):
        print("\n" + to_markdown(format_cells(site_summary(table, by), FORMATS_ON_THE_WAY)))


def read_pools(
    data: Path, detector: str, predictions: Path, folder: Path
) -> Iterator[tuple[Pool, str]]:
    """Yield each site with a plan for it, and what the fit behind it was fitted on."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, names in TASKS.items():
        words = {name: [w for w, of in WORDS.items() if of == name] for name in names} or None
        size_of = {}
        for boxes in sorted((predictions / task).glob("*.json")):
            labels = data / task / boxes.stem / "annotations.json"
            if labels.exists() and group_of(boxes.stem) != "coco":
                size_of[boxes.stem] = len(json.loads(labels.read_bytes())["images"])
        fits = {}
        for name in fitted_on(size_of) if names else [SET]:
            labels = data / task / name / "annotations.json"
            if name == SET:
                labels = write_part(labels, in_part(labels, FITTED_ON), folder / "val.json")
            boxes = write_boxes(predictions / task / f"{name}.json", labels, folder / "boxes.json")
            try:
                fits[name] = autoeval.fit(labels, boxes, categories=words)
            except InputError as error:
                print(f"{detector} {name}: {error}")
        for name in (name for name, n in size_of.items() if n >= FEWEST_ON_THE_WAY):
            labels = data / task / name / "annotations.json"
            boxes = write_boxes(predictions / task / f"{name}.json", labels, folder / "boxes.json")
            for other in (other for other in fits if group_of(other) != group_of(name)):
                try:
                    pool = planned_pool(fits[other], detector, name, labels, boxes, words)
                except InputError as error:
                    print(f"{detector} {name} by {other}: {error}")
                else:
                    yield pool, other


def fitted_on(size_of: dict[str, int]) -> list[str]:
    """Return the largest sites of a task, one a group."""
    largest = sorted(size_of, key=lambda name: (-size_of[name], name))
    first = {group_of(name): name for name in reversed(largest)}
    return [name for name in largest if first[group_of(name)] == name][:FIRST]


def drawn_labels(pool: Pool, draws: int) -> list[dict]:
    """Return a row for each number of labels and draw."""
    rows = []
    for k in (k for k in SIZES_ON_THE_WAY if k <= MOST_LABELLED * pool.plan.n_pool):
        forecast = pool.plan.forecast(k)
        for _, found in estimates(pool, k, draws):
            value = found.whole.combined.estimate
            error, half = abs(value.value - pool.true), value.half_width()
            covered = error <= half + 1e-9
            row = {"labels": k, "error": error, "half_width": half, "forecast": forecast}
            rows.append({**row, "covered": covered})
    return rows


def site_summary(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Average over sites, in points of 100."""
    wider = rows["half_width"] > WIDER * rows["forecast"]
    of_sites = rows.assign(wider=wider).groupby([*by, "site"])
    columns = ["covered", "error", "half_width", "forecast", "wider"]
    groups = (100 * of_sites[columns].mean()).groupby(list(by))
    covered = groups["covered"]
    table = pd.DataFrame({"sites": groups.size(), "coverage": covered.mean()})
    table["±"] = covered.std(ddof=1) / np.sqrt(table["sites"])
    table["lowest site"] = covered.min()
    means = groups[["error", "half_width", "forecast", "wider"]].mean()
    names = {"error": "MAE", "half_width": "half-width"}
    return table.join(means.rename(columns=names)).reset_index()


if __name__ == "__main__":
    main()
