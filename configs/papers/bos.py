# What Yang et al. 2024 (Bounding Box Stability against Feature Dropout Reflects Detector
# Generalization across Environments, ICLR) print in tables 1 to 4: for each column the mAP of the
# detector there, and for each method the absolute error of its estimate ("RMSE"), in points, and
# its ± over ten dropout runs. The last column is the average as printed; the printed average of the
# ± is the mean of the columns' ±.
_methods = ["ps", "es", "ac", "atc", "fd", "bos", "bos_ps"]
_with_dropout = ["bos", "bos_ps"]


def _errors(*rows, names=None):
    return {name: list(row) for name, row in zip(names or _methods, rows, strict=True)}


table_1 = dict(
    title="Table 1: vehicles, RetinaNet-R50 trained on COCO",
    task="paper_vehicle",
    columns=[
        dict(label="COCO", source="coco", true=34.2),
        dict(label="BDD", source="bdd", true=31.5),
        dict(label="Cityscapes", source="cityscapes", true=40.2),
        dict(label="DETRAC", source="detrac", true=41.1),
        dict(label="ExDark", source="exdark", true=28.0),
        dict(label="KITTI", source="kitti", true=41.2),
        dict(label="Self-driving", source="self_driving", true=30.5),
        dict(label="Roboflow", source="roboflow", true=32.8),
        dict(label="Udacity", source="udacity", true=30.9),
        dict(label="Traffic", source="traffic", true=25.2),
        dict(label="average"),
    ],
    errors=_errors(
        (8.14, 3.22, 5.50, 15.83, 0.81, 11.80, 1.26, 2.48, 1.54, 1.99, 5.26),
        (7.06, 1.37, 8.40, 16.20, 0.14, 13.08, 0.93, 3.14, 1.23, 3.60, 5.52),
        (6.67, 3.32, 9.60, 30.95, 1.26, 13.93, 2.31, 1.77, 2.92, 3.30, 7.60),
        (10.35, 3.20, 5.83, 8.21, 1.44, 6.34, 0.91, 5.13, 1.94, 1.23, 4.46),
        (9.17, 2.78, 13.03, 12.29, 5.94, 14.80, 2.22, 4.48, 1.32, 4.14, 7.02),
        (1.26, 1.90, 0.89, 1.84, 1.47, 4.38, 1.92, 4.79, 1.61, 2.43, 2.25),
        (2.11, 2.03, 1.13, 0.04, 1.42, 5.56, 1.71, 4.69, 1.42, 2.24, 2.24),
    ),
    deviations=_errors(
        (0.32, 0.06, 0.28, 0.05, 0.19, 0.07, 0.09, 0.10, 0.06, 0.09, 0.13),
        (0.29, 0.06, 0.26, 0.02, 0.18, 0.06, 0.08, 0.10, 0.05, 0.09, 0.12),
        names=_with_dropout,
    ),
)

# "AC or ATC" is one row in print.
_person_methods = ["ps", "es", "ac", "fd", "bos", "bos_ps"]

table_2 = dict(
    title="Table 2: pedestrians, RetinaNet-R50 trained on CrowdHuman",
    task="paper_person",
    detector="crowdhuman",
    columns=[
        dict(label="COCO", source="coco", true=26.7),
        dict(label="Caltech", source="caltech", true=16.2),
        dict(label="CrowdHuman", source="crowdhuman", true=33.5),
        dict(label="Cityscapes", source="cityscapes", true=19.0),
        dict(label="Self-driving", source="self_driving", true=16.4),
        dict(label="ExDark", source="exdark", true=21.6),
        dict(label="EuroCity", source="eurocity", true=16.8),
        dict(label="KITTI", source="kitti", true=13.3),
        dict(label="CityPersons", source="citypersons", true=11.8),
        dict(label="average"),
    ],
    errors=_errors(
        (8.49, 3.68, 6.55, 0.76, 3.20, 5.58, 0.86, 0.99, 6.28, 4.04),
        (5.91, 1.02, 9.44, 1.06, 1.63, 3.64, 0.13, 2.23, 5.71, 3.42),
        (5.25, 1.38, 17.25, 0.79, 1.33, 3.18, 0.39, 1.69, 5.99, 4.13),
        (3.88, 3.62, 3.29, 5.19, 3.41, 3.37, 3.93, 2.98, 4.21, 3.76),
        (2.26, 2.53, 6.39, 0.18, 4.42, 0.74, 1.72, 5.16, 6.26, 3.29),
        (7.04, 2.18, 4.63, 0.43, 3.29, 0.58, 2.33, 3.99, 6.88, 3.48),
        names=_person_methods,
    ),
    deviations=_errors(
        (0.05, 0.07, 0.02, 0.11, 0.06, 0.07, 0.04, 0.08, 0.15, 0.07),
        (0.05, 0.07, 0.02, 0.11, 0.06, 0.07, 0.04, 0.08, 0.15, 0.07),
        names=_with_dropout,
    ),
)

table_3 = dict(
    title="Table 3: persons and cars, RetinaNet-R50 trained on COCO",
    task="paper_two",
    true_decimals=2,
    columns=[
        dict(label="COCO person", source="coco", category="person", true=43.08),
        dict(label="COCO car", source="coco", category="car", true=33.98),
        dict(label="Cityscapes person", source="cityscapes", category="person", true=23.88),
        dict(label="Cityscapes car", source="cityscapes", category="car", true=39.66),
        dict(label="ExDark person", source="exdark", category="person", true=23.94),
        dict(label="ExDark car", source="exdark", category="car", true=28.05),
        dict(label="KITTI person", source="kitti", category="person", true=11.85),
        dict(label="KITTI car", source="kitti", category="car", true=43.66),
        dict(label="Self-driving person", source="self_driving", category="person", true=14.68),
        dict(label="Self-driving car", source="self_driving", category="car", true=31.66),
        dict(label="average"),
    ],
    errors=_errors(
        (5.33, 2.55, 1.49, 1.07, 6.49, 3.92, 2.26, 17.47, 5.94, 0.37, 4.69),
        (15.15, 2.21, 2.35, 1.21, 0.11, 2.47, 4.71, 16.74, 1.69, 0.04, 4.67),
        (11.58, 3.74, 1.86, 1.68, 3.70, 3.46, 3.20, 16.72, 3.97, 1.38, 5.13),
        (10.50, 3.79, 1.93, 0.90, 5.71, 2.84, 3.35, 13.55, 6.79, 2.91, 5.23),
        (5.30, 1.75, 1.45, 7.72, 1.88, 1.65, 4.55, 12.53, 2.68, 3.41, 4.29),
        (11.16, 2.57, 2.04, 5.46, 7.09, 1.13, 2.88, 10.53, 2.26, 3.91, 4.90),
        names=_person_methods,
    ),
    deviations=_errors(
        (0.58, 0.80, 0.90, 0.51, 1.33, 0.72, 0.53, 0.67, 0.61, 0.38, 0.70),
        (0.34, 0.90, 0.71, 0.53, 1.44, 0.68, 0.20, 0.73, 0.47, 0.57, 0.66),
        names=_with_dropout,
    ),
)

table_4 = dict(
    title="Table 4: vehicles, other detectors, and other targets; averages over the ten sets",
    task="paper_vehicle",
    columns=[
        dict(label="RetinaNet Swin-T", detector="retinanet_swin_t"),
        dict(label="RetinaNet R50", detector="retinanet_r50"),
        dict(label="Faster R-CNN Swin-T", detector="faster_rcnn_swin_t"),
        dict(label="Faster R-CNN R50", detector="faster_rcnn_r50"),
        dict(label="mAP", target="mAP"),
        dict(label="mAP50", target="mAP50"),
        dict(label="mAP75", target="mAP75"),
    ],
    errors=_errors(
        (5.71, 5.26, 5.34, 5.21, 5.26, 10.13, 5.36),
        # ES of RetinaNet R50 is 6.26 and 6.25 here, 5.52 in table 1.
        (5.26, 6.26, 6.63, 5.84, 6.25, 10.33, 6.01),
        (6.27, 7.60, 5.61, 5.02, 7.60, 12.86, 7.89),
        (3.44, 4.46, 5.36, 5.85, 4.46, 6.36, 6.92),
        (8.70, 7.02, 8.54, 7.44, 7.02, 10.87, 8.84),
        (4.69, 2.25, 4.83, 3.79, 2.25, 4.84, 3.47),
        names=_methods[:6],
    ),
    deviations=_errors((0.15, 0.13, 0.28, 0.12, 0.13, 0.18, 0.15), names=["bos"]),
)

# What the paper states about its figures, in numbers (`stated`: which row and column of our own
# study has the same) and in words.
_mAPs = ["mAP", "mAP50", "mAP75"]

figure_2 = dict(
    title="Figure 2: scores against mAP, vehicles, RetinaNet-R50",
    study="correlation",
    task="paper_vehicle",
    scores=["ps", "atc", "bos"],
    words="R² over .94 and ρ over .93 for box stability, the strongest of the three scores drawn.",
    stated=[
        dict(what="R² of BoS (in print: over)", row=dict(feature="bos"), value="r2", printed=0.94),
        dict(what="ρ of BoS (over)", row=dict(feature="bos"), value="spearman", printed=0.93),
    ],
)
# Bars without numbers; those stated are in table 1.
figure_3c = dict(
    title="Figure 3 (c): confidence stability, and box stability fused with other scores",
    study="fusion",
    task="paper_vehicle",
    scores=["bos", "confidence_stability", "bos+ps", "bos+es", "bos+atc", "bos+fd"],
    words=(
        "Box stability has the lower error than confidence stability. With PS the error is on the "
        "same level, with ES, FD and ATC it is larger. Marks: n.s. p > .05, * .01 to .05, "
        "** .001 to .01; the test is not named."
    ),
    stated=[
        dict(
            what="error of BoS, in points (table 1)",
            row=dict(method="bos"),
            value="error",
            scale=100,
            printed=2.25,
        ),
        dict(
            what="error of BoS + PS (table 1)",
            row=dict(method="bos+ps"),
            value="error",
            scale=100,
            printed=2.24,
        ),
    ],
)
figure_4a = dict(
    title="Figure 4 (a): error by the number of sample sets",
    study="meta_set_size",
    task="paper_vehicle",
    words="A larger meta-set gives a smaller error.",
)
figure_4b = dict(
    title="Figure 4 (b): error by the images in a sample set",
    study="sample_set_size",
    task="paper_vehicle",
    words="Larger sample sets give a smaller error.",
)
figure_4c = dict(
    title="Figure 4 (c): error by the number of test images",
    study="test_set_size",
    task="paper_vehicle",
    words="About 2.54 points with more than 50 test images.",
    stated=[
        dict(
            what="error with 50 images (in print: over 50), in points",
            row=dict(method="bos", images=50),
            value="error",
            scale=100,
            printed=2.54,
        ),
    ],
)
figure_6 = dict(
    title="Figure 6: R² by threshold, vehicles, RetinaNet-R50",
    study="thresholds",
    task="paper_vehicle",
    words="The best thresholds are those below; ES depends on its threshold the most.",
    stated=[
        dict(what="best threshold of ATC", row=dict(score="atc"), value="best", printed=0.4),
        dict(what="best threshold of PS", row=dict(score="ps"), value="best", printed=0.95),
        dict(what="best threshold of ES", row=dict(score="es"), value="best", printed=0.3),
    ],
)
figure_7 = dict(
    title="Figure 7: scores against mAP, mAP50 and mAP75, vehicles, RetinaNet-R50",
    study="correlation",
    task="paper_vehicle",
    targets=_mAPs,
    words="Box stability follows all three more closely than ES, PS and ATC do.",
)
figure_8 = dict(
    title="Figure 8: single boxes on COCO, RetinaNet-R50",
    study="box_level",
    task="paper_vehicle",
    words="Boxes whose confidence, or whose stability, is over .5.",
    stated=[
        dict(
            what="R² of confidence with IoU",
            row=dict(source="coco", measure="confidence"),
            value="r2_over_half",
            printed=0.492,
            decimals=3,
        ),
        dict(
            what="R² of stability with IoU",
            row=dict(source="coco", measure="stability"),
            value="r2_over_half",
            printed=0.720,
            decimals=3,
        ),
    ],
)
figure_9 = dict(
    title="Figure 9: scores against mAP, vehicles, other detectors",
    study="correlation",
    task="paper_vehicle",
    detectors=["retinanet_swin_t", "faster_rcnn_r50", "faster_rcnn_swin_t"],
    words="Strong for Faster R-CNN Swin-T, somewhat weak for the other two.",
    stated=[
        dict(
            what="R² of BoS, Faster R-CNN Swin-T",
            detector="faster_rcnn_swin_t",
            row=dict(feature="bos"),
            value="r2",
            printed=0.830,
            decimals=3,
        ),
        dict(
            what="ρ of BoS, Faster R-CNN Swin-T",
            detector="faster_rcnn_swin_t",
            row=dict(feature="bos"),
            value="spearman",
            printed=0.783,
            decimals=3,
        ),
    ],
)
# Its caption says COCO's training set, unlike table 2.
figure_10 = dict(
    title="Figure 10: scores against mAP, pedestrians, RetinaNet-R50 trained on COCO",
    study="correlation",
    task="paper_person",
    words="Box stability follows mAP best above 15 %; below that ATC is slightly better.",
)

# Where people get the data, and where below the data root it goes.
downloads = dict(
    coco="https://cocodataset.org (2017 val images, annotations): coco/",
    bdd="http://bdd-data.berkeley.edu (100K images, detection 2020 labels): bdd100k/",
    cityscapes="https://www.cityscapes-dataset.com (leftImg8bit, gtFine): cityscapes/",
    detrac="https://detrac-db.rit.albany.edu (test images, annotations XML): detrac/",
    exdark="https://github.com/cs-chan/Exclusively-Dark-Image-Dataset: exdark/",
    kitti="https://www.cvlibs.net/datasets/kitti (object, left colour images, labels): kitti/",
    self_driving=(
        "https://www.kaggle.com/datasets/alincijov/self-driving-cars (images, "
        "labels_trainval.csv): self_driving/"
    ),
    roboflow=(
        "https://www.kaggle.com/datasets/owaiskhan9654/car-person-v2-roboflow "
        "(the folder Car-Person-v2-Roboflow-Owais-Ahmad): roboflow/"
    ),
    udacity=(
        "https://www.kaggle.com/datasets/sshikamaru/udacity-self-driving-car-dataset "
        "(the folder data): udacity/"
    ),
    traffic=(
        "https://www.kaggle.com/datasets/saumyapatel/traffic-vehicles-object-detection "
        "(the folder Traffic Dataset): traffic/"
    ),
    caltech=(
        "https://data.caltech.edu/records/f6rph-90m20, converted by "
        "https://github.com/mitmul/caltech-pedestrian-dataset-converter: caltech/"
    ),
    crowdhuman="https://www.crowdhuman.org (validation): crowdhuman/",
    eurocity="https://eurocity-dataset.tudelft.nl (day, validation): eurocity/day/",
    citypersons="https://www.cityscapes-dataset.com (gtBbox_cityPersons, leftImg8bit): cityscapes/",
)
