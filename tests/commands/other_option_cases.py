"""Calls for the options of `monitor`, of counting and of small commands; see `option_cases`."""

from option_cases import NAMES, detector, running

WATCH = "monitor --estimator fit/estimator.parquet --predictions watched"
CHANGING = f"{WATCH} --by every:8 --baseline 16 --false-alarms .99"
WATCH_CUT = "monitor --estimator cut_fit/estimator.parquet --predictions watched_cut"
WATCH_BY_RUN = "monitor --estimator run/estimator.parquet --images sites"
ALARMS = f"{WATCH} --alarm-below .99"
COUNTED = "roadworld_nano@0.1/predictions.csv"
EVALUATE = f"count evaluate {COUNTED} --truth overpass.csv --bins bins.json"
EVALUATE_POINTS = "count evaluate points.json --truth points_truth.json --bins bins.json"
EVALUATE_SIZED = "count evaluate sized_points.json --truth sized_truth.json --bins bins.json"
GENERATE = "count capture generate capture --counts 5,6 --size 64"

OTHER_CASES = {
    "monitor": {
        **detector(WATCH_BY_RUN),
        **running(WATCH_BY_RUN),
        "estimator": (f"{WATCH}", "--estimator other/estimator.parquet"),
        "predictions": (WATCH, "--predictions watched_others"),
        "names": (WATCH, f"--predictions watched {NAMES}"),
        "reference_names": (WATCH, "--predictions watched --reference-names words.txt"),
        "reference": (WATCH_BY_RUN, "--reference nowhere.py:detector"),
        "reference_checkpoint": (WATCH_BY_RUN, "--reference-checkpoint nowhere.pth"),
        "incomplete": (WATCH_CUT, "--predictions watched_cut --incomplete"),
        "numbering": (WATCH, "--predictions watched --numbering coco"),
        "present": (WATCH, "--present nowhere"),
        "images": ("monitor --estimator run/estimator.parquet", "--images nowhere"),
        "img_dir": (WATCH_BY_RUN, "--images w1/annotations.json --img-dir nowhere"),
        "depth": (WATCH_BY_RUN, "--images sites --depth 1"),
        "category": (WATCH, "--category any=thing\\ 1,thing\\ 2"),
        "site_category": (WATCH, "--site-category gate any=thing\\ 1"),
        "by": (WATCH, "--by every:10"),
        "time": (WATCH_BY_RUN, "--time exif"),
        "worst": (WATCH, "--worst 1"),
        "target": (WATCH, "--target mAP50"),
        "score_thr": (WATCH, "--score-thr .3"),
        "iou": (f"{WATCH} --score-thr .3", "--iou .75"),
        "alarm_below": (WATCH, "--alarm-below .99"),
        "site": (WATCH, "--site gate=nowhere"),
        "seed": (f"{WATCH} --worst 1", "--seed 1"),
        "against": (WATCH, "--against other --against-predictions watched_others"),
        "against_predictions": (
            f"{WATCH} --against other --against-predictions watched_others",
            "--against other --against-predictions nowhere",
        ),
        "against_known": (
            f"{WATCH} --against other --against-predictions watched_others",
            "--against other --against-predictions watched_others --against-known gate=40",
        ),
        "baseline": (WATCH, "--baseline soon"),
        "false_alarms": (WATCH, "--false-alarms 2"),
        "labelled": (WATCH, "--labelled gate=nowhere.json"),
        "keep": (WATCH, "--keep some"),
        "alarm_on": (CHANGING, "--alarm-on changed"),
        "json_lines": (WATCH, "--json-lines"),
        "prometheus": (WATCH, "--prometheus gauges.prom"),
        "fail_on_alarm": (ALARMS, "--fail-on-alarm"),
        "webhook": (ALARMS, "--webhook nowhere"),
        "quiet": (WATCH, "--quiet"),
        "verbose": (WATCH, "--verbose"),
        "work_dir": (WATCH, "--work-dir elsewhere_monitor"),
    },
    "count evaluate": {
        "predictions": (EVALUATE, "roadworld_nano@0.3/predictions.csv"),
        "truth": (EVALUATE, "--truth nowhere.csv"),
        "bins": (EVALUATE, "--bins nwpu"),
        "bins_name": (EVALUATE, "--bins bins.json --bins-name nowhere"),
        "fit_bins": (f"count evaluate {COUNTED} --truth overpass.csv", "--fit-bins overpass.csv"),
        "binning": (
            f"count evaluate {COUNTED} --truth overpass.csv --fit-bins overpass.csv",
            "--binning blocks",
        ),
        "gamma": (
            f"count evaluate {COUNTED} --truth overpass.csv --fit-bins overpass.csv",
            "--binning released --gamma .1",
        ),
        "mode": (f"{EVALUATE} --bins bins.json", "--mode released"),
        "category": (EVALUATE, "--category car"),
        "images": (EVALUATE_POINTS, "--images nowhere"),
        "rescale": (EVALUATE_SIZED, "--rescale"),
        "match_distance": (EVALUATE_POINTS, "--match-distance 2"),
        "separate": (f"{EVALUATE} roadworld_nano@0.3/predictions.csv", "--separate"),
        "n_resamples": (f"{EVALUATE} --json", "--n-resamples 50"),
        "seed": (f"{EVALUATE} --json --n-resamples 50", "--n-resamples 50 --seed 1"),
        "json": (EVALUATE, "--json"),
        "work_dir": (EVALUATE, "--work-dir elsewhere_evaluate"),
    },
    "count leaderboard": {
        "runs": ("count leaderboard evaluated", "other=evaluated_too"),
        "measure": ("count leaderboard evaluated", "--measure bias"),
        "work_dir": ("count leaderboard evaluated", "--work-dir elsewhere_board"),
    },
    "count capture answers": {"cases": ("count capture answers", "nowhere.json")},
    "count capture generate": {
        "out": ("count capture generate --counts 5,6 --size 64", "capture_elsewhere"),
        "seed": (GENERATE, "--seed 1"),
        "patterns": (GENERATE, "--patterns nowhere"),
        "counts": (GENERATE, "--counts 5"),
        "size": (GENERATE, "--size 96"),
        "fit_canvas": (GENERATE, "--fit-canvas"),
        "box_anywhere": (GENERATE, "--box-anywhere"),
    },
}
