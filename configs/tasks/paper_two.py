# Cars and persons in the five data sets of Yang et al. 2024 (table 3) in which both are labelled,
# read as in paper_vehicle.py.
name = "paper_two"
categories = ["person", "car"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

_words = dict(person="person", car="car")

seed_sets = [
    dict(
        name="coco",
        labels="coco/annotations/instances_val2017.json",
        img_dir="coco/val2017",
        mapping=_words,
    ),
    dict(
        name="cityscapes",
        labels="cityscapes",
        layout="cityscapes",
        mapping=dict(rider="person", **_words),
    ),
    dict(
        name="exdark",
        labels="exdark/ExDark_Annno",
        img_dir="exdark/ExDark",
        layout="exdark",
        mapping=dict(People="person", Car="car"),
    ),
    dict(
        name="kitti",
        labels="kitti",
        layout="kitti",
        mapping=dict(Pedestrian="person", Person_sitting="person", Car="car", Van="car"),
    ),
    dict(
        name="self_driving",
        labels="self_driving/labels_trainval.csv",
        layout="box_csv",
        mapping=dict(pedestrian="person", car="car"),
    ),
]
