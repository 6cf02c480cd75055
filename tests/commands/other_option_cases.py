"""Calls for the options of `monitor`, of counting and of small commands; see `option_cases`."""

COUNTED = "roadworld_nano@0.1/predictions.csv"
EVALUATE = f"count evaluate {COUNTED} --truth overpass.csv --bins bins.json"
EVALUATE_POINTS = "count evaluate points.json --truth points_truth.json --bins bins.json"
EVALUATE_SIZED = "count evaluate sized_points.json --truth sized_truth.json --bins bins.json"
GENERATE = "count capture generate capture --counts 5,6 --size 64"

OTHER_CASES = {
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
