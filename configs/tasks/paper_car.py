# Cars alone in the ten data sets of Yang et al. 2024, as in the code released with that paper;
# buses, trucks and vans count as nothing. Otherwise as paper_vehicle.py.
name = "paper_car"
categories = ["car"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# Words of detectors, and of label files that are read without a mapping of their own.
detector_mapping = dict(car="car", Car="car")

_car = dict(car="car")

seed_sets = [
    dict(
        name="coco",
        labels="coco/annotations/instances_val2017.json",
        img_dir="coco/val2017",
        mapping=_car,
    ),
    dict(
        name="bdd",
        labels="bdd100k/labels/det_20/det_val.json",
        img_dir="bdd100k/images/100k/val",
        layout="bdd100k",
        mapping=_car,
    ),
    dict(name="cityscapes", labels="cityscapes", layout="cityscapes", mapping=_car),
    dict(
        name="detrac",
        labels="detrac/DETRAC-Test-Annotations-XML",
        layout="ua_detrac",
        every=25,  # one frame a second
        mapping=_car,
    ),
    dict(
        name="exdark",
        labels="exdark/ExDark_Annno",
        img_dir="exdark/ExDark",
        layout="exdark",
        mapping=dict(Car="car"),
    ),
    dict(name="kitti", labels="kitti", layout="kitti", mapping=dict(Car="car")),
    dict(
        name="self_driving",
        labels="self_driving/labels_trainval.csv",
        layout="box_csv",
        mapping=_car,
    ),
    dict(name="roboflow", labels="roboflow/valid", layout="yolo"),
    dict(
        name="udacity",
        labels="udacity/export/_annotations.csv",
        layout="box_csv",
        mapping=_car,
    ),
    # Classes by number, in the order of the set's page; the first is car.
    dict(name="traffic", labels="traffic/labels/val", layout="yolo", mapping={"0": "car"}),
]
