"""Measure what a monitor sees of a change: how large it is, how soon it is seen, what is false.

    python -m benchmarks.changes export DATA OUT --checkpoint FILE [--fresh]
    python -m benchmarks.changes corrupted DATA OUT [--table FILE.csv]
    python -m benchmarks.changes rule DATA OUT NAME=PREDICTIONS ...
    python -m benchmarks.changes confirm DATA FRESH NAME=PREDICTIONS ...
    python -m benchmarks.changes halves DATA NAME=PREDICTIONS ...
    python -m benchmarks.changes windows DATA NAME=PREDICTIONS ...
    python -m benchmarks.changes year DATA NAME=PREDICTIONS ...

`export` writes what a detector finds on images of labelled sites (`benchmarks.changed_sites`), as
they are and corrupted, into OUT; with ``--fresh`` on images, and under corruptions, that no choice
has seen. `corrupted` takes the
first 48 as baseline and the 16 as one window: share of falls that are seen, error and coverage of
the change, false alarms on untouched windows; slopes are fitted at the sites of other groups. With
``--table`` it writes what `autoeval.monitoring.train_changes` reads. `rule` chooses what a look
tests (`CANDIDATES`), and measures the choice at groups of sites, with detectors and under kinds of
change that are left out of it; `confirm` measures the shipped rule where no choice has looked.
`halves` divides the images
of each site in two, in the order of time and at random: nothing should be seen. `windows`
compares baselines of five windows with the same images as one window, before a sixth. `year`
simulates 50 sites for a year, a window a day, by drawing images of real sites with their boxes:
stable, a slow fall, a sudden fall, day and night, recompression. `corrupted`, `halves`, `windows`
and `year` are of sites of vehicles and persons, without those of COCO. Everything is seeded.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.monitoring.box_change import NUMBERS, ChangeModel, shipped_model
from autoeval.monitoring.looks import ALL, FEWEST_WINDOWS, RULE, SCALES, Numbers, SiteLook, look_at
from autoeval.monitoring.train_changes import fit_changes
from autoeval.report.page import format_cells, to_markdown
from benchmarks.changed_sites import (
    AFTER,
    BEFORE,
    CANDIDATES,
    CORRUPTIONS,
    FALSE_ALARMS,
    FIRST,
    LARGE,
    N_CHANGED,
    N_IMAGES,
    WEAKER,
    CorruptedSite,
    Pool,
    calibration_of,
    corrupted_sites,
    export,
    fresh_pools,
    known_looks,
    means_of,
    pool,
    seen_by,
    sites_of,
    taken,
    weakened,
)
from benchmarks.panel import LEVEL, group_of

N_SITES = 50
N_DAYS = 365
A_DAY = 24
BASELINE = 7
STEPS = 10  # of a slow fall
KINDS = ("stable", "slow fall", "sudden fall", "day and night", "recompression")
SHARES = (0.4, 0.2, 0.2, 0.1, 0.1)
# Days between which something happens.
FROM = 60
UNTIL = 240
LOST = 0.85  # of the boxes, at most, after a fall
FOLDS = 5  # of groups of sites, each without the slopes of its own
DRAWS = 1000  # of groups of sites, for an interval


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("export", "corrupted"):
        own = commands.add_parser(name)
        own.add_argument("data", type=Path)
        own.add_argument("out", type=Path)
        own.add_argument("--checkpoint" if name == "export" else "--table")
        if name == "export":
            own.add_argument("--fresh", action="store_true", help="what `confirm` reads")
    for name in ("rule", "confirm", "halves", "windows", "year"):
        own = commands.add_parser(name)
        own.add_argument("data", type=Path)
        if name in ("rule", "confirm"):
            own.add_argument("exported", type=Path, metavar="OUT")
        own.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
        own.add_argument("--out", type=Path, metavar="FILE.csv")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps, and print its table."""
    args = parse_args()
    warnings.simplefilter("ignore")
    if args.command == "export":
        export(args.data, args.out, args.checkpoint, fresh=args.fresh)
        return
    if args.command == "corrupted":
        rows, table = corrupted(args.data, args.out)
        if args.table:
            table.to_csv(args.table, index=False, float_format="%.6g")
        print_table(summary_of_corrupted(rows))
        return
    named = dict(text.split("=", 1) for text in args.detectors)
    if args.command in ("rule", "confirm"):
        step = {"rule": choose_rule, "confirm": confirm}[args.command]
        step(args.data, args.exported, named, args.out)
        return
    rows = pd.DataFrame(
        {"halves": halves, "windows": windows, "year": year}[args.command](args.data, named)
    )
    if args.out:
        rows.to_csv(args.out, index=False)
    if args.command == "halves":
        print_table(summary_of_halves(rows))
    elif args.command == "windows":
        print_table(summary_of_windows(rows))
        print_table(changes_by_detector(rows))
    else:
        print_table(summary_of_year(rows))


def print_table(table: pd.DataFrame) -> None:
    """Print a table with one digit."""
    formats = dict.fromkeys(table.select_dtypes("floating").columns, "{:.1f}")
    print(to_markdown(format_cells(table, formats)))


def first_look(
    baseline: Numbers, later: Numbers, level: float, model: ChangeModel | None = None
) -> SiteLook:
    """Look at one window after a baseline of one window, as a monitor does."""
    steady = [means_of(baseline)]
    return look_at(1, [baseline], [later], steady, model or shipped_model(), level, LEVEL)


def corrupted(data: Path, out: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row for each site under each corruption, and untouched; and the table of slopes.

    In that table the same images are compared before and after a corruption.
    """
    sites = list(corrupted_sites(data, out))
    table = pd.DataFrame([row for site in sites for row in known_changes(site)])
    groups = sorted(table["group"].unique())
    fold_of = {group: k % FOLDS for k, group in enumerate(groups)}
    models = {
        fold: fit_changes(table[table["group"].map(fold_of) != fold])
        for fold in tqdm(range(FOLDS), "slopes")
    }
    rows = [
        row
        for site in sites
        for row in looks_at_corrupted(site, models[fold_of[group_of(site.name)]])
    ]
    return pd.DataFrame(rows), table


def looks_at_corrupted(site: CorruptedSite, model: ChangeModel) -> Iterator[dict[str, Any]]:
    """Yield what one look says of the images of a site under each corruption, and untouched."""
    level, then = site.before.accuracy(), site.after[""].accuracy()
    for kind, changed in site.after.items():
        row: dict[str, Any] = {"site": site.name, "kind": kind}
        row["true"] = changed.accuracy() - then
        rng = np.random.default_rng(0)
        orders = {
            "in time": (np.arange(len(site.before)), np.arange(len(changed))),
            "independent": (rng.permutation(len(site.before)), rng.permutation(len(changed))),
        }
        for order, (first, last) in orders.items():
            baseline, later = taken(site.before.numbers, first), taken(changed.numbers, last)
            seen = first_look(baseline, later, level, model)
            assert seen.change is not None
            row |= {
                f"fell {order}": seen.fell(FALSE_ALARMS),
                f"seen {order}": seen.changed(FALSE_ALARMS),
            }
            row |= asdict(seen.change)
        yield row


def known_changes(site: CorruptedSite) -> Iterator[dict[str, Any]]:
    """Yield a row of the table of slopes for each corruption."""
    untouched = site.after[""]
    level, before = untouched.accuracy(), means_of(untouched.numbers)[ALL]
    for kind in CORRUPTIONS:
        changed = site.after[kind]
        row = {"site": site.name, "group": group_of(site.name), "kind": kind, "before": level}
        row["change"] = changed.accuracy() - level
        for when, means in (("before", before), ("after", means_of(changed.numbers)[ALL])):
            row |= {f"{when}/{name}": means[k] for k, name in enumerate(NUMBERS)}
        yield row


def summary_of_corrupted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return errors and power in per cent and points, by kind."""
    groups = {kind or "untouched": own for kind, own in rows.groupby("kind")}
    changed = rows[rows["kind"] != ""]
    groups["all changes"] = changed
    groups["falls over 10 points"] = changed[changed["true"] < -LARGE]
    table = []
    for name, own in groups.items():
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        table.append(
            {
                "images": name,
                "sites": len(own),
                "true mean": 100 * own["true"].mean(),
                "MAE": 100 * (own["value"] - own["true"]).abs().mean(),
                "coverage (%)": 100 * inside.mean(),
                "fell (%)": 100 * own["fell independent"].mean(),
                "fell or changed (%)": 100 * own["seen independent"].mean(),
                "in time: fell or changed (%)": 100 * own["seen in time"].mean(),
            }
        )
    return pd.DataFrame(table)


def halves(data: Path, named: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what is seen between two halves of the images of every site."""
    for detector, of_site in pools_of(data, named):
        level, half = of_site.accuracy(), len(of_site) // 2
        for order in ("in time", "at random"):
            places = np.arange(len(of_site))
            if order == "at random":
                places = np.random.default_rng(0).permutation(len(of_site))
            first = taken(of_site.numbers, places[:half])
            last = taken(of_site.numbers, places[half:])
            seen = first_look(first, last, level)
            yield {
                "detector": detector,
                "site": of_site.name,
                "halves": order,
                "fell": seen.fell(FALSE_ALARMS),
                "seen": seen.changed(FALSE_ALARMS),
            }


def windows(data: Path, named: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what a look at one window sees after a baseline of five windows, and of one.

    The baselines hold the same images; the window is as it is, or has lost boxes.
    """
    n_before = FEWEST_WINDOWS * N_CHANGED
    for detector, of_site in pools_of(data, named):
        if len(of_site) < n_before + N_CHANGED:
            continue
        level = of_site.accuracy()
        after = [of_site, *(weakened(of_site, share, 7) for share in WEAKER)]
        changes = [later.accuracy() - level for later in after]
        for order in ("in time", "at random"):
            places = np.arange(len(of_site))
            if order == "at random":
                places = np.random.default_rng(0).permutation(len(of_site))
            last = places[n_before:][:N_CHANGED]
            for n_windows in (1, FEWEST_WINDOWS):
                parts = np.split(places[:n_before], n_windows)
                baseline = [taken(of_site.numbers, part) for part in parts]
                steady = [means_of(numbers) for numbers in baseline]
                for later, change in zip(after, changes, strict=True):
                    numbers = [taken(later.numbers, last)]
                    seen = look_at(1, baseline, numbers, steady, shipped_model(), level, LEVEL)
                    assert seen.change is not None
                    yield {
                        "detector": detector,
                        "site": of_site.name,
                        "true": change,
                        **asdict(seen.change),
                        "order": order,
                        "windows in the baseline": n_windows,
                        "untouched": later is of_site,
                        "large": change < -LARGE,
                        "fell": seen.fell(FALSE_ALARMS),
                        "seen": seen.changed(FALSE_ALARMS),
                    }


def summary_of_windows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares in per cent, of untouched windows and of falls over 10 points."""
    table = []
    for (order, n_windows), own in rows.groupby(["order", "windows in the baseline"]):
        row = {"order": order, "windows in the baseline": n_windows}
        for name, part in (("untouched", own["untouched"]), ("falls", own["large"])):
            row |= {name: int(part.sum())}
            row |= {f"{name}: fell (%)": 100 * own[part]["fell"].mean()}
            row |= {f"{name}: fell or changed (%)": 100 * own[part]["seen"].mean()}
        table.append(row)
    return pd.DataFrame(table)


def changes_by_detector(rows: pd.DataFrame) -> pd.DataFrame:
    """Return error and coverage of the change where boxes are lost, in points and per cent."""
    kept = rows[~rows["untouched"] & (rows["order"] == "at random")]
    kept = kept[kept["windows in the baseline"] == 1]
    table = []
    for detector, own in kept.groupby("detector"):
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        row = {"detector": detector, "changes": len(own), "true mean": 100 * own["true"].mean()}
        row["MAE"] = 100 * (own["value"] - own["true"]).abs().mean()
        row["coverage (%)"] = 100 * inside.mean()
        row["falls over 10 points"] = int(own["large"].sum())
        row["their coverage (%)"] = 100 * inside[own["large"]].mean()
        table.append(row)
    return pd.DataFrame(table)


def choose_rule(data: Path, exported: Path, named: Mapping[str, str], out: Path | None) -> None:
    """Choose among `CANDIDATES`, and print the choice, and what it sees where it was not chosen.

    For each group of sites, detector and kind of change the rule is chosen (`best_rule`) by the
    looks at other groups with other detectors, and of other kinds of change.
    """
    sites = corrupted_sites(data, exported, every=True)
    rows = seen_by(CANDIDATES, known_looks(sites, pools_of(data, named, every=True)))
    if out:
        rows.to_csv(out, index=False)
    apart, picked = [], []
    for (group, detector, kind), cell in rows.groupby(["group", "detector", "kind"]):
        others = rows[(rows["group"] != group) & (rows["detector"] != detector)]
        picked.append(best_rule(others[(others["kind"] != kind) | (others["kind"] == "")]))
        apart.append(cell[cell["rule"] == picked[-1]])
    nested, chosen = pd.concat(apart), best_rule(rows)
    shown = {"chosen elsewhere": nested} | {
        name: rows[rows["rule"] == name] for name in dict.fromkeys([chosen, BEFORE])
    }
    print_table(
        pd.DataFrame(
            [
                {"rule": name, "chosen": picked.count(name)}
                | (100 * of_rule.groupby("looks")["seen"].mean()).to_dict()
                for name, of_rule in shown.items()
            ]
        )
    )
    print(pd.Series(picked).value_counts().to_string())
    for name, of_rule in shown.items():
        print(f"{name}: {falls_text(of_rule)}")
        print_table(by_sites(of_rule))


def confirm(data: Path, fresh: Path, named: Mapping[str, str], out: Path | None) -> None:
    """Print what the shipped rule, and the one before it, see where no choice has looked."""
    looks = known_looks(
        corrupted_sites(data, fresh, fresh=True),
        (
            (name, of_site)
            for name, folder in named.items()
            for of_site in fresh_pools(data, Path(folder), calibration_of(data, Path(folder)))
        ),
    )
    rows = seen_by({"shipped": RULE, "before": CANDIDATES[BEFORE]}, looks)
    if out:
        rows.to_csv(out, index=False)
    for name, of_rule in rows.groupby("rule"):
        print_table(by_sites(of_rule))
        print(f"{name}: {falls_text(of_rule)}")
    of_sites = [
        row
        for site in corrupted_sites(data, fresh, fresh=True)
        for row in looks_at_corrupted(site, shipped_model())
    ]
    print_table(summary_of_corrupted(pd.DataFrame(of_sites)))


def pools_of(
    data: Path, named: Mapping[str, str], *, every: bool = False
) -> Iterator[tuple[str, Pool]]:
    """Yield the name of each detector with all images of each site that it has boxes of."""
    for detector, folder in named.items():
        calibration = calibration_of(data, Path(folder))
        for task, name in tqdm(sites_of(data, every=every), detector):
            file = Path(folder) / task / f"{name}.json"
            if file.exists():
                yield detector, pool(data, (task, name), file, calibration)


def best_rule(rows: pd.DataFrame) -> str:
    """Return the rule that sees most falls, among those that raise few false alarms.

    At random no more than the first look may spend, of halves in time no more than `FALSE_ALARMS`,
    and of images that were compressed mildly no more than the rule before.
    """
    shares = rows.pivot_table(index="rule", columns="looks", values="seen")
    falls = shares[[name for name in shares if name.startswith("falls")]].mean(axis=1)
    most = {
        "halves at random": FIRST * FALSE_ALARMS,
        f"{AFTER}, at random": FIRST * FALSE_ALARMS,
        "halves in time": FALSE_ALARMS,
    }
    if "mild JPEG" in shares:
        most["mild JPEG"] = shares.loc[BEFORE, "mild JPEG"]
    over = sum((shares[looks] - limit).clip(lower=0) for looks, limit in most.items())
    return str(falls.where(over == 0, -over).idxmax())


def by_sites(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares that are seen in per cent, by what sites show."""
    table = rows.groupby("looks")["seen"].agg(["size", "mean"])
    table = pd.DataFrame({"n": table["size"], "seen (%)": 100 * table["mean"]})
    for shows, own in rows.groupby("shows"):
        table[f"{shows} (%)"] = 100 * own.groupby("looks")["seen"].mean()
    return table.reset_index()


def falls_text(rows: pd.DataFrame) -> str:
    """Say how many falls are seen, with an interval, and by how many images the baseline has."""
    falls = rows[rows["looks"].str.startswith("falls")]
    of_group = [own["seen"].to_numpy() for _, own in falls.groupby("group")]
    rng = np.random.default_rng(0)
    drawn = [
        np.concatenate([of_group[k] for k in rng.integers(len(of_group), size=len(of_group))])
        for _ in range(DRAWS)
    ]
    lower, upper = np.quantile([seen.mean() for seen in drawn], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    full = falls["before"] >= N_IMAGES - N_CHANGED
    shares = ", ".join(
        f"{100 * falls[part]['seen'].mean():.1f} % of {part.sum()} with {images} in the baseline"
        for part, images in ((full, "48 images"), (~full, "fewer"))
        if part.any()
    )
    return (
        f"{100 * falls['seen'].mean():.1f} % of {len(falls)} falls seen "
        f"({LEVEL:.0%} interval {100 * lower:.0f} to {100 * upper:.0f}, groups drawn again): "
        f"{shares}"
    )


def summary_of_halves(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares in per cent."""
    table = rows.groupby("halves").agg(sites=("fell", "size"), fell=("fell", "mean"))
    table["fell or changed (%)"] = 100 * rows.groupby("halves")["seen"].mean()
    return table.assign(fell=100 * table["fell"]).rename(columns={"fell": "fell (%)"}).reset_index()


def year(data: Path, named: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each day of each simulated site."""
    pools = [of_site for _, of_site in pools_of(data, named)]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(pools))
    kinds = np.repeat(KINDS, (np.array(SHARES) * N_SITES).astype(int))
    for site, kind in enumerate(tqdm(kinds)):
        of_site = pools[order[site % len(pools)]]
        yield from simulated(site, str(kind), of_site)


def simulated(site: int, kind: str, of_site: Pool) -> Iterator[dict[str, Any]]:
    """Yield a row for each day after the baseline of one site.

    A day shows `A_DAY` images of a random third of the pool: days differ more than images do.
    """
    rng = np.random.default_rng([1, site])
    begin = int(rng.integers(FROM, UNTIL))
    share = float(rng.uniform(0.4, LOST)) if "fall" in kind else 0.08
    steps = np.linspace(0, share, STEPS + 1) if "fall" in kind else np.array([0.0, share])
    if kind == "day and night":
        steps = np.array([0.0, 0.35])
    levels = [weakened(of_site, float(step), 7) if step else of_site for step in steps]
    numbers, accuracies = [one.numbers for one in levels], [one.accuracy() for one in levels]
    windows: list[Numbers] = []
    steady: list[dict[str, np.ndarray]] = []
    for day in range(N_DAYS):
        third = rng.permutation(len(of_site.boxes.images))[: max(len(of_site.boxes.images) // 3, 8)]
        places = rng.choice(third, A_DAY)
        at = _state(kind, day, begin, len(steps))
        picked: Numbers
        if kind == "day and night":  # every second image is one of the night, all year
            night = np.arange(A_DAY)[:, None] % 2
            picked = {
                name: np.where(night, numbers[1][name][places], values[places])
                for name, values in numbers[0].items()
            }
            true, change = float(np.mean(accuracies)), 0.0
        else:
            picked = taken(numbers[at], places)
            true, change = accuracies[at], accuracies[at] - accuracies[0]
        windows.append(picked)
        if day < BASELINE:
            steady.append(means_of(picked))
            continue
        seen = look_at(
            day + 1 - BASELINE,
            windows[:BASELINE],
            windows[max(BASELINE, day + 1 - SCALES[-1]) :],
            steady,
            shipped_model(),
            accuracies[0],
            LEVEL,
        )
        if seen.p >= 1e-3:
            steady.append(means_of(picked))
        assert seen.change is not None
        yield {
            "site": site,
            "kind": kind,
            "day": day,
            "begin": begin if kind in ("slow fall", "sudden fall", "recompression") else N_DAYS,
            "true": change,
            "level": true,
            "value": seen.change.value,
            "lower": seen.change.lower,
            "upper": seen.change.upper,
            "fell": seen.fell(FALSE_ALARMS),
            "changed": seen.changed(FALSE_ALARMS),
        }


def _state(kind: str, day: int, begin: int, n_steps: int) -> int:
    """Return which of the steps of a site is in force on a day."""
    if kind in ("stable", "day and night") or day < begin:
        return 0
    if kind == "slow fall":  # over four months
        return min(1 + (day - begin) * STEPS // 120, n_steps - 1)
    return n_steps - 1


def summary_of_year(rows: pd.DataFrame) -> pd.DataFrame:
    """Return delays in days, false alarms by site and year, and coverage, by kind of site."""
    table = []
    for kind in KINDS:
        own = rows[rows["kind"] == kind]
        sites = [site for _, site in own.groupby("site")]
        still = [site[site["day"] < site["begin"]] for site in sites]
        large = own.groupby("site")["true"].min() < -LARGE
        delays: list[float] = []
        seen_delays: list[float] = []
        for site in sites:
            fallen = site[site["true"] < -LARGE]
            if len(fallen):
                first = fallen["day"].iloc[0]
                after = site[site["day"] >= first]
                for found, column in ((delays, "fell"), (seen_delays, "changed")):
                    days = after.loc[after[column], "day"]
                    found.append(days.iloc[0] - first + 1 if len(days) else np.inf)
        starts = sum(_starts(site["fell"]) for site in still)
        starts_seen = sum(_starts(site["changed"]) for site in still)
        years = sum(map(len, still)) / N_DAYS
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        table.append(
            {
                "sites": kind,
                "n": len(sites),
                "false `fell` a site and year": f"{starts / years:.3f}",
                "false `changed` a site and year": f"{starts_seen / years:.3f}",
                "falls over 10 points": int(large.sum()),
                "seen (%)": 100 * float(np.mean(np.isfinite(seen_delays))) if delays else np.nan,
                "as `fell` (%)": 100 * float(np.mean(np.isfinite(delays))) if delays else np.nan,
                "median days until seen": float(np.median(seen_delays)) if delays else np.nan,
                "median days until `fell`": float(np.median(delays)) if delays else np.nan,
                "MAE of the change": 100 * (own["value"] - own["true"]).abs().mean(),
                "coverage (%)": 100 * inside.mean(),
            }
        )
    return pd.DataFrame(table)


def _starts(flags: pd.Series) -> int:
    """Count how often an alarm begins."""
    values = flags.to_numpy(bool)
    return int(values[:1].sum() + (values[1:] & ~values[:-1]).sum())


if __name__ == "__main__":
    main()
