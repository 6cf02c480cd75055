"""Make tables and figures of PrACo from prediction files, printed figures beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Unpack

from autoeval.counting.commands.common_options import (
    ReproduceOptions,
    data_folder,
    prediction_folders,
    reproduce,
)
from autoeval.errors import refuse_given

if TYPE_CHECKING:
    from autoeval.counting.reproduce.printed_praco import Models
    from autoeval.report.compared_with_print import Chapter
    from autoeval.runtime.files import PathLike

PAPER = "praco"
MAIN = "1"


def reproduce_praco(
    *,
    table: Sequence[str] = (),
    figure: Sequence[str] = (),
    data_root: PathLike | None = None,
    exclude: Sequence[PathLike] = (),
    predictions: Sequence[PathLike] = (),
    mode: Literal["paper", "released"] = "paper",
    **options: Unpack[ReproduceOptions],
) -> None:
    """Make tables and figures of PrACo from prediction files, printed figures beside.

    Parameters
    ----------
    table : sequence of str
        1 (test), 2 (validation), 3 (DAVE's settings) (default: all, unless --figure is given).
        Table 3 reads DAVE's files in folders named after its settings: DAVE_thr_0.17,
        DAVE_thr_0.10, DAVE_mod_thr_0.17 and DAVE_mod_thr_0.10.
    figure : sequence of str
        4 (drift), 6 (negative classes).
    data_root : path-like, optional
        FSC-147's folder (its images are not needed).
    exclude : sequence of path-like
        Lists of image ids to leave out, such as images of several classes, as FILE,....
    predictions : sequence of path-like
        Folders with the files Inference_Test1_MODEL_SPLIT.csv, which the authors' code writes and
        `autoeval count praco`, or with a folder of them for each model.
    mode : str
        Measure by the formulas as printed, or as the authors' code does.
    **options
        See `ReproduceOptions`.
    """
    from autoeval.counting.reproduce.printed_praco import (
        drift_figure,
        negative_class_figure,
        praco_table,
        read_models,
    )
    from autoeval.io.documents import read_paper

    if data_root is None:
        refuse_given({"exclude": tuple(exclude)}, "goes with --data-root: give that, too.")
    printed_models = read_paper(PAPER, [MAIN])[0][MAIN]["rows"]
    folders, root = prediction_folders(predictions), data_folder(data_root)

    def models(entry: Mapping[str, Any]) -> tuple[Models, list[str]]:
        return read_models(
            root,
            folders,
            entry["split"],
            printed=entry.get("rows", printed_models),
            by_folder=entry.get("by_folder"),
            exclude=exclude,
            mode=mode,
        )

    def made(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        results, missing = models(entry)
        return praco_table(name, entry, results, mode=mode), missing

    def drawn(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        results, missing = models(entry)
        if "classes" in entry:
            return negative_class_figure(name, entry, results), missing
        return drift_figure(name, entry, results, mode=mode), missing

    reproduce(
        PAPER,
        "PrACo, printed and own",
        options,
        wanted=table,
        figures_wanted=figure,
        mode=mode,
        table=made,
        figure=drawn,
    )
