"""Calls for the options of commands of the published methods; see `option_cases`."""

SCORED = (
    "estimate-map --detector mine.py:detector --task task.py --metaset n_sets=2 n_images=4 "
    "--work-dir scores"
)
BENCH = "bench scores --method bayes constant"
SETS = "build-metaset --task task.py --metaset n_sets=2 n_images=4"
GIVEN = "build-metaset --metaset n_sets=1 --seed-set w0 w0/annotations.json w0/images"
AS_THEY_ARE = "--mapping car=car bus=bus"

PUBLISHED_CASES = {
    "bench": {
        "scores": ("bench", "scores --method constant"),
        "method": (BENCH, "--method constant"),
        "target": (BENCH, "--target mAP50"),
        "level": (BENCH, "--level .5"),
        "work_dir": (BENCH, "--work-dir elsewhere_bench"),
    },
    "build-metaset": {
        "task": (SETS, "--task nowhere.py"),
        "data_root": (SETS, "--task task.py data_root=nowhere"),
        "seed_set": (
            f"{GIVEN} {AS_THEY_ARE}",
            "--seed-set w1 w1/annotations.json w1/images car=car",
        ),
        "mapping": (GIVEN, AS_THEY_ARE),
        "metaset": (SETS, "--metaset nowhere.py"),
        "n_sets": (SETS, "--metaset n_sets=3"),
        "n_images": (SETS, "--metaset n_images=5"),
        "n_transforms": (SETS, "--metaset n_transforms=1"),
        "seed": (SETS, "--seed 1"),
        "work_dir": (SETS, "--work-dir elsewhere_sets"),
        "materialise": (SETS, "--materialise"),
        "contact_sheet": (SETS, "--contact-sheet"),
    },
}
