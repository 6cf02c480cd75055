# What Shivapuja et al. (Counting in the 2020s: Binned Representations and Inclusive Performance
# Measures for Deep Crowd Counting Approaches) print in Table II: error of nine networks on five
# data sets; in Tables III to V GAME and two ablations; and the bins that they list
# (binning/README.md of their repository; none of JHU).
_columns = {
    "RS MAE": 1,
    "RS std": 1,
    "RR MAE": 1,
    "RR std": 1,
    "no binning MAE": 1,
    "no binning std": 1,
    "global MAE": 1,
    "global std": 1,
}

table_2 = dict(
    title="Table II: pooled MAE and std on bins, with bin loss (RS, RR) and without; global MAE",
    columns=_columns,
    rows={
        "JHU P2PNet": [204.4, 318.2, 193.2, 327.6, 211.5, 365.7, 211.5, 538.1],
        "JHU FIDTM": [71.2, 208.5, 73.0, 210.1, 89.3, 278.7, 89.3, 323.6],
        "JHU GenLoss": [63.5, 215.7, 61.7, 211.8, 61.4, 217.5, 61.4, 261.1],
        "JHU DM-Count": [72.0, 224.0, 69.6, 213.3, 62.1, 207.4, 62.1, 244.0],
        "JHU BL": [64.3, 213.3, 60.6, 210.7, 63.9, 216.4, 63.9, 262.1],
        "JHU SASNet": [289.9, 117.6, 292.3, 117.6, 294.7, 117.4, 294.7, 716.5],
        "JHU S-DCNet": [90.2, 225.9, 86.7, 227.9, 88.1, 199.5, 88.1, 313.6],
        "JHU SCAR": [78.9, 218.9, 79.1, 225.2, 78.7, 223.4, 78.7, 283.2],
        "JHU SFA-Net": [78.6, 255.4, 82.7, 250.1, 82.5, 234.8, 82.5, 277.1],
        "NWPU P2PNet": [379.0, 131.4, 339.8, 218.2, 366.0, 160.8, 366.0, 955.4],
        "NWPU FIDTM": [72.0, 351.5, 67.4, 390.0, 69.2, 366.4, 69.2, 580.8],
        "NWPU GenLoss": [110.9, 322.8, 107.3, 331.6, 105.2, 291.6, 105.2, 541.7],
        "NWPU DM-Count": [88.1, 236.7, 76.7, 205.0, 77.8, 214.9, 71.7, 376.4],
        "NWPU BL": [112.9, 333.7, 114.8, 320.3, 102.5, 348.2, 102.5, 560.6],
        "NWPU SASNet": [355.1, 116.0, 359.5, 116.0, 341.5, 115.3, 341.5, 954.9],
        "NWPU S-DCNet": [213.4, 231.0, 224.1, 230.1, 210.0, 303.1, 248.7, 1161.9],
        "NWPU SCAR": [112.8, 321.3, 111.9, 325.6, 111.3, 332.1, 111.3, 555.8],
        "NWPU SFA-Net": [136.0, 299.1, 116.4, 285.2, 125.0, 343.0, 163.4, 1072.1],
        "UCF P2PNet": [535.7, 254.5, 579.5, 206.6, 599.3, 264.8, 599.3, 637.0],
        "UCF FIDTM": [109.7, 112.4, 120.4, 150.3, 215.2, 372.4, 215.2, 432.5],
        "UCF GenLoss": [89.5, 115.4, 100.1, 109.0, 95.7, 121.0, 95.7, 152.5],
        "UCF DM-Count": [103.8, 107.5, 97.9, 109.1, 94.5, 111.6, 85.9, 120.6],
        "UCF BL": [91.1, 100.3, 92.1, 105.8, 98.3, 134.2, 87.1, 126.8],
        "UCF SASNet": [663.2, 146.8, 631.9, 145.6, 668.5, 145.8, 668.5, 745.7],
        "UCF S-DCNet": [205.9, 157.8, 199.2, 164.8, 215.2, 190.0, 214.7, 277.7],
        "UCF SCAR": [124.5, 128.6, 122.9, 129.0, 123.4, 146.9, 123.4, 197.1],
        "UCF SFA-Net": [128.6, 133.4, 128.9, 162.9, 128.7, 163.2, 128.7, 199.9],
        "STA P2PNet": [67.0, 65.5, 67.3, 54.4, 63.1, 54.3, 58.3, 76.7],
        "STA FIDTM": [66.3, 76.6, 71.3, 84.9, 68.9, 76.4, 68.9, 96.8],
        "STA GenLoss": [76.5, 73.8, 69.6, 72.2, 68.9, 68.3, 68.9, 93.3],
        "STA DM-Count": [88.6, 64.4, 89.6, 75.9, 93.0, 81.3, 64.1, 78.4],
        "STA BL": [68.6, 69.9, 68.9, 63.3, 68.7, 61.9, 63.5, 74.7],
        "STA SASNet": [365.2, 70.2, 379.9, 68.9, 419.6, 66.1, 419.6, 352.5],
        "STA S-DCNet": [66.6, 72.6, 60.5, 65.5, 61.3, 66.9, 61.3, 88.7],
        "STA SCAR": [83.7, 67.4, 72.9, 61.8, 79.3, 67.4, 79.3, 82.9],
        "STA SFA-Net": [68.4, 65.1, 64.9, 59.5, 63.6, 55.6, 63.6, 92.9],
        "STB P2PNet": [12.0, 12.9, 8.8, 9.0, 7.6, 8.3, 7.6, 10.3],
        "STB FIDTM": [8.7, 8.6, 7.8, 9.3, 9.1, 10.8, 9.5, 14.1],
        "STB GenLoss": [8.2, 9.6, 9.4, 11.9, 8.8, 11.4, 8.8, 13.9],
        "STB DM-Count": [9.1, 9.3, 8.6, 8.6, 8.9, 10.3, 7.3, 9.3],
        "STB BL": [9.6, 9.3, 9.7, 9.3, 10.8, 9.2, 7.5, 9.4],
        "STB SASNet": [66.8, 21.2, 67.2, 21.1, 67.4, 20.6, 67.4, 67.8],
        "STB S-DCNet": [9.2, 9.4, 9.6, 10.5, 7.9, 8.6, 7.8, 11.0],
        "STB SCAR": [9.8, 10.2, 13.8, 11.7, 10.3, 14.0, 10.3, 14.1],
        "STB SFA-Net": [9.0, 7.3, 8.8, 8.0, 7.4, 6.8, 7.4, 9.2],
    },
    # Their last column is of models that others released, not of the run in the column before.
    global_of_others=[
        "NWPU DM-Count",
        "UCF DM-Count",
        "UCF BL",
        "STA P2PNet",
        "STA DM-Count",
        "STA BL",
        "STB DM-Count",
        "STB BL",
    ],
)

table_3 = dict(
    title="Table III: GAME(L) and its std, with bin loss (RS, RR) and without",
    columns={
        f"L={level} {scheme} {measure}": 1
        for level in (1, 2, 3)
        for scheme in ("RS", "RR", "no binning")
        for measure in ("mean", "std")
    },
    rows={
        "JHU GenLoss": [
            *(77.1, 274.7, 76.2, 269.0, 75.8, 271.8),
            *(89.4, 289.7, 87.9, 283.1, 87.6, 285.2),
            *(107.2, 299.9, 105.3, 292.4, 105.0, 294.2),
        ],
        "JHU DM-Count": [
            *(86.9, 292.4, 85.2, 290.2, 80.0, 270.3),
            *(98.0, 305.2, 96.6, 301.8, 91.5, 281.3),
            *(114.8, 313.5, 113.3, 310.6, 108.3, 291.3),
        ],
        "JHU BL": [
            *(78.4, 270.4, 76.7, 265.3, 80.7, 281.7),
            *(91.2, 283.7, 89.3, 279.8, 92.3, 292.1),
            *(110.6, 294.6, 107.9, 289.9, 111.1, 301.9),
        ],
        "NWPU FIDTM": [
            *(80.5, 561.9, 77.3, 580.3, 76.2, 581.2),
            *(88.2, 562.0, 85.6, 581.0, 82.1, 581.7),
            *(101.2, 563.8, 98.6, 583.4, 92.4, 582.9),
        ],
        "NWPU GenLoss": [
            *(117.3, 629.6, 116.3, 623.5, 114.7, 546.1),
            *(128.2, 630.0, 128.2, 633.7, 127.8, 575.8),
            *(149.2, 635.4, 149.7, 644.9, 149.6, 597.2),
        ],
        "NWPU DM-Count": [
            *(94.1, 508.6, 82.9, 437.1, 83.7, 392.2),
            *(102.5, 510.6, 90.8, 439.0, 91.5, 398.2),
            *(116.8, 516.7, 105.1, 445.1, 105.9, 404.4),
        ],
        "UCF FIDTM": [
            *(267.9, 959.9, 145.2, 192.7, 245.1, 433.9),
            *(291.3, 964.6, 170.8, 213.6, 272.4, 445.6),
            *(320.1, 965.2, 203.9, 236.5, 303.4, 455.0),
        ],
        "UCF GenLoss": [
            *(101.1, 145.1, 110.5, 146.5, 106.3, 155.8),
            *(118.5, 151.3, 127.2, 151.1, 124.9, 162.0),
            *(145.4, 167.0, 154.0, 166.5, 153.9, 178.3),
        ],
        "UCF BL": [
            *(105.1, 136.8, 104.5, 140.0, 112.9, 167.8),
            *(124.0, 152.8, 121.5, 144.1, 132.8, 176.6),
            *(152.6, 168.5, 149.7, 157.0, 162.9, 190.4),
        ],
        "STA FIDTM": [
            *(78.5, 104.9, 81.2, 108.7, 82.2, 101.7),
            *(91.0, 104.2, 93.4, 108.8, 97.0, 103.4),
            *(117.1, 111.3, 116.8, 113.8, 123.2, 108.9),
        ],
        "STA GenLoss": [
            *(84.4, 94.7, 78.0, 94.5, 76.7, 93.5),
            *(97.4, 96.3, 91.0, 95.1, 89.6, 94.8),
            *(122.8, 99.9, 118.1, 99.8, 116.1, 97.5),
        ],
        "STA BL": [
            *(77.1, 87.0, 76.2, 92.3, 75.5, 85.2),
            *(91.2, 88.1, 90.5, 93.4, 89.2, 88.7),
            *(121.4, 95.1, 119.7, 98.3, 119.0, 93.8),
        ],
        "STB FIDTM": [
            *(11.6, 12.1, 11.7, 11.9, 12.9, 14.7),
            *(15.9, 13.5, 16.6, 14.1, 16.9, 15.7),
            *(22.5, 16.8, 24.0, 17.0, 24.1, 19.3),
        ],
        "STB GenLoss": [
            *(10.4, 12.5, 11.7, 14.9, 10.7, 14.1),
            *(15.0, 14.1, 16.1, 16.4, 14.8, 14.9),
            *(23.7, 17.8, 24.6, 19.9, 22.8, 18.0),
        ],
        "STB DM-Count": [
            *(11.5, 11.8, 11.1, 11.2, 11.7, 12.9),
            *(15.9, 13.0, 15.4, 12.6, 15.8, 13.7),
            *(23.8, 16.3, 23.0, 16.0, 23.3, 16.6),
        ],
    },
)

# Tables IV and V are of DM-Count on NWPU. `cells` says which column of Table II a cell repeats; all
# other cells need networks trained with other settings, which nobody released.
table_4 = dict(
    title="Table IV: pooled MAE and std of DM-Count on NWPU by the weights of the bin loss",
    columns={f"λ2 = {weight} {m}": 1 for weight in ("0.01", "1") for m in ("MAE", "std")},
    rows={
        "λ1 = 1": [84.1, 183.2, 76.7, 205.0],
        "λ1 = 10": [80.5, 243.7, 79.5, 238.7],
        "λ1 = 100": [80.7, 236.8, 80.4, 252.7],
    },
    repeats="NWPU DM-Count",
    cells={"λ1 = 1": {"λ2 = 1": "RR"}},
    missing="predictions of networks trained with other weights were not released",
)

table_5 = dict(
    title="Table V: pooled MAE and std of DM-Count on NWPU by the likelihood of the binning",
    columns={f"{scheme} {m}": 1 for scheme in ("RS", "RR", "no binning") for m in ("MAE", "std")},
    rows={
        "Poisson": [84.8, 441.2, 89.1, 533.1, 77.8, 380.3],
        "Stratified multinomial": [90.0, 283.5, 90.6, 374.0, 80.7, 290.7],
        "Multinomial": [88.1, 236.7, 76.7, 205.0, 77.8, 214.9],
    },
    repeats="NWPU DM-Count",
    cells={"Multinomial": {"RS": "RS", "RR": "RR", "no binning": "no binning"}},
    missing="predictions of networks trained on bins of the other likelihoods were not released",
)

figure_10 = dict(
    title="Figure 10: TPER of BL on five data sets",
    words="On JHU, NWPU, UCF and STA almost 15 % of the images lie beyond the threshold of 100.",
    models=["BL"],
)

figure_11 = dict(
    title="Figure 11: TPER of nine networks on JHU",
    words="Beyond the threshold of 100 lie over 40 % of the images of SASNet and P2PNet, and less "
    "than 20 % of those of the other networks.",
    datasets=["jhu"],
)

table_bins = dict(
    title="Bins: edges from the counts of training images, gamma 0.6",
    gamma=0.6,
    edges=dict(
        nwpu=[
            0.0,
            0.5,
            2.5,
            5.5,
            10.5,
            18.5,
            31.5,
            53.5,
            90.5,
            152.5,
            256.5,
            429.5,
            717.5,
            1197.5,
            1997.5,
            3330.5,
            5552.5,
            9255.5,
            15426.0,
        ],
        ucf=[
            49.0,
            49.5,
            51.5,
            55.5,
            62.5,
            73.5,
            92.5,
            123.5,
            175.5,
            261.5,
            405.5,
            644.5,
            1043.5,
            1708.5,
            2816.5,
            4662.5,
            7738.5,
            12865.0,
        ],
        sta=[
            33.0,
            33.5,
            35.5,
            38.5,
            43.5,
            51.5,
            64.5,
            85.5,
            120.5,
            178.5,
            275.5,
            436.5,
            704.5,
            1151.5,
            1897.5,
            3139.0,
        ],
        stb=[13.0, 13.5, 15.5, 19.5, 25.5, 36.5, 54.5, 83.5, 132.5, 214.5, 351.5, 578.0],
    ),
)

downloads = dict(
    predictions="https://github.com/atmacvit/bincrowd (evaluation/BL_txt: BL without binning; "
    "evaluation/nwpu_*.txt: DM-Count; its evaluation/README.md links a folder with others)",
    counts="https://github.com/atmacvit/bincrowd (binning/dataset_txt: Train_*.txt)",
)
