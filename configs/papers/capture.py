# What Pothiraj et al. 2025 (CAPTURe: Evaluating Spatial Reasoning in Vision Language Models via
# Occluded Object Counting, arXiv 2504.15485) print: Table 1 of the data, Tables 2 to 5 and 7 of the
# models, sMAPE in % (Table 4: accuracy in %). Of tables of models, `tasks` gives split and task of
# each column.
_models = ["GPT-4o", "InternVL2", "Molmo", "Qwen2VL"]


# Items of each split that are measured: 100 of each are set aside for validation.
_measured = dict(real=824, synthetic=1150)


def _rows(*rows, names=_models):
    return dict(zip(names, map(list, rows), strict=True))


table_1 = dict(
    title="Table 1: statistics of the splits",
    columns=dict(real=2, synthetic=2),
    decimals={"images": 0, "object types": 0},
    rows={
        "images": [924, 1250],
        "object types": [92, 2],
        "occluded objects, mean": [13.97, 2.73],
        "objects, mean": [61.45, 10.00],
    },
)

table_2 = dict(
    title="Table 2: sMAPE in %, original and occluded images",
    measured=_measured,
    tasks={
        "real, original": ["real", "total-original"],
        "real, occluded": ["real", "total-occluded"],
        "synthetic, original": ["synthetic", "total-original"],
        "synthetic, occluded": ["synthetic", "total-occluded"],
    },
    rows=_rows(
        (13.34, 14.75, 5.90, 9.71),
        (26.17, 32.90, 16.44, 17.57),
        (25.90, 32.49, 8.40, 17.73),
        (18.96, 29.33, 6.63, 11.74),
    ),
)

table_3 = dict(
    title="Table 3: sMAPE in % on 100 occluded items of each split, which are not named",
    measured=dict(real=100, synthetic=100),
    tasks={
        "real, occluded": ["real", "total-occluded"],
        "synthetic, occluded": ["synthetic", "total-occluded"],
    },
    rows=_rows(
        (3.79, 0.92),
        (14.09, 8.40),
        (29.74, 24.98),
        (33.68, 17.24),
        (29.80, 9.39),
        names=["Human", *_models],
    ),
)

table_4 = dict(
    title="Table 4: accuracy in % of naming the pattern, synthetic split",
    measured=_measured,
    tasks={
        "original": ["synthetic", "pattern-original"],
        "occluded": ["synthetic", "pattern-occluded"],
    },
    rows=_rows((84.00, 78.52), (68.52, 47.48), (80.70, 65.22), (88.35, 86.43)),
)

table_5 = dict(
    title="Table 5: sMAPE in % with auxiliary information, real split",
    measured=_measured,
    tasks={
        "original": ["real", "total-original"],
        "occluded": ["real", "total-occluded"],
        "all coordinates": ["real", "oracle-all"],
        "visible coordinates": ["real", "oracle-visible"],
        "inpainting": ["real", "inpainted"],
    },
    rows=_rows(
        (13.34, 14.75, 2.93, 9.20, 15.89),
        (26.17, 32.90, 17.48, 25.13, 31.12),
        (18.96, 29.33, 9.62, 17.70, 22.64),
        names=["GPT-4o", "InternVL2", "Qwen2VL"],
    ),
)

table_7 = dict(
    title="Table 7: sMAPE in % of counting the occluded objects only, real split",
    measured=_measured,
    tasks={"occluded only": ["real", "occluded-only"]},
    rows=_rows((26.13,), (75.82,), (96.79,), (32.89,)),
)
downloads = dict(
    data="https://github.com/atinpothiraj/CAPTURe (real_metadata.json, "
    "real_validation_metadata.json, synthetic_metadata.json)",
    predictions="models: their answers are not released. Ask with autoeval count capture run, or "
    "with the scripts of https://github.com/atinpothiraj/CAPTURe",
)
