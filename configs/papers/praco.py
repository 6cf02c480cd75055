# What Ciampi et al. 2024 (Mind the Prompt: A Novel Benchmark for Prompt-based Class-Agnostic
# Counting, arXiv 2409.15953) print in tables 1 to 3, and the classes of figure 6.
_measures = dict(NMN=2, PCCN=2, CntP=3, CntR=3, CntF1=3, MAE=2, RMSE=2)

table_1 = dict(
    title="Table 1: FSC-147, test",
    split="test",
    images=1175,
    columns=_measures,
    rows={
        "CounTX": [0.95, 64.51, 0.686, 0.712, 0.630, 15.92, 106.89],
        "CLIP-Count": [1.27, 38.13, 0.495, 0.761, 0.554, 17.59, 109.97],
        "VLCounter": [1.15, 53.36, 0.517, 0.781, 0.577, 17.02, 106.93],
        "TFPOC": [0.75, 66.04, 0.687, 0.848, 0.696, 24.79, 138.11],
        "DAVE": [0.08, 97.62, 0.843, 0.799, 0.790, 15.23, 103.53],
    },
)

table_2 = dict(
    title="Table 2: FSC-147, validation",
    split="val",
    images=1268,
    columns=_measures,
    rows={
        "CounTX": [0.87, 69.79, 0.664, 0.658, 0.579, 17.27, 66.37],
        "CLIP-Count": [1.24, 48.11, 0.488, 0.702, 0.522, 18.90, 66.75],
        "VLCounter": [1.07, 62.70, 0.520, 0.741, 0.561, 18.09, 65.59],
        "TFPOC": [0.67, 62.62, 0.723, 0.757, 0.656, 32.84, 110.60],
        "DAVE": [0.13, 95.90, 0.819, 0.751, 0.757, 16.58, 54.73],
    },
)

# Rows by the name of the folder that holds DAVE's files, as in the authors' benchmark_results.
table_3 = dict(
    title="Table 3: DAVE on FSC-147, test, by clustering threshold and inference",
    split="test",
    images=1175,
    columns=_measures,
    rows={
        "DAVE_thr_0.17": [1.05, 37.02, 0.686, 0.811, 0.700, 15.16, 103.49],
        "DAVE_thr_0.10": [1.05, 37.02, 0.743, 0.805, 0.732, 15.16, 103.49],
        "DAVE_mod_thr_0.17": [0.08, 97.45, 0.831, 0.803, 0.784, 15.11, 103.48],
        "DAVE_mod_thr_0.10": [0.08, 97.62, 0.843, 0.799, 0.790, 15.23, 103.53],
    },
    by_folder="DAVE",
)

figure_4 = dict(
    title="Figure 4: drift of the count of the upper image in a mosaic, FSC-147, test",
    split="test",
    words="TFPOC and DAVE have a lower mean than the others, and many outliers.",
)

figure_6 = dict(
    title="Figure 6: counts of eight negative classes, FSC-147, test",
    split="test",
    words="All models but DAVE count the negative classes, often as many objects as there are of "
    "the positive class or more; DAVE consistently counts none.",
    classes=[
        "eggs",
        "elephants",
        "keyboard keys",
        "sunglasses",
        "sea shells",
        "sauce bottles",
        "skis",
        "potato chips",
    ],
)

downloads = dict(
    data="https://github.com/cvlab-stonybrook/LearningToCountEverything (FSC-147: annotations, "
    "splits, class file; the images only to ask a counter), and Split_Classes_FSC147.json with the "
    "list of images of several classes from https://github.com/ciampluca/PrACo",
    predictions="https://github.com/ciampluca/PrACo: its main.py writes the files of each model "
    "(Inference_Test1_MODEL_SPLIT.csv and two of mosaics), and so does autoeval count praco",
)
