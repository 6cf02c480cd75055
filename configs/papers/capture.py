# What Pothiraj et al. 2025 (CAPTURe: Evaluating Spatial Reasoning in Vision Language Models via
# Occluded Object Counting, arXiv 2504.15485) print: Table 1 of the data, Tables 2 to 7 of the
# models, sMAPE in % (Table 4: accuracy in %), and figures 3 and 4. Of tables of models, `tasks`
# gives split and task of each measured column, `differences` the two columns that a Δ compares, and
# `average` the row that is the mean of the rows `averaged`.
_models = ["GPT-4o", "InternVL2", "Molmo", "Qwen2VL"]
_average = "Avg. of 4 VLMs"


# Items of each split that are measured: 100 of each are set aside for validation.
_measured = dict(real=824, synthetic=1150)


def _rows(*rows, names=(*_models, _average)):
    return dict(zip(names, map(list, rows), strict=True))


table_1 = dict(
    title="Table 1: statistics of the splits; images of FSC-147's test split (section 4.1)",
    columns=dict(real=2, synthetic=2),
    decimals={"images": 0, "object types": 0, "images of FSC-147's test split": 0},
    rows={
        "images": [924, 1250],
        "object types": [92, 2],
        "occluded objects, mean": [13.97, 2.73],
        "objects, mean": [61.45, 10.00],
        "images of FSC-147's test split": [149, None],
    },
)

table_2 = dict(
    title="Table 2: sMAPE in %, original and occluded images",
    measured=_measured,
    columns=[f"{s}, {v}" for s in _measured for v in ("original", "occluded", "Δ")],
    tasks={
        "real, original": ["real", "total-original"],
        "real, occluded": ["real", "total-occluded"],
        "synthetic, original": ["synthetic", "total-original"],
        "synthetic, occluded": ["synthetic", "total-occluded"],
    },
    differences={f"{s}, Δ": [f"{s}, occluded", f"{s}, original"] for s in _measured},
    average=_average,
    averaged=_models,
    rows=_rows(
        (13.34, 14.75, 1.41, 5.90, 9.71, 3.81),
        (26.17, 32.90, 6.73, 16.44, 17.57, 1.13),
        (25.90, 32.49, 6.59, 8.40, 17.73, 9.33),
        (18.96, 29.33, 10.37, 6.63, 11.74, 5.11),
        (21.09, 27.37, 6.28, 9.34, 14.19, 4.85),
    ),
)

table_3 = dict(
    title="Table 3: sMAPE in % on 100 occluded items of each split, which are not named",
    measured=dict(real=100, synthetic=100),
    columns=["real, occluded", "synthetic, occluded"],
    tasks={
        "real, occluded": ["real", "total-occluded"],
        "synthetic, occluded": ["synthetic", "total-occluded"],
    },
    average=_average,
    averaged=_models,
    rows=_rows(
        (3.79, 0.92),
        (14.09, 8.40),
        (29.74, 24.98),
        (33.68, 17.24),
        (29.80, 9.39),
        (26.83, 15.00),
        names=["Human", *_models, _average],
    ),
)

table_4 = dict(
    title="Table 4: accuracy in % of naming the pattern, synthetic split",
    measured=_measured,
    columns=["original", "occluded", "Δ"],
    tasks={
        "original": ["synthetic", "pattern-original"],
        "occluded": ["synthetic", "pattern-occluded"],
    },
    differences={"Δ": ["occluded", "original"]},
    average=_average,
    averaged=_models,
    rows=_rows(
        (84.00, 78.52, -5.48),
        (68.52, 47.48, -21.04),
        (80.70, 65.22, -15.48),
        (88.35, 86.43, -1.92),
        (80.39, 69.41, -10.98),
    ),
)

_auxiliary = ("all coordinates", "visible coordinates", "inpainting")
table_5 = dict(
    title="Table 5: sMAPE in % with auxiliary information, real split; Δ to occluded",
    measured=_measured,
    columns=["original", "occluded", *[f"{a}{d}" for a in _auxiliary for d in ("", ", Δ")]],
    tasks={
        "original": ["real", "total-original"],
        "occluded": ["real", "total-occluded"],
        "all coordinates": ["real", "oracle-all"],
        "visible coordinates": ["real", "oracle-visible"],
        "inpainting": ["real", "inpainted"],
    },
    differences={f"{a}, Δ": [a, "occluded"] for a in _auxiliary},
    average="Avg. of 3 VLMs",
    averaged=["GPT-4o", "InternVL2", "Qwen2VL"],
    rows=_rows(
        (13.34, 14.75, 2.93, -11.82, 9.20, -5.55, 15.89, 1.14),
        (26.17, 32.90, 17.48, -15.42, 25.13, -7.77, 31.12, -1.78),
        (18.96, 29.33, 9.62, -19.71, 17.70, -11.63, 22.64, -6.69),
        (19.49, 25.66, 10.01, -15.65, 17.34, -8.32, 23.22, -2.44),
        names=["GPT-4o", "InternVL2", "Qwen2VL", "Avg. of 3 VLMs"],
    ),
)

# The third entry of a task says that the answers were asked for with a back-off.
_conditions = [f"{split}, {v}" for split in _measured for v in ("occluded", "original")]
table_6 = dict(
    title="Table 6: sMAPE in % without and with a back-off of the temperature",
    measured=_measured,
    columns=[f"{c}{d}" for c in _conditions for d in ("", ", back-off", ", Δ")],
    tasks={
        f"{split}, {v}{', back-off' * backoff}": [split, f"total-{v}", *["back-off"] * backoff]
        for split in _measured
        for v in ("occluded", "original")
        for backoff in (0, 1)
    },
    differences={f"{c}, Δ": [f"{c}, back-off", c] for c in _conditions},
    average=_average,
    averaged=_models,
    rows=_rows(
        (14.75, 14.39, -0.36, 13.34, 12.57, -0.77, 9.71, 9.23, -0.48, 5.90, 5.93, 0.03),
        (32.90, 32.37, -0.53, 26.17, 27.09, 0.92, 17.57, 16.24, -1.33, 16.44, 15.59, -0.85),
        (32.49, 28.17, -4.32, 25.90, 21.23, -4.67, 17.73, 15.85, -1.88, 8.40, 2.88, -5.52),
        (29.33, 28.47, -0.86, 18.96, 19.40, 0.44, 11.74, 11.51, -0.23, 6.63, 6.66, 0.03),
        (27.37, 25.85, -1.52, 21.09, 20.07, -1.02, 14.19, 13.21, -0.98, 9.34, 7.76, -1.58),
    ),
)

table_7 = dict(
    title="Table 7: sMAPE in % of counting the occluded objects only, real split",
    measured=_measured,
    columns=["occluded only"],
    tasks={"occluded only": ["real", "occluded-only"]},
    average=_average,
    averaged=_models,
    rows=_rows((26.13,), (75.82,), (96.79,), (32.89,), (57.91,)),
)

figure_3 = dict(
    title="Figure 3: objects in the images of the real split",
    words="Most images have between 0 and 30 objects.",
    split="real",
    value="objects",
    usual=[0, 30],
    step=10,
    last=100,
)

figure_4 = dict(
    title="Figure 4: occluded objects in the images of the synthetic split",
    words="Images generally have 1 to 6 occluded objects; no image has more than 15 objects.",
    split="synthetic",
    value="occluded objects",
    usual=[1, 6],
    step=1,
    last=15,
)

downloads = dict(
    data="https://github.com/atinpothiraj/CAPTURe (real_metadata.json, "
    "real_validation_metadata.json, synthetic_metadata.json), and annotation_FSC147_384.json with "
    "Train_Test_Val_FSC_147.json from https://github.com/cvlab-stonybrook/LearningToCountEverything",
    predictions="models: their answers are not released. Ask with autoeval count capture run, or "
    "with the scripts of https://github.com/atinpothiraj/CAPTURe",
)
