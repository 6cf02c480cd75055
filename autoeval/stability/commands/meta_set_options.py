"""The options of a task and its sample sets, of what is done to each image, and of counting."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from typing_extensions import TypedDict

from autoeval.accuracy.measures import AP_TARGETS, TARGETS
from autoeval.api.options import BoxOptions, NamedDetector, NetworkOptions, given_boxes_of
from autoeval.errors import InputError
from autoeval.stability.commands import road_world
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.estimation.run_detector import Detector
    from autoeval.io.tasks.task import Task
    from autoeval.stability.passes.presets import MeasureSettings, ScoredSettings

PAPER: Final = "paper"
LIGHT: Final = "light"  # the preset without dropout and without sample sets
BELONG_TO_TASK = ("data_root", "max_images")
REPEATS = 10
COUNT_THR = 0.3  # as in `CountingErrorSettings`, which takes a second to import
COUNT_TARGETS = tuple(name for name in TARGETS if name.startswith("count_"))
COUNT_METHODS = ("count_stability", "bos", "bos_strict", "ac", "boxes_per_image", "median")
OF_COUNTING = ("count_thr", "bins", "bins_name")  # options of the targets of `COUNT_TARGETS`
NO_DETECTOR = (
    "Expected --detector NAME: one of configs/detectors/, or an mmdet config with "
    "--checkpoint FILE."
)


class MetaSetOptions(TypedDict, total=False):
    """Which sample sets are made of each seed set.

    Parameters
    ----------
    metaset : path-like
        Sample sets, as configs/metasets/mild.py.
    n_sets : int
        Sample sets of each seed set (those of the file, else 50).
    n_images : int
        Images of each sample set (those of the file, else 250).
    """

    metaset: str
    n_sets: int
    n_images: int


class TaskOptions(MetaSetOptions, total=False):
    """The labelled sources; and as `MetaSetOptions`.

    Parameters
    ----------
    task : path-like
        Such as configs/tasks/vehicle.py (default: the road world, rendered on first use).
    data_root : path-like
        Folder with the data of the task.
    max_images : int
        Images of each source, at equal distances.
    """

    task: str
    data_root: str
    max_images: int


class StagedDetector(NamedDetector, NetworkOptions, total=False):
    """Where the detector is perturbed; and as `NamedDetector` and `NetworkOptions`.

    Parameters
    ----------
    stages : sequence of str
        Modules of the backbone at which features are dropped, as NAME,....
    """

    stages: Sequence[str]


class PerturbedOptions(StagedDetector, total=False):
    """How boxes are perturbed and compared; and as `StagedDetector`.

    Parameters
    ----------
    preset : str
        How boxes are perturbed and compared: paper has 50 sample sets of 250 images for each source
        and ten passes under dropout, light each image once (default: paper).
    repeats : int
        Dropout seeds; 0 leaves the scores that need none (default: 10, none where the preset is
        light and no method asks, or those of a saved estimator).
    dropout : path-like
        Dropout to use, such as configs/dropout/yolox_nano.py from search-dropout: replaces the
        preset's position, stages and rate.
    class_aware : bool
        Match boxes within a category only.
    box_score : float
        Boxes from this score on are matched (default: 0.05).
    domain_source : str
        Seed set of the task that stands for the detector's training domain: adds the Fréchet
        distance and the original ATC.
    views : bool
        Three more clean passes, which add view consistency.
    das : bool
        One more pass, with perturbed weights, which adds the Detection Adaptation Score.
    seed : int
        Of every draw (default: 0).
    work_dir : path-like
        Where to write (default: work_dirs/TASK_DETECTOR...).
    """

    preset: Literal["light", "paper", "paper_skip_empty", "released", "replication"]
    repeats: int
    dropout: str
    class_aware: bool
    box_score: float
    domain_source: str
    views: bool
    das: bool
    seed: int
    work_dir: str


def given_detector(
    options: Mapping[str, Any], loading: Mapping[str, Any] | None = None
) -> Detector | None:
    """Return the detector that the options name with how it is run; None where they name none.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    loading : mapping of str, optional
        How the detector of an estimator is loaded; what is given goes before.
    """
    from autoeval.estimation.run_detector import Detector

    box_options = {name: options.get(name) for name in BoxOptions.__annotations__}
    box_source = given_boxes_of(None, box_options, loading)
    return box_source if isinstance(box_source, Detector) else None


def named_detector(options: Mapping[str, Any]) -> Detector:
    """Return the detector that the options name with how it is run.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        If they name none.
    """
    if not options.get("detector"):
        raise InputError(NO_DETECTOR)
    detector = given_detector(options)
    assert detector is not None
    return detector


def refuse_options(options: Mapping[str, Any], names: Sequence[str], reason: str) -> None:
    """Refuse some options where they are given.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    names : sequence of str
        Those that must not be given.
    reason : str
        Follows the name of the option in the message.

    Raises
    ------
    InputError
        If one is given.
    """
    refuse_given({name: options.get(name) for name in names}, reason)


def check_task_options(options: Mapping[str, Any]) -> None:
    """Refuse what is about a task without one.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        If one is given.
    """
    if not options.get("task"):
        refuse_options(options, BELONG_TO_TASK, "goes with --task: give that, too.")


def named_task(options: Mapping[str, Any]) -> Task:
    """Load the task that the options name, or render the road world where they name none.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        If the task cannot be read, or another option is given in its place.
    """
    from autoeval.io.tasks.task import load_task

    if options.get("task"):
        task = load_task(options["task"], options.get("data_root"))
        return replace(task, max_images=options.get("max_images"))
    if road_world.serves(options):
        return road_world.road_world_task(options)
    addition = " with --estimator" if options.get("estimator") else ""
    raise InputError(f"Expected --task FILE{addition}, such as configs/tasks/vehicle.py.")


def check_complete(options: Mapping[str, Any], command: str) -> None:
    """Name everything that a run on a task lacks in one error, with a command that runs.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    command : str
        Its name.

    Raises
    ------
    InputError
        If the detector or the task is lacking.
    """
    lacking = []
    if not options.get("detector"):
        lacking.append(NO_DETECTOR)
    try:
        named_task(options)
    except InputError as error:
        lacking.append(str(error))
    if lacking:
        raise InputError(f"{' '.join(lacking)} {road_world.without_download(command)}")


def check_rates(rates: Sequence[float] | None, option: str) -> None:
    """Refuse rates of dropout at which nothing or everything is dropped.

    Parameters
    ----------
    rates : sequence of float, optional
        Shares of channels.
    option : str
        By which they are given.

    Raises
    ------
    InputError
        If one is not between 0 and 1.
    """
    wrong = [rate for rate in rates or () if not 0 < rate < 1]
    if wrong:
        raise InputError(f"Expected {option} over 0 and under 1 but got {wrong[0]:g}.")


def named_stages(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the stages that the options name, none by default.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    """
    return tuple(options.get("stages") or ())


def pass_settings(options: Mapping[str, Any]) -> ScoredSettings:
    """Return the settings of the pass that the options, as `PerturbedOptions`, name.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        If a threshold is not possible, the preset is unknown, or the file of the dropout cannot be
        read or numbers other stages.
    """
    from autoeval.stability.network.forward.dropout_spec import load_dropout, of_search
    from autoeval.stability.passes import presets

    dropout = None
    if options.get("dropout"):
        dropout = load_dropout(options["dropout"])
        searched = of_search(options["dropout"], "named_stages")
        if searched and searched != named_stages(options):
            raise InputError(
                f"The dropout of {options['dropout']} was searched at other stages, which it "
                f"numbers from 0: give --stages {','.join(searched)}, or another --dropout."
            )
    needs = _needs(options)
    named, repeats, seed = options.get("preset"), options.get("repeats"), options.get("seed") or 0
    if repeats is None:
        repeats = 0 if named == LIGHT and "perturbed" not in needs else REPEATS
    if named == LIGHT:
        settings = presets.light(repeats=repeats, seed=seed, dropout=dropout)
        by_products = tuple(name for name in presets.BY_PRODUCTS if name in needs)
        settings = replace(settings, wants=by_products)
    else:
        settings = presets.preset(named or PAPER, repeats=repeats, seed=seed, dropout=dropout)
    if options.get("class_aware"):
        stability = replace(settings.stability, class_aware=True)
        settings = replace(settings, stability=stability)
    box_score = options.get("box_score")
    if box_score is not None:
        if not 0 <= box_score < 1:
            raise InputError(f"Expected --box-score from 0 to under 1, got {box_score}.")
        stability = replace(settings.stability, score_thr=box_score)
        settings = replace(settings, stability=stability)
    if options.get("views"):
        settings = replace(settings, wants=(*settings.wants, "views"))
    if options.get("das"):
        settings = replace(settings, wants=(*settings.wants, "reweighted", "prototypes"))
    return replace(settings, stages=named_stages(options))


def note_sources_of_search(path: str, task: Task) -> None:
    """Name the sources of a task that a dropout was chosen on: their errors come out too small.

    Parameters
    ----------
    path : str
        File of the dropout.
    task : Task
        On which it is used.
    """
    from autoeval.stability.network.forward.dropout_spec import of_search
    from autoeval.words import listed

    seen = [name for name in of_search(path, "sources") if name in {f.name for f in task.seed_sets}]
    if seen:
        print(
            f"note: {path} was chosen on {listed(seen)}, which are evaluated here: their errors "
            "come out too small. Search without them: search-dropout --task FILE --leave-out NAME",
            file=sys.stderr,
        )


def _needs(options: Mapping[str, Any]) -> frozenset[str]:
    """Return the evidence that the methods named read, and what a training domain is for."""
    from autoeval.stability.methods import make_method
    from autoeval.stability.scores.base import needs_of

    methods = options.get("method") or ()
    columns = [column for name in methods for column in make_method(name).features]
    return needs_of(columns) | ({"features"} if options.get("domain_source") else frozenset())


def work_dir(options: Mapping[str, Any], task: str, detector: str, target: str | None) -> Path:
    """Return the folder of a run on a task: the one named, or one by task, detector and target.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    task : str
        Its name.
    detector : str
        Its name or file.
    target : str, optional
        Those of counting have a folder of their own.
    """
    if options.get("work_dir"):
        return Path(options["work_dir"])
    suffix = "_counting" if target in COUNT_TARGETS else ""
    return Path("work_dirs") / f"{task}_{Path(detector).stem}{suffix}"


def check_counting_options(options: Mapping[str, Any]) -> None:
    """Refuse options of counting with another target, and those that do not go together.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        In either case.
    """
    target, threshold = options.get("target") or AP_TARGETS[0], options.get("count_thr")
    if target not in COUNT_TARGETS:
        refuse_options(
            options,
            OF_COUNTING,
            f"is for a counting error, and --target is {target}: give a "
            f"target such as {COUNT_TARGETS[0]}, or leave it out.",
        )
    if threshold is not None and not 0 <= threshold < 1:
        raise InputError(f"Expected --count-thr from 0 to under 1 but got {threshold}.")
    if options.get("bins") is None:
        refuse_options(
            options, ["bins_name"], "names a list in --bins, which is missing: give both."
        )


def counting_measures(options: Mapping[str, Any]) -> tuple[MeasureSettings, ...]:
    """Return what measures counting errors, where the target is one.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Returns
    -------
    tuple of MeasureSettings
        Empty for another target.
    """
    if options.get("target") not in COUNT_TARGETS:
        return ()
    from autoeval.counting.binning import find_bins
    from autoeval.counting.label_free import EDGES, CountingErrorSettings

    bins, threshold = options.get("bins"), options.get("count_thr")
    edges = find_bins(bins, options.get("bins_name")).edges if bins else EDGES
    return (CountingErrorSettings(COUNT_THR if threshold is None else threshold, edges),)
