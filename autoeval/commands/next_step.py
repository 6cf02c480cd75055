"""The command to give after another one, where it can work."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError
from autoeval.labels import PLAN

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.comparison.comparison import Comparison, Gate
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.runtime.files import PathLike

ESTIMATOR = Path("work_dirs/fit/estimator.parquet")  # of a fit, and by default of an estimate
LABELS = Path("work_dirs/labels")  # of a plan, by default
STANDARD_INPUT = "-"
N_LABELS = 20  # images that a plan draws by default
OF_REFERENCE = ("reference_checkpoint", "reference_names")
SAME_SITE = (
    *("images", "img_dir", "every"),
    *("detector", "classes", "network_precision", "trust_checkpoint", "checkpoint", "device"),
    *("predictions", "names", "incomplete", "numbering", "columns"),
    *("reference", *OF_REFERENCE),
    *("categories", "present", "site", "group", "target", "score_thr", "iou", "cfg_options"),
)
"""Options of `estimate` that `label plan` has, too, and that say which images and boxes are meant.
"""


def after_fit(given: Given, folder: Path, *, from_files: bool) -> str:
    """Return the command that estimates new images by what a fit wrote; capitals stand for files.

    A fit whose reference detector was given by its boxes needs these of the new images, too.
    """
    path = folder / ESTIMATOR.name
    boxes = ["--predictions", "NEW.json"] if from_files else []
    named = ["--estimator", path] if path != ESTIMATOR else []
    reference = [
        word for name in ("reference", *OF_REFERENCE) for word in given.words.get(name, ())
    ]
    if reference and (from_files or Path(reference[1]).suffix == ".json"):
        reference = ["--reference", "REFERENCE.json", *given.words.get("reference_names", ())]
    words = ["autoeval", "estimate", *boxes, "--images", "IMAGES", *named, *reference]
    return shlex.join(map(str, words))


def after_estimate(
    given: Given, path: PathLike, estimator: AccuracyEstimator, estimate: Estimate
) -> str:
    """Return the command that plans labels for the same images, or nothing.

    There is none where the interval needs no labels, where the images came from standard input,
    and where a plan would be refused: it needs what was fitted on enough labelled boxes, and a
    target that labels measure. `path` is that of the estimator.
    """
    from autoeval.labels.category_estimate import LEVELS
    from autoeval.targets import OperatingPoint

    measured = estimator.target in LEVELS or OperatingPoint.of(estimator.target) is not None
    if estimator.assistance_ is None or not measured:
        return ""
    if not estimate.width_warning or given.values["images"] == STANDARD_INPUT:
        return ""
    from autoeval.estimation.label_planning import check_plan
    from autoeval.labels.plan_folder import EMPTY, load_plan

    n = min(N_LABELS, estimate.n_images)
    words = ["autoeval", "label", "plan", "--estimator", path]
    words += [word for name in SAME_SITE for word in given.words.get(name, ())]
    folder = LABELS
    if (LABELS / PLAN).exists():  # it is the folder of this plan, or of another one
        try:
            plan = load_plan(LABELS)
            check_plan(plan, estimate, LABELS)
            folder = LABELS if plan.n <= n else _unused(LABELS)
        except InputError:
            folder = _unused(LABELS)
    elif (LABELS / EMPTY).exists():
        folder = _unused(LABELS)
    words += ["--work-dir", folder] if folder != LABELS else []
    return shlex.join(map(str, [*words, *(["--n", n] if n < N_LABELS else [])]))


def after_compare(
    given: Given,
    fits: Mapping[str, AccuracyEstimator],
    result: Comparison,
    gate: Gate | None = None,
) -> str:
    """Return the command that plans labels of what shows the difference of two detectors.

    Of the best two, or of what leaves a gate undecided. There is none where these are decided,
    where images are labelled without a plan, and where a detector is run.
    """
    from autoeval.api.compare_detectors import NOT_FILES
    from autoeval.comparison.comparison import distinguishable

    typed = given.values
    files = typed["predictions"] or [NOT_FILES]
    if NOT_FILES in files:
        return ""
    best, n = result.overall.iloc[0], N_LABELS
    a, b, decided = best["a"], best["b"], distinguishable(best)
    if gate is not None:
        a, b, decided = gate.candidate, gate.decisive.detector, gate.outcome != "undecided"
        n = gate.decisive.labels or n
    if decided:
        return ""
    if result.n_labelled:
        return _more_of_plan(Path(typed["labels"]).parent, result.n_labelled + n) if gate else ""
    labelled = all(fits[name].assistance_ is not None for name in (a, b))
    if typed["target"] or not typed["images"] or not labelled:
        return ""
    named = typed["estimators"]
    folders = list(named.values() if isinstance(named, Mapping) else named)
    (first, boxes), (second, others) = (
        (Path(folders[k]), files[k]) for k in (list(fits).index(name) for name in (a, b))
    )
    path = first / ESTIMATOR.name if first.is_dir() else first
    words = ["--estimator", path, "--compare", second, "--compare-predictions", others]
    words += ["--predictions", boxes, "--images", typed["images"]]
    words += [word for name in ("categories", "present") for word in given.words.get(name, ())]
    n = min(n, result.n_images)
    words = ["autoeval", "label", "plan", *words, "--n", n, "--work-dir", _unused(LABELS)]
    return shlex.join(map(str, words))


def _more_of_plan(folder: Path, n: int) -> str:
    """Return the command that lets the plan in a folder have `n` images; nothing without one."""
    page = folder / "result.json"
    if not (folder / PLAN).exists() or not page.exists():
        return ""
    return larger_plan(json.loads(page.read_bytes()).get("about", {}).get("command", ""), n)


def after_plan(folder: Path, difference: bool) -> str:
    """Return the command that estimates from the labels of a plan; that of a difference has none.

    A difference is estimated by `compare`, which names the detectors as this command does not.
    """
    if difference:
        return ""
    words = ["autoeval", "label", "estimate", "--plan", folder, "--labels", "LABELS"]
    return shlex.join(map(str, words))


def larger_plan(command: str, n: int) -> str:
    """Return the command that made a plan, for `n` images; nothing where it is not known.

    >>> larger_plan("autoeval label plan --n 5 --estimator e.parquet", 9)
    'autoeval label plan --estimator e.parquet --n 9'
    """
    words = shlex.split(command)
    if words[:3] != ["autoeval", "label", "plan"]:
        return ""
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--n" not in (before, word) and not word.startswith("--n=")
    ]
    return shlex.join(map(str, [*kept, "--n", n]))


def _unused(folder: Path) -> Path:
    """Return a folder, or the first like it that there is not."""
    names = (folder if k == 1 else folder.with_name(f"{folder.name}_{k}") for k in count(1))
    return next(path for path in names if not path.exists())
