"""Make the tables of CAPTURe and its figures of the data, printed figures beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from autoeval.counting.commands.common_options import (
    ReproduceOptions,
    data_folder,
    prediction_folders,
    reproduce,
)

if TYPE_CHECKING:
    from autoeval.report.compared_with_print import Chapter
    from autoeval.runtime.files import PathLike

PAPER = "capture"
STATISTICS = "1"


def reproduce_capture(
    *,
    table: Sequence[str] = (),
    figure: Sequence[str] = (),
    data_root: PathLike | None = None,
    predictions: Sequence[PathLike] = (),
    **options: Unpack[ReproduceOptions],
) -> None:
    """Make the tables of CAPTURe and its figures of the data, printed figures beside.

    Table 1 and the figures need no predictions.

    Parameters
    ----------
    table : sequence of str
        1 (the data), 2 to 7 (default: all, unless --figure is given).
    figure : sequence of str
        3 (objects), 4 (occluded objects).
    data_root : path-like, optional
        Folder with real_metadata.json, real_validation_metadata.json and synthetic_metadata.json;
        FSC-147's annotation_FSC147_384.json and Train_Test_Val_FSC_147.json beside them give the
        objects that the real split hides and the images of its test split.
    predictions : sequence of path-like
        Folders with real or synthetic, and in these .jsonl files of `autoeval count capture run`
        (of runs with --backoff for Table 6), or with the files of the authors' scripts, such as
        occ_results/gpt_real_results.json and unocc_results/gpt_syn_results.json.
    **options
        See `ReproduceOptions`.
    """
    from autoeval.counting.reproduce.printed_capture import (
        histogram_figure,
        model_table,
        read_all_answers,
        read_capture_data,
        statistics_table,
    )

    data = read_capture_data(data_folder(data_root))
    answers = read_all_answers(prediction_folders(predictions))

    def made(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        if name == STATISTICS:
            return statistics_table(name, entry, data), []
        return model_table(name, entry, data, answers)

    reproduce(
        PAPER,
        "CAPTURe, printed and own",
        options,
        wanted=table,
        figures_wanted=figure,
        mode=None,  # the formulas and the authors' code agree
        table=made,
        figure=lambda name, entry: histogram_figure(name, entry, data),
        missing={"data": data.missing},
    )
