"""Calls for the options of commands of the published methods; see `option_cases`."""


def running(base):
    """Batches are seen by the black box, which prints their size."""
    return {
        "batch_size": (base, "--batch-size 3"),
        "ray": (base, "--ray 127.0.0.1:1"),
        "ray_workers": (base, "--ray-workers 2"),
        "ray_gpus": (base, "--ray-gpus 2"),
        "ray_cpus": (base, "--ray-cpus 2"),
    }


SCORED = (
    "estimate-map --detector mine.py:detector --task task.py --n-sets 2 --n-images 4 "
    "--work-dir scores"
)
BENCH = "bench scores --method bayes constant"
SETS = "build-metaset --task task.py --n-sets 2 --n-images 4"
GIVEN = "build-metaset --n-sets 1 --seed-set w0 w0/annotations.json w0/images"
AS_THEY_ARE = "--mapping car=car bus=bus"
# a network that is quick on a processor, for its own options, and a method that takes no time
ROAD = "--detector roadworld_nano --task road.py"
ROAD_FIT = f"estimate-map {ROAD} --method constant --preset light"
SETS_AND_PASSES = "--n-sets 1 --n-images 2 --preset paper --repeats 1"
CARS_FIT = ROAD_FIT.replace("road.py", "cars.py")
ROAD_DROPPED = f"{ROAD_FIT} {SETS_AND_PASSES.replace('--n-images 2', '--n-images 1')}"
# a stand-in, which is quicker still, for all others
FIT = "estimate-map --detector shaken --task rectangles/task.py --method constant --preset light"
DROPPED = f"{FIT} {SETS_AND_PASSES}"
TWO_WORDS = (
    "classes=car_vehicle.txt --checkpoint two.pth --cfg-options model.bbox_head.num_classes=2"
)
BOTH = ROAD_DROPPED.replace("nano --task road.py", f"nano {TWO_WORDS} --task both.py")
BLACK_BOX = "estimate-map --detector mine.py:detector --task task.py --method constant"
NEW = "--images rectangles/new/images"
COUNTED = f"{DROPPED} --method median --target count_mae"
SAVED = "estimate-map --estimator run/estimator.parquet --images w1/images"
SEARCH = (
    "search-dropout --detector shaken --task rectangles/task.py --n-sets 1 --n-images 2 "
    "--strategy greedy --rates .3 .6"
)
PAPER = "reproduce bos --data-root papers --detector cars --n-sets 2 --n-images 3 --repeats 1"
PAPER_COST = f"{PAPER} --dry-run"  # prints the data, and how much a run would observe
TRAIN = "train-demo-detector --threads 1 --checkpoint trained.pth --report trained.md --images 1"
REPORT_ONLY = (
    "train-demo-detector --checkpoint weaker.pth --report trained.md --report-only --images 1"
)
CORRELATION = "study correlation --scores scores"
EXAMPLES = (
    "study examples --detector shaken --task rectangles/task.py --set repeats=1 most=1 min_boxes=1"
)
SIZES = (
    "study sample-set-size --detector shaken --task rectangles/task.py "
    "--n-sets 3 --n-images 3 --set repeats=1 methods=constant sizes=2 draws=1"
)
SAMPLE = "demo --sample sampled"


def loaded(base):
    """What is about loading a network, each refused by its loader; each acts in "estimate-map"."""
    network = "--detector roadworld_nano"
    return {
        "detector": (base, "--detector nowhere.py"),
        "checkpoint": (base, f"{network} --checkpoint nowhere.pth"),
        "cfg_options": (base, f"{network} --cfg-options nothing"),
        "device": (base, f"{network} --device nowhere"),
        "network_precision": (base, f"{network} precision=other"),
        "classes": (base, f"{network} classes=nowhere.txt"),
        "trust_checkpoint": (base, f"{network} trust_checkpoint=maybe"),
    }


def dropping(base):
    """What `loaded` has, where features are dropped."""
    return {**loaded(base), "stages": (base, "--detector roadworld_nano --stages nowhere")}


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
        "data_root": (SETS, "--task task.py --data-root nowhere"),
        "seed_set": (
            f"{GIVEN} {AS_THEY_ARE}",
            "--seed-set w1 w1/annotations.json w1/images car=car",
        ),
        "mapping": (GIVEN, AS_THEY_ARE),
        "metaset": (SETS, "--metaset nowhere.py"),
        "n_sets": (SETS, "--n-sets 3"),
        "n_images": (SETS, "--n-images 5"),
        "n_transforms": (SETS, "--n-transforms 1"),
        "seed": (SETS, "--seed 1"),
        "work_dir": (SETS, "--work-dir elsewhere_sets"),
        "materialise": (SETS, "--materialise"),
        "contact_sheet": (SETS, "--no-contact-sheet"),
        "overwrite": (f"{SETS} --work-dir old_sets", "--n-sets 3 --overwrite"),
    },
    "estimate-map": {
        **running(BLACK_BOX),
        "detector": (BLACK_BOX, "--detector second.py:detector"),
        "checkpoint": (ROAD_FIT, "--checkpoint weaker.pth"),
        "cfg_options": (ROAD_FIT, "--cfg-options model.test_cfg.score_thr=0.3"),
        "device": (ROAD_FIT, "--device nowhere"),
        "network_precision": (ROAD_FIT, "--detector roadworld_nano --network-precision half"),
        "classes": (
            ROAD_FIT.replace("road.py", "cars.py"),
            "--detector roadworld_nano --classes car.txt",
        ),
        "stages": (ROAD_DROPPED, "--detector roadworld_nano --stages stage1,stage2,stage3"),
        "trust_checkpoint": (
            f"{ROAD_FIT} --checkpoint pickled.pth",
            "--detector roadworld_nano --trust-checkpoint",
        ),
        "reference": (ROAD_FIT, "--reference roadworld_nano"),
        "reference_checkpoint": (
            f"{ROAD_FIT} --reference roadworld_nano",
            "--reference roadworld_nano --reference-checkpoint weaker.pth",
        ),
        "reference_names": (ROAD_FIT, "--reference roadworld_nano --reference-names words.txt"),
        "task": (FIT, "--task fading/task.py"),
        "data_root": (FIT, "--task rectangles/task.py --data-root fading/worlds"),
        "max_images": (FIT, "--task rectangles/task.py --max-images 3"),
        "images": (FIT, NEW),
        "img_dir": (FIT, "--images rectangles/new/annotations.json --img-dir nowhere"),
        "every": (f"{FIT} {NEW}", f"{NEW} --every 2"),
        "metaset": (DROPPED, "--metaset corrupted.py --n-sets 1 --n-images 2"),
        "n_sets": (DROPPED, "--n-sets 2"),
        "n_images": (DROPPED, "--n-images 3"),
        "method": (DROPPED, "--method median"),
        "target": (FIT, "--target mAP50"),
        "count_thr": (COUNTED, "--target count_mae --count-thr .6"),
        "bins": (
            COUNTED.replace("count_mae", "count_pooled_mae"),
            "--target count_mae --bins bins.json",
        ),
        "bins_name": (
            COUNTED.replace("count_mae", "count_mae --bins named_bins.json --bins-name few"),
            "--target count_mae --bins named_bins.json --bins-name more",
        ),
        "estimator": (SAVED, "--estimator run2/estimator.parquet"),
        "category": (f"{FIT} {NEW}", "--category thing=box"),
        "preset": (DROPPED, "--preset released"),
        "repeats": (DROPPED, "--preset paper --repeats 2"),
        "dropout": (DROPPED, "--preset paper --dropout dropout.py"),
        "class_aware": (BOTH, "--preset paper --class-aware"),
        "box_score": (ROAD_DROPPED, "--preset paper --box-score .5"),
        "domain_source": (FIT, "--preset light --domain-source w1"),
        "views": (FIT, "--preset light --views"),
        "das": (FIT, "--preset light --das"),
        "seed": (DROPPED, "--seed 1"),
        "work_dir": (FIT, "--work-dir elsewhere_map"),
        "json": (FIT, "--json"),
    },
    "search-dropout": {
        **dropping(SEARCH),
        "task": (SEARCH, "--task nowhere.py"),
        "data_root": (SEARCH, "--task rectangles/task.py --data-root fading/worlds"),
        "max_images": (SEARCH, "--task rectangles/task.py --max-images 1"),
        "leave_out": (SEARCH, "--task rectangles/task.py --leave-out w1"),
        "metaset": (SEARCH, "--metaset corrupted.py"),
        "n_sets": (SEARCH, "--n-sets 2"),
        "n_images": (SEARCH, "--n-images 3"),
        "strategy": (SEARCH, "--strategy full"),
        "position": (SEARCH, "--position before"),
        "rates": (SEARCH, "--rates .3"),
        "preset": (SEARCH, "--preset released"),
        "repeats": (SEARCH, "--preset paper --repeats 2"),
        "score": (SEARCH, "--score confidence_stability"),
        "target": (SEARCH, "--target mAP50"),
        "seed": (SEARCH, "--seed 1"),
        "batch_size": (SEARCH, "--batch-size 0"),
        "work_dir": (SEARCH, "--work-dir elsewhere_search"),
    },
    "reproduce bos": {
        **running(PAPER),
        **dropping(PAPER),
        "batch_size": (PAPER, "--batch-size 0"),
        "table": (PAPER_COST, "--table 4"),
        "figure": (PAPER_COST, "--figure 2"),
        "mode": (PAPER_COST, "--mode released"),
        "data_root": (PAPER_COST, "--data-root papers_elsewhere"),
        "max_images": (PAPER_COST, "--data-root papers --max-images 2"),
        "metaset": (PAPER, "--metaset corrupted.py"),
        "n_sets": (PAPER_COST, "--n-sets 3"),
        "n_images": (PAPER_COST, "--n-images 4"),
        "checkpoints": (PAPER, "--checkpoints weights"),
        "preset": (PAPER, "--preset released"),
        "repeats": (PAPER_COST, "--preset paper --repeats 2"),
        "dropout": (PAPER, "--preset paper --dropout dropout.py"),
        "search": (PAPER_COST, "--search .3"),
        "class_aware": (PAPER, "--preset paper --class-aware"),
        "box_score": (PAPER, "--preset paper --box-score .5"),
        "domain_source": (PAPER, "--preset paper --domain-source kitti"),
        "views": (PAPER, "--preset paper --views"),
        "das": (PAPER, "--preset paper --das"),
        "seed": (PAPER, "--seed 1"),
        "dry_run": (PAPER, "--dry-run"),
        "work_dir": (PAPER, "--work-dir elsewhere_paper"),
        "json": (PAPER, "--json"),
    },
    "study": {
        **dropping(EXAMPLES),
        "study": ("study", "correlation --scores scores"),
        "set": (CORRELATION, "--set target=mAP75"),
        "scores": (CORRELATION, "--scores nowhere"),
        "task": (EXAMPLES, "--task nowhere.py"),
        "data_root": (EXAMPLES, "--task rectangles/task.py --data-root fading/worlds"),
        "metaset": (SIZES, "--metaset corrupted.py"),
        "n_sets": (SIZES, "--n-sets 2"),
        "n_images": (SIZES, "--n-images 2"),
        "seed": (EXAMPLES, "--seed 1"),
        "work_dir": (CORRELATION, "--work-dir elsewhere_study"),
    },
    "demo": {
        # refused here, where nothing is rendered; what they do is seen in `tests/demo/test_demo.py`
        "work_dir": (SAMPLE, "--work-dir elsewhere_sample"),
        "held_back": (SAMPLE, "--held-back fog"),
        "published": (SAMPLE, "--published"),
        "sample": (SAMPLE, "--sample sampled_too"),
    },
    "train-demo-detector": {
        "config": (TRAIN, "--config longer.py"),
        "checkpoint": (REPORT_ONLY, "--checkpoint nowhere.pth"),
        "report": (REPORT_ONLY, "--report elsewhere.md"),
        "report_only": (TRAIN.replace("trained.pth", "kept.pth"), "--report-only"),
        "work_dir": (TRAIN, "--work-dir elsewhere_trained"),
        "images": (REPORT_ONLY, "--images 2"),
        "threads": (TRAIN, "--threads 2"),
    },
}

PUBLISHED_REFUSED = (
    # without a training, what is about it
    (REPORT_ONLY, "--config longer.py"),
    (REPORT_ONLY, "--work-dir elsewhere_trained"),
    # a line is fitted on sample sets
    (FIT, "--n-images 2"),
    # with a saved estimator, what is about a fit
    *((SAVED, option) for option in ("--method ac", "--target mAP50", "--seed 1", "--views")),
    (FIT, "--category car"),
    (CORRELATION, "--task task.py"),
)
