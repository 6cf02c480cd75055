"""What the commands on sample sets pass on of the options that they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoeval.api.options import check_names

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

PAPER = "paper"


@dataclass
class Arguments:
    """What was given to a command on sample sets; None for what was not, or is no option of it.

    The options of all these commands, which their own dictionaries such as `TaskOptions` explain.
    """

    # The labelled sources, and sample sets of them
    task: Any = None  # a path; of a study several
    data_root: PathLike | None = None
    max_images: int | None = None
    seed_set: Sequence[Sequence[str]] | None = None
    metaset: PathLike | None = None
    n_sets: int | None = None
    n_images: int | None = None
    # The detector, and where it runs
    detector: str | None = None
    stages: Sequence[str] | None = None
    checkpoint: str | None = None
    cfg_options: Sequence[str] | None = None
    device: str | None = None
    classes: str | None = None
    network_precision: str | None = None
    trust_checkpoint: bool | None = None
    batch_size: int | None = None
    num_workers: int | None = None
    ray: str | None = None
    ray_workers: int | None = None
    ray_gpus: float | None = None
    ray_cpus: int | None = None
    reference: Sequence[str] | None = None
    reference_names: str | None = None
    reference_checkpoint: str | None = None
    # How boxes are perturbed and compared
    preset: str | None = None
    repeats: int | None = None
    dropout: str | None = None
    class_aware: bool | None = None
    box_score: float | None = None
    domain_source: str | None = None
    views: bool | None = None
    das: bool | None = None
    seed: int | None = None
    work_dir: Any = None
    json: bool = False
    # What is fitted and estimated
    estimator: str | None = None
    method: Sequence[str] | None = None
    target: str | None = None
    count_thr: float | None = None
    bins: str | None = None
    bins_name: str | None = None
    images: Any = None
    img_dir: str | None = None
    every: str | None = None
    categories: Mapping[str, Sequence[str]] | None = None
    # Of a search
    leave_out: Sequence[str] | None = None
    strategy: Sequence[str] | None = None
    position: str = "after"
    rates: Sequence[float] | None = None
    score: str = "bos"
    # Of a study, and of the tables of the paper
    study: str = ""
    set: Sequence[str] | None = None
    scores: str | None = None
    table: Sequence[str] = ()
    figure: Sequence[str] = ()
    mode: str = PAPER
    checkpoints: str | None = None
    search: Sequence[float] | None = None
    dry_run: bool = False


def arguments_of(options: Mapping[str, Any], known: type) -> Arguments:
    """Return what was given of the options of a command, a dictionary such as `TaskOptions`.

    Raises `TypeError` for a keyword that is none of these.
    """
    check_names(options, known)
    return Arguments(**options)
