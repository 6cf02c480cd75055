"""Make tables and figures of the paper on binned counting, printed figures beside."""

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

if TYPE_CHECKING:
    from autoeval.report.compared_with_print import Chapter
    from autoeval.runtime.files import PathLike

PAPER = "binned"
POOLED, GAME, BINS = "2", "3", "bins"


def reproduce_binned(
    *,
    table: Sequence[str] = (),
    figure: Sequence[str] = (),
    data_root: PathLike | None = None,
    predictions: Sequence[PathLike] = (),
    mode: Literal["paper", "released"] = "paper",
    **options: Unpack[ReproduceOptions],
) -> None:
    """Make tables and figures of the paper on binned counting, printed figures beside.

    Parameters
    ----------
    table : sequence of str
        2, 3, 4, 5, bins (default: all, unless --figure is given). Table 3 compares density maps:
        MODEL/maps/DATASET_SCHEME/IMAGE.npy in --predictions with maps/DATASET/IMAGE.npy in
        --data-root.
    figure : sequence of str
        10, 11 (TPER).
    data_root : path-like, optional
        Folder with Train_DATASET.txt, from whose counts the bins follow.
    predictions : sequence of path-like
        Folders with files such as jhu_unbinned_tar_pred_error.txt (data set, then unbinned, rr or
        rs), or with a folder of them for each network. In the authors' evaluation folder, files
        ending in _tar_pred_error are BL's and nwpu_unbinned.txt, nwpu_rr.txt and nwpu_rs.txt
        DM-Count's.
    mode : str
        Measure by the formulas as printed, or as the authors' code does.
    **options
        See `ReproduceOptions`.
    """
    from autoeval.counting.reproduce.printed_binned import (
        FORM,
        ablation_table,
        binned_table,
        bins_table,
        find_count_files,
        game_table,
        pooled_figures,
        tper_figure,
    )
    from autoeval.io.documents import read_paper

    printed = read_paper(PAPER, [POOLED])[0][POOLED]
    folders = prediction_folders(predictions)
    files = find_count_files(folders, (row.partition(" ")[2] for row in printed["rows"]))
    figures, warnings = pooled_figures(files, mode=mode)
    root = data_folder(data_root)

    def made(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        if name == BINS:
            return bins_table(name, entry, root)
        if name == GAME:
            return game_table(name, entry, root, folders, mode=mode)
        if name == POOLED:
            section = binned_table(name, entry, figures, mode=mode, notes=warnings)
            return section, [] if files else [f"No predictions: expected files {FORM}."]
        return ablation_table(name, entry, figures, mode=mode), [entry["missing"]]

    reproduce(
        PAPER,
        "Binned counting, printed and own",
        options,
        wanted=table,
        figures_wanted=figure,
        mode=mode,
        table=made,
        figure=lambda name, entry: tper_figure(name, entry, files, mode=mode),
    )
