"""Compare forms of the calibration on the panel, detectors and groups left out.

    python -m benchmarks.calibration_forms DATA NAME=PREDICTIONS ...

Every form is fitted on the `val` images of ``all/coco_mini`` (there cross-fitted in four folds),
the scores of all sites follow from it, and the prior of the regression is fitted again for each
form on the other detectors and groups, as in `benchmarks/panel.py evaluate`. "none" is the mean
calibration of the other detectors, with the prior of the beta form. The last column is a nested
choice: for each detector the form that has the lowest MAE on the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from autoeval.estimation.category_scores import labelled_rows
from autoeval.labels.fit_assistance import FOLDS
from autoeval.model.calibrated_features import relative_sides
from autoeval.model.calibration import FOUND, LEAST, ScoreCalibration, fit_missed, image_terms
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.panel import LABELLED, WIDE, evaluable, kin, nested, read_panel, read_sets, summary

Probabilities = Callable[[np.ndarray], np.ndarray]


def platt(x: np.ndarray) -> np.ndarray:
    """Log-odds of the confidence (Platt 1999)."""
    return np.stack([np.log(x[0]) - np.log1p(-x[0])])


def beta(x: np.ndarray) -> np.ndarray:
    """Both logarithms (Kull et al. 2017)."""
    return np.stack([np.log(x[0]), -np.log1p(-x[0])])


def beta_size(x: np.ndarray) -> np.ndarray:
    """Both logarithms, the logarithm of the box's side, and its square."""
    return np.concatenate([beta(x), [x[1] + 2, (x[1] + 2) ** 2]])


FORMS = {"platt": platt, "beta": beta, "beta and size": beta_size, "isotonic": None}
NONE, SHIPPED = "none", "beta"


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
    return parser.parse_args()


def main() -> None:
    """Score the panel by each form, estimate the sites left out, print the table."""
    args = parse_args()
    given = [of.partition("=") for of in args.detectors]
    known = {name: read_panel()[1][name][0] for name, _, _ in given}
    tables: dict[str, list[pd.DataFrame]] = {form: [] for form in (NONE, *FORMS)}
    for name, _, folder in given:
        sets = list(read_sets(args.data, Path(folder)))
        for form in FORMS:
            tables[form].append(score(sets, form).assign(detector=name))
        mean = ScoreCalibration.mean([of for k, of in known.items() if kin(k) != kin(name)])
        none = [evaluable(of, labelled_rows(of, mean)) for of in sets]
        tables[NONE].append(pd.concat(none).assign(detector=name))
    rows = {form: pd.concat(of, ignore_index=True) for form, of in tables.items()}
    found = {
        form: summary(nested(of, rows[SHIPPED] if form == NONE else of))
        for form, of in rows.items()
    }
    for column in ("mae", "coverage", "half_width"):
        table = pd.DataFrame({form: of[column] for form, of in found.items()})
        names = [chosen(found, detector) for _, detector in table.index]
        table["chosen"] = [table[name].loc[k] for name, k in zip(names, table.index, strict=True)]
        table.loc[("mean", "")] = table.mean()
        print(f"\n{column}\n\n{to_markdown(table.round(1).reset_index())}")


def chosen(found: Mapping[str, pd.DataFrame], detector: str) -> str:
    """Name the form that is best on the other detectors."""
    mae = pd.DataFrame({form: found[form]["mae"] for form in FORMS})
    return str(mae[mae.index.get_level_values("detector") != detector].mean().idxmin())


def score(sets: Sequence[LabelledSet], form: str) -> pd.DataFrame:
    """Make the pair table of one detector, calibrated on the labelled set."""
    own = next(of for of in sets if of.name == LABELLED)
    every = np.ones(len(own.boxes), bool)
    fitted = fit(own, every, form)
    folds = np.random.default_rng(0).permutation(len(own.boxes)) % FOLDS
    held = fitted(inputs(own))
    for fold in range(FOLDS):
        mine = folds[own.boxes.clean.image] == fold
        held[:, mine] = fit(own, folds != fold, form)(inputs(own)[:, mine])
    missed = missed_objects(own, fitted(inputs(own))[0])
    parts = []
    for of in sets:
        p = held if of is own else fitted(inputs(of))
        parts.append(evaluable(of, labelled_rows(of, missed, probabilities=p)))
    return pd.concat(parts, ignore_index=True)


def inputs(of: LabelledSet) -> np.ndarray:
    """Return the confidence and the relative side of each box, (2, N)."""
    found = of.boxes.clean
    area = of.boxes.areas[found.image]
    sides = relative_sides(found.boxes, area)
    return np.stack([np.clip(found.scores.astype(float), LEAST, 1 - LEAST), sides])


def fit(of: LabelledSet, images: np.ndarray, form: str) -> Probabilities:
    """Fit a form on some images of a labelled set, for each IoU threshold."""
    hits, ignored = of.matches
    labelled = np.array([ranking.n_true.any() for ranking in of.rankings])
    usable = ~ignored[0] & images[of.boxes.clean.image] & labelled[of.boxes.clean.label]
    x, terms = inputs(of)[:, usable], FORMS[form]
    if terms is None:
        steps = [
            IsotonicRegression(y_min=LEAST, y_max=1 - LEAST, out_of_bounds="clip").fit(x[0], hit)
            for hit in hits[:, usable]
        ]
        return lambda at: np.stack([step.predict(at[0]) for step in steps])
    models = [
        LogisticRegression(C=9.0, max_iter=1000).fit(terms(x).T, hit) for hit in hits[:, usable]
    ]
    return lambda at: np.minimum.accumulate(
        [model.predict_proba(terms(at).T)[:, 1] for model in models], axis=0
    )


def missed_objects(of: LabelledSet, p: np.ndarray) -> ScoreCalibration:
    """Fit the model of missed objects to probabilities (N,) at IoU .5."""
    terms, missed = [], []
    for k, ranking in enumerate(of.rankings):
        rows = of.boxes.clean.rows_of(k)
        shown = ranking.n_true > 0
        if not shown.any():
            continue
        image = of.boxes.clean.image[rows]
        shown[image[p[rows] > FOUND]] = True
        hits = np.bincount(ranking.image, ranking.hits[0], minlength=len(shown))
        terms.append(image_terms(p[rows], image, len(shown))[:, shown])
        missed.append(np.maximum(ranking.n_true - hits, 0)[shown])
    described, counts = np.concatenate(terms, axis=1), np.concatenate(missed)
    fitted = fit_missed([described], [counts], WIDE, [sum(of.enough)])
    return replace(WIDE.calibration, missed=fitted)


if __name__ == "__main__":
    main()
