"""Calls for the options of the commands that count; see `option_outcomes`."""

RUN = "count run --images counting/fsc/images_384_VarV2 --counter counting"
RUN_DOTS = f"{RUN}/dots.py"
RUN_SPEAKER = f"{RUN}/speaker.py --limit 1"
PRACO = "count praco --data counting/fsc --n-resamples 20"
PRACO_DOTS = f"{PRACO} --counter counting/dots.py"
PRACO_SPEAKER = f"{PRACO} --counter counting/speaker.py --limit 1"
PRACO_FILES = f"{PRACO} --predictions counting/files"
TASKS = "count praco export --data counting/fsc"
REAL = "--images counting/fsc/images_384_VarV2 --metadata counting/capture_root/real_metadata.json"
BUILD = f"count capture build-real counting/built {REAL}"
ASK = "count capture run counting/split --counter counting"
ASK_SPEAKER = f"{ASK}/speaker.py"
REPORT = "count capture report counting/split"
LIST = "counting/capture_answers/occ_results/gpt_real_results.json"
EXPORT = "count capture export counting/split counting/exported"
BINNED = "reproduce binned --predictions counting/binned --data-root counting/binned"
CAPTURE = (
    "reproduce capture --data-root counting/capture_root --predictions counting/capture_answers"
)
OWN_PRACO = "reproduce praco --data-root counting/fsc --predictions counting/files"

COUNTED = "roadworld_nano@0.1/predictions.csv"
EVALUATE = f"count evaluate {COUNTED} --truth overpass.csv --bins bins.json --n-resamples 20"
EVALUATE_NAMED = EVALUATE.replace("bins.json", "named_bins.json")
EVALUATE_POINTS = "count evaluate points.json --truth points_truth.json --bins bins.json"
EVALUATE_SIZED = "count evaluate sized_points.json --truth sized_truth.json --bins bins.json"
PATTERNS = "--counts 5 --size 64 --patterns rectangle"
GENERATE = f"count capture generate capture {PATTERNS}"


def counters(base, folder="counting"):
    return {
        "counter": (base, f"--counter {folder}/batches.py"),
        "cfg_options": (base, "--cfg-options counter.name=renamed"),
    }


def data(base):
    """What is about a data set, which a command of PrACo reads."""
    elsewhere = base.replace("--data counting/fsc", "--data counting/parts.py")
    return {
        "data": (base, "--data counting/annotations.json"),
        "data_root": (elsewhere, "--data-root nowhere"),
        "split": (base, "--split val"),
        "exclude": (base, "--exclude counting/left_out.txt"),
    }


COUNTING_CASES = {
    "count evaluate": {
        "predictions": (EVALUATE, "roadworld_nano@0.3/predictions.csv"),
        "truth": (EVALUATE, "--truth nowhere.csv"),
        "bins": (EVALUATE, "--bins nwpu"),
        "bins_name": (f"{EVALUATE_NAMED} --bins-name few", "--bins-name more"),
        "bins_name without bins": (f"count evaluate {COUNTED}", "--bins-name few"),
        "fit_bins": (f"count evaluate {COUNTED} --truth overpass.csv", "--fit-bins overpass.csv"),
        "binning": (
            f"count evaluate {COUNTED} --truth overpass.csv --fit-bins overpass.csv",
            "--binning blocks",
        ),
        "gamma": (
            f"count evaluate {COUNTED} --truth overpass.csv --fit-bins overpass.csv",
            "--binning released --gamma .1",
        ),
        "mode": (EVALUATE, "--mode released"),
        "category": (EVALUATE, "--category car"),
        "images": (EVALUATE_POINTS, "--images nowhere"),
        "rescale": (EVALUATE_SIZED, "--rescale"),
        "match_distance": (EVALUATE_POINTS, "--match-distance 2"),
        "separate": (f"{EVALUATE} roadworld_nano@0.3/predictions.csv", "--separate"),
        "n_resamples": (f"{EVALUATE} --json", "--n-resamples 30"),
        "seed": (f"{EVALUATE} --json", "--seed 1"),
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
        "out": (
            "count capture generate --counts 6 --size 64 --patterns rectangle",
            "capture_elsewhere",
        ),
        "seed": (GENERATE, "--seed 1"),
        "patterns": (GENERATE, "--patterns nowhere"),
        "counts": (GENERATE, "--counts 6"),
        "size": (GENERATE, "--size 96"),
        "fit_canvas": (GENERATE, "--fit-canvas"),
        "box_anywhere": (GENERATE, "--box-anywhere"),
    },
    "count run": {
        **counters(RUN_DOTS),
        "images": (RUN_DOTS, "--images docs"),
        "every": (RUN_DOTS, "--every 2"),
        "prompt": (RUN_DOTS, "--prompt blue"),
        "limit": (RUN_DOTS, "--limit 2"),
        "workers": (f"{RUN}/meeting.py", "--workers 2"),
        "batch_size": (f"{RUN}/batches.py", "--batch-size 3"),
        "backoff": (RUN_SPEAKER, "--backoff"),
        "backoff of one that does not speak": (RUN_DOTS, "--backoff"),
        "extractor": (RUN_SPEAKER, "--extractor counting/reader.py"),
        "extractor of one that does not speak": (RUN_DOTS, "--extractor counting/reader.py"),
        "work_dir": (RUN_DOTS, "--work-dir counting/elsewhere_run"),
    },
    "count praco": {
        **counters(PRACO_DOTS),
        **data(PRACO_FILES),
        "data": (PRACO_DOTS, "--data counting/annotations.json"),
        "predictions": (PRACO_FILES, "--predictions counting/other_files"),
        "prompt": (PRACO_DOTS, "--prompt 'red or {}'"),
        "reference_class": (PRACO_DOTS, "--reference-class"),
        "mode": (PRACO_FILES, "--mode released"),
        "pairs": (PRACO_DOTS, "--pairs none"),
        "n_negatives": (PRACO_DOTS, "--n-negatives 2"),
        "layout": (PRACO_DOTS, "--layout paper"),
        "seed": (PRACO_DOTS, "--seed 1"),
        "multi_class": (PRACO_DOTS, "--multi-class"),
        "grid": (f"{PRACO_DOTS} --cfg-options counter.shift=12", "--grid 1"),
        "n_resamples": (PRACO_FILES, "--n-resamples 30"),
        "work_dir": (PRACO_FILES, "--work-dir counting/elsewhere_praco"),
        "limit": (PRACO_FILES, "--limit 3"),
        "workers": (f"{PRACO} --counter counting/meeting.py", "--workers 2"),
        "batch_size": (f"{PRACO} --counter counting/batches.py", "--batch-size 3"),
        "backoff": (PRACO_SPEAKER, "--backoff"),
        "backoff of one that does not speak": (PRACO_DOTS, "--backoff"),
        "extractor": (PRACO_SPEAKER, "--extractor counting/reader.py"),
        "extractor of one that does not speak": (PRACO_DOTS, "--extractor counting/reader.py"),
    },
    "count praco export": {
        **data(TASKS),
        "work_dir": (TASKS, "--work-dir counting/elsewhere_tasks"),
        "question": (TASKS, "--question 'Count the {}.'"),
        "limit": (TASKS, "--limit 2"),
        "max_tokens": (TASKS, "--max-tokens 9"),
    },
    "count capture run": {
        **counters(f"{ASK}/dots.py"),
        "split": ("count capture run --counter counting/dots.py", "counting/split"),
        "task": (ASK_SPEAKER, "--task total-original"),
        "work_dir": (ASK_SPEAKER, "--work-dir counting/elsewhere_capture"),
        "prompts": (ASK_SPEAKER, "--prompts nowhere.py"),
        "prompts_of": (ASK_SPEAKER, "--prompts-of molmo"),
        "backoff": (ASK_SPEAKER, "--backoff"),
        "limit": (ASK_SPEAKER, "--limit 1"),
        "workers": (f"{ASK}/meeting.py", "--workers 2"),
        "found": (f"{ASK_SPEAKER} --task hybrid", "--found nowhere.json"),
        "inpainter": (f"{ASK_SPEAKER} --task inpainted", "--inpainter telea"),
        "extractor": (f"{ASK}/speaker.py", "--extractor counting/reader.py"),
    },
    "count capture report": {
        "split": ("count capture report", f"counting/split {LIST}"),
        "answers": (REPORT, LIST),
        "task": (f"{REPORT} {LIST}", "--task total-original"),
        "work_dir": (f"{REPORT} {LIST}", "--work-dir counting/elsewhere_report"),
    },
    "count capture build-real": {
        "out": (f"count capture build-real {REAL}", "counting/built_elsewhere"),
        "images": (BUILD, "--images nowhere"),
        "metadata": (BUILD, "--metadata nowhere.json"),
        "classes": (BUILD, "--classes counting/fsc/ImageClasses_FSC147.txt"),
        "annotations": (BUILD, "--annotations counting/fsc/annotation_FSC147_384.json"),
    },
    "count capture export": {
        "split": ("count capture export counting/exported", "counting/exported"),
        "out": ("count capture export counting/split", "counting/exported_elsewhere"),
        "task": (EXPORT, "--task total-original"),
        "prompts": (EXPORT, "--prompts nowhere.py"),
        "prompts_of": (EXPORT, "--prompts-of molmo"),
        "max_tokens": (EXPORT, "--max-tokens 9"),
    },
    "reproduce binned": {
        "table": (BINNED, "--table 2"),
        "figure": (BINNED, "--figure 10"),
        "data_root": (f"{BINNED} --table bins", "--data-root docs"),
        "predictions": (f"{BINNED} --table 2", "--predictions counting/golden"),
        "mode": (f"{BINNED} --table 2", "--mode released"),
        "work_dir": (f"{BINNED} --table 2", "--work-dir counting/elsewhere_binned"),
        "json": (f"{BINNED} --table 2", "--json"),
    },
    "reproduce capture": {
        "table": (CAPTURE, "--table 1"),
        "figure": (CAPTURE, "--figure 3"),
        "data_root": (f"{CAPTURE} --table 1", "--data-root docs"),
        "predictions": (f"{CAPTURE} --table 2", "--predictions counting/other_answers"),
        "work_dir": (f"{CAPTURE} --table 1", "--work-dir counting/elsewhere_of_capture"),
        "json": (f"{CAPTURE} --table 1", "--json"),
    },
    "reproduce praco": {
        "table": (OWN_PRACO, "--table 1"),
        "figure": (OWN_PRACO, "--figure 6"),
        "data_root": (f"{OWN_PRACO} --table 1", "--data-root docs"),
        "exclude": (f"{OWN_PRACO} --table 1", "--exclude counting/left_out.txt"),
        "predictions": (f"{OWN_PRACO} --table 1", "--predictions counting/other_files"),
        "mode": (f"{OWN_PRACO} --table 1", "--mode released"),
        "work_dir": (f"{OWN_PRACO} --table 1", "--work-dir counting/elsewhere_of_praco"),
        "json": (f"{OWN_PRACO} --table 1", "--json"),
    },
}

COUNTING_REFUSED = (
    # of predictions that were made elsewhere, what is about asking a counter
    *(
        (PRACO_FILES, option)
        for option in (
            "--cfg-options counter.name=x",
            "--prompt 'the {}'",
            "--reference-class",
            "--pairs none",
            "--seed 1",
            "--grid 1",
            "--workers 2",
            "--batch-size 3",
        )
    ),
    # of bins that are given, counts without places, and one file
    (EVALUATE, "--gamma .1"),
    (EVALUATE, "--binning paper"),
    (EVALUATE, "--fit-bins overpass.csv"),
    (EVALUATE, "--images docs"),
    (EVALUATE, "--match-distance 2"),
    (EVALUATE, "--rescale"),
    (EVALUATE, "--separate"),
    # of pairs that are not drawn
    (f"{PRACO_DOTS} --pairs all", "--seed 1"),
    (f"{PRACO_DOTS} --pairs all", "--n-negatives 2"),
    (f"{PRACO_DOTS} --pairs none", "--layout paper"),
    (f"{PRACO_DOTS} --multi-class", "--pairs none"),
    # of another kind of data set
    (PRACO_DOTS.replace("counting/fsc", "counting/annotations.json"), "--split val"),
    (PRACO_DOTS, "--data-root counting"),
    # of counters that answer no questions, and tasks without inpainting
    (f"{ASK}/dots.py", "--backoff"),
    (f"{ASK}/dots.py", "--extractor counting/reader.py"),
    (f"{ASK}/dots.py", "--prompts-of molmo"),
    (ASK_SPEAKER, "--inpainter telea"),
    # of answers that say what they answer
    (f"{REPORT} counting/answers.jsonl", "--task total-original"),
)
