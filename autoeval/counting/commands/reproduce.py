"""Make tables and figures of the papers on counting, printed figures beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Unpack

from autoeval.counting.commands.common_options import (
    ReproduceOptions,
    data_folder,
    prediction_folders,
    reproduce,
)
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.counting.reproduce.printed_praco import Models
    from autoeval.report.compared_with_print import Chapter
    from autoeval.runtime.files import PathLike


POOLED = "2"
GAME = "3"
BINS = "bins"
STATISTICS = "1"
MAIN = "1"


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
    from autoeval.runtime.files import read_paper

    printed = read_paper("binned", [POOLED])[0][POOLED]
    folders = prediction_folders(predictions)
    models = (row.partition(" ")[2] for row in printed["rows"])
    files, left_out = find_count_files(folders, models)
    figures, warnings = pooled_figures(files, mode=mode)
    root = data_folder(data_root)

    def made(name: str, entry: Mapping[str, Any]) -> tuple[Chapter, Sequence[str]]:
        if name == BINS:
            return bins_table(name, entry, root)
        if name == GAME:
            return game_table(name, entry, root, folders, mode=mode)
        if name == POOLED:
            section = binned_table(name, entry, figures, mode=mode, notes=[*left_out, *warnings])
            return section, [] if files else [f"No predictions: expected files {FORM}."]
        return ablation_table(name, entry, figures, mode=mode), [entry["missing"]]

    reproduce(
        "binned",
        "Binned counting, printed and own",
        options,
        wanted={"table": table, "figure": figure},
        make={"table": made, "figure": partial(tper_figure, files=files, mode=mode)},
        mode=mode,
    )


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
        "capture",
        "CAPTURe, printed and own",
        options,
        wanted={"table": table, "figure": figure},
        make={"table": made, "figure": partial(histogram_figure, data=data)},
        mode=None,  # the formulas and the authors' code agree
        missing={"data": data.missing},
    )


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
    from autoeval.runtime.files import read_paper

    if data_root is None:
        refuse_given({"exclude": tuple(exclude)}, "goes with --data-root: give that, too.")
    printed_models = read_paper("praco", [MAIN])[0][MAIN]["rows"]
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
        "praco",
        "PrACo, printed and own",
        options,
        wanted={"table": table, "figure": figure},
        make={"table": made, "figure": drawn},
        mode=mode,
    )
