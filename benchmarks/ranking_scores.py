"""Rank checkpoints of one training run by published label-free scores, beside `autoeval compare`.

    python -m benchmarks.ranking_scores scores HELD_OUT OUT NAME=CHECKPOINT ... --detector ALIAS
    python -m benchmarks.ranking_scores table OUT

`scores` runs each checkpoint on at most 10 images of every site under HELD_OUT (on `two/dawn_sand`
alone with ``--sites two/dawn_sand``) and writes its Cumulative Consensus Score and the two parts of
the Detection Adaptation Score into ``OUT/NAME.csv``; the training domain is the labelled set.
`table` says how often the sign of the true difference of two of these checkpoints is that of the
difference of each score, and of the estimates of `benchmarks/compare.py`, on the pairs of sites and
checkpoints in ``meta_sets/panel/pairs.csv``. The two parts are added after each is brought to
[0, 1] over the checkpoints of a site, which the paper leaves open.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.detectors import load_detector
from autoeval.io.coco import read_coco
from autoeval.io.images import read_image
from autoeval.io.labels.content import LabelSet
from autoeval.report.tables import format_cells, to_markdown
from autoeval.stability.network.as_perturbable import as_perturbable
from autoeval.stability.network.perturbable import PerturbableDetector
from autoeval.stability.scores.box_stability_settings import BoxStabilitySettings
from autoeval.stability.scores.detection_adaptation import PrototypeRatio
from autoeval.stability.scores.feature_statistics import FeatureStatistics
from autoeval.stability.scores.score_set import ScoreSet
from benchmarks.compare import predicted_pairs
from benchmarks.panel import LABELLED, kin

MOST = 10  # images of a site
SIGNS = (1, 3, 5)
FLATNESS, PROTOTYPES = "das_flatness", "das_prototypes"
PUBLISHED = ("ccs", FLATNESS, PROTOTYPES)
WANTS = ("views", "reweighted", "prototypes")


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    scores = commands.add_parser("scores")
    scores.add_argument("data", type=Path)
    scores.add_argument("out", type=Path)
    scores.add_argument("checkpoints", nargs="+", metavar="NAME=CHECKPOINT")
    scores.add_argument("--detector", required=True)
    scores.add_argument("--sites", nargs="+", metavar="TASK/SITE")
    commands.add_parser("table").add_argument("out", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "scores":
        args.out.mkdir(parents=True, exist_ok=True)
        every = [str(p.parent.relative_to(args.data)) for p in args.data.glob("*/*/*.json")]
        for name, _, checkpoint in (of.partition("=") for of in args.checkpoints):
            detector = as_perturbable(load_detector(args.detector, checkpoint=checkpoint))
            rows = site_scores(detector, args.data, args.sites or sorted(every))
            rows.to_csv(args.out / f"{name}.csv", index=False)
        return
    of_files = {path.stem: pd.read_csv(path) for path in sorted(args.out.glob("*.csv"))}
    table = signs(estimates(list(of_files)), with_sum(of_files))
    formats = dict.fromkeys(table.columns[2:], "{:.0f}")
    print(to_markdown(format_cells(table, formats)))


def site_scores(detector: PerturbableDetector, data: Path, sites: Sequence[str]) -> pd.DataFrame:
    """Score at most `MOST` images of each site, each by the categories that it has."""
    folder = data / "all" / LABELLED
    of_domain, domain = PrototypeRatio(), read_coco(folder / "annotations.json")
    for file in tqdm([image.file_name for image in domain.images], LABELLED):
        pixels = read_image(folder / "images" / file)
        of_domain.update(detector.observe([pixels], [file], wants=["prototypes"])[0])
    none = np.zeros(0), np.zeros((0, 0))
    reference = FeatureStatistics(len(domain.images), *none, prototypes=of_domain.sums)
    rows = []
    for site in tqdm([of for of in sites if Path(of).name != LABELLED], "sites"):
        content = read_coco(data / site / "annotations.json")
        settings = BoxStabilitySettings()
        scores = ScoreSet(settings, repeats=0, reference=reference, names=PUBLISHED)
        known = [of if of in content.categories else None for of in detector.categories]
        lookup = np.array([-1 if of is None else k for k, of in enumerate(known)])
        for file in chosen(content):
            pixels = read_image(data / site / "images" / file)
            (seen,) = detector.observe([pixels], [file], wants=WANTS)
            scores.update(seen.relabel(lookup))
        rows.append({"source": Path(site).name, **scores.rows()[0]})
    return pd.DataFrame(rows)


def chosen(content: LabelSet) -> list[str]:
    """Name at most `MOST` images, evenly spaced."""
    names = [image.file_name for image in content.images]
    numbers = np.linspace(0, len(names) - 1, min(MOST, len(names))).round().astype(int)
    return [names[k] for k in numbers]


def estimates(names: Sequence[str]) -> pd.DataFrame:
    """Estimate the difference of every two checkpoints at every site, mean over its categories."""
    rows, predicted, _ = predicted_pairs()
    rows = rows.assign(truth=rows["true_a"] - rows["true_b"], free=[of.value for of in predicted])
    rows = rows[rows["a"].isin(names) & rows["b"].isin(names)]
    assert rows["a"].map(kin).nunique() <= 1, "checkpoints of one run"
    columns = ["truth", "free", "carried", "agreement"]
    return rows.groupby(["a", "b", "source"])[columns].mean().reset_index()


def with_sum(of_files: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the scores by checkpoint and site, larger being better, with the sum of the parts."""
    rows = pd.concat([of.assign(name=name) for name, of in of_files.items()])
    rows = rows.assign(**{FLATNESS: -rows[FLATNESS]}).set_index(["name", "source"])
    of_site = rows.groupby("source")
    lowest, highest = of_site.transform("min"), of_site.transform("max")
    parts = (rows - lowest) / (highest - lowest)
    return rows.assign(das=parts[FLATNESS] + parts[PROTOTYPES])


def signs(pairs: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how often, in per cent, each method's difference has the sign of the true one."""
    named = {of: scores[of] for of in (*PUBLISHED, "das")}
    first, second = (pd.MultiIndex.from_frame(pairs[[side, "source"]]) for side in "ab")
    differences = {
        "carried over": pairs["carried"].to_numpy(),
        "agreement": pairs["agreement"].to_numpy(),
        "CCS": difference(named["ccs"], first, second),
        "DAS, flatness": difference(named[FLATNESS], first, second),
        "DAS, prototypes": difference(named[PROTOTYPES], first, second),
        "DAS": difference(named["das"], first, second),
        "label-free": pairs["free"].to_numpy(),
    }
    truth, found = 100 * pairs["truth"].to_numpy(), []
    for method, values in differences.items():
        known = np.isfinite(values)
        row: dict[str, object] = {"method": method, "pairs": int(known.sum())}
        for points in SIGNS:
            counted = known & (np.abs(truth) > points)
            right = np.sign(values[counted]) == np.sign(truth[counted])
            row[f"sign right over {points}"] = 100 * float(right.mean())
        found.append(row)
    return pd.DataFrame(found)


def difference(score: pd.Series, first: pd.MultiIndex, second: pd.MultiIndex) -> np.ndarray:
    """Return the score of the first checkpoint less that of the second, NaN where either lacks."""
    return score.reindex(first).to_numpy(float) - score.reindex(second).to_numpy(float)


if __name__ == "__main__":
    main()
