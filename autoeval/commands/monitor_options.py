"""Options of `autoeval monitor`: sites, changes, what is written."""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands import given_words, site_options
from autoeval.commands.given_input import Detail, add_input

ALARM = 3  # status of the command


def add_sites(parser: argparse.ArgumentParser) -> None:
    """Declare which images are of which site, and what of a site is estimated."""
    sites = parser.add_argument_group("sites")
    add_input(
        sites,
        "--images",
        (
            site_options.IMG_DIR,
            Detail(
                "depth",
                "folders that name a site, such as 1 for camera/2026/03/02/ (default: all)",
                int,
                metavar="N",
            ),
        ),
        alone=True,  # folders that name a site, of --predictions
        metavar="ROOT",
        help="folder with a folder for each site, COCO JSON, pattern or list of paths; with "
        "--predictions all images: a list of names in a folder a site, or for each file the images "
        "or a list of them",
    )
    site_options.add_category_option(sites)
    sites.add_argument(
        "--site-category",
        action="append",
        nargs=2,
        default=[],
        metavar=("SITE", "NAME[=WORD,...]"),
        help="a category that counts at one site, found or not, in place of --category; may be "
        "given several times",
    )
    sites.add_argument(
        "--by",
        default="auto",
        metavar="HOW",
        help="windows: day, hour, every:200 images, or folder (default: day, or every:50 where no "
        "image has a time)",
    )
    sites.add_argument(
        "--time",
        default="auto",
        metavar="FROM",
        help="exif, file, or a form of the time in file names such as %%Y%%m%%d_%%H%%M%%S "
        "(default: EXIF where there is one, else the file's time; with --predictions "
        "date_captured or datetime of the list of images)",
    )
    sites.add_argument(
        "--worst", type=int, default=3, metavar="K", help="how many count as worst (%(default)s)"
    )
    site_options.add_target_options(sites, "estimate recall and false alarms an image there, too")
    sites.add_argument(
        "--alarm-below",
        type=float,
        metavar="X",
        help="alarm at a site whose interval in the latest complete window lies below it, such as "
        ".6",
    )
    sites.add_argument(
        "--site",
        nargs="+",
        default=(),
        metavar="SITE=NAME",
        help="labelled set, or source of a task, of the fit of which a site's images are new ones",
    )
    sites.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Declare what a site is compared with: its own past, or another detector."""
    changes = parser.add_argument_group("changes, each site against its own baseline")
    other = parser.add_argument_group("another detector (see `autoeval compare`)")
    add_input(
        other,
        "--against",
        (
            Detail(
                "against_predictions",
                "folder with the boxes of that detector, SITE.json for each site; with --images it "
                "is run",
                metavar="DIR",
            ),
            Detail(
                "against_known",
                "accuracy of that detector at sites where it was measured, of 100; then this "
                "detector's there follows, with the interval of the difference",
                given_words.known_at_sites,
                metavar="SITE=POINTS,...",
            ),
        ),
        metavar="FILE",
        help="its work dir or estimator.parquet: where it would be better, and where worse",
    )
    changes.add_argument(
        "--baseline",
        metavar="HOW",
        help="what a site is compared with: its first 7d, 12h or 200 images, or all before "
        "2026-03-01 (default: 7d, or 100 where no image has a time)",
    )
    changes.add_argument(
        "--false-alarms",
        type=float,
        default=0.05,
        metavar="P",
        help="probability, at most, that a site that does not change ever raises one (%(default)s)",
    )
    changes.add_argument(
        "--alarm-on",
        choices=("changed",),
        help="alarm also where the boxes changed, not known to be for the worse",
    )
    changes.add_argument(
        "--labelled",
        nargs="+",
        default=(),
        metavar="SITE=FILE",
        help="what label estimate --json, or estimate --labels --json, printed for a site's "
        "baseline: its level, in place of an estimate",
    )


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Declare for how long boxes are kept."""
    parser.add_argument(
        "--keep",
        metavar="HOW",
        help="keep the boxes of the last 90d or 5000 images of each site, and of baselines; "
        "estimates of earlier windows stay (default: all)",
    )


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Declare what is printed, written and sent."""
    out = parser.add_argument_group("output")
    out.add_argument("--json-lines", action="store_true", help="print a line of JSON for each row")
    out.add_argument(
        "--prometheus", type=Path, metavar="FILE", help="write gauges for its textfile collector"
    )
    out.add_argument("--fail-on-alarm", action="store_true", help=f"end with status {ALARM} then")
    out.add_argument("--webhook", metavar="URL", help="send new alarms there as JSON (POST)")
    out.add_argument("--quiet", action="store_true", help="print alarms and warnings alone")
