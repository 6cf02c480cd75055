# Vehicles in the ten data sets of Yang et al. 2024 (table 1), in the layouts in which they were
# published, each in a folder of the data root. The paper does not say which split, which words or
# which boxes; the lines below are the most plausible reading. docs/how-to/reproduce.md says where
# the sets are had.
name = "paper_vehicle"
categories = ["vehicle"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# Words of detectors, and of label files that are read without a mapping of their own.
detector_mapping = dict(
    car="vehicle", bus="vehicle", truck="vehicle", Car="vehicle", Bus="vehicle", Truck="vehicle"
)

_vehicles = dict(car="vehicle", bus="vehicle", truck="vehicle")

seed_sets = [
    dict(
        name="coco",
        labels="coco/annotations/instances_val2017.json",
        img_dir="coco/val2017",
        mapping=_vehicles,
    ),
    dict(
        name="bdd",
        labels="bdd100k/labels/det_20/det_val.json",
        img_dir="bdd100k/images/100k/val",
        layout="bdd100k",
        mapping=_vehicles,
    ),
    dict(name="cityscapes", labels="cityscapes", layout="cityscapes", mapping=_vehicles),
    dict(
        name="detrac",
        labels="detrac/DETRAC-Test-Annotations-XML",
        layout="ua_detrac",
        every=25,  # one frame a second
        mapping=dict(car="vehicle", bus="vehicle", van="vehicle", others="vehicle"),
    ),
    dict(
        name="exdark",
        labels="exdark/ExDark_Annno",
        img_dir="exdark/ExDark",
        layout="exdark",
        mapping=dict(Car="vehicle", Bus="vehicle"),
    ),
    dict(
        name="kitti",
        labels="kitti",
        layout="kitti",
        mapping=dict(Car="vehicle", Van="vehicle", Truck="vehicle"),
    ),
    dict(
        name="self_driving",
        labels="self_driving/labels_trainval.csv",
        layout="box_csv",
        mapping=dict(car="vehicle", truck="vehicle"),
    ),
    dict(name="roboflow", labels="roboflow/valid", layout="yolo"),
    dict(
        name="udacity",
        labels="udacity/export/_annotations.csv",
        layout="box_csv",
        mapping=dict(car="vehicle", truck="vehicle"),
    ),
    # Classes by number, in the order of the set's page: car, number plate, blurred number plate,
    # two-wheeler, auto (a three-wheeler), bus, truck.
    dict(
        name="traffic",
        labels="traffic/labels/val",
        layout="yolo",
        mapping={"0": "vehicle", "5": "vehicle", "6": "vehicle"},
    ),
]
