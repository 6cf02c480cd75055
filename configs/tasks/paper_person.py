# Pedestrians in the nine data sets of Yang et al. 2024 (table 2), read as in paper_vehicle.py. The
# paper's detector is trained on CrowdHuman. Riders count as persons, since a detector of persons
# cannot tell.
name = "paper_person"
categories = ["person"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

seed_sets = [
    dict(
        name="coco",
        labels="coco/annotations/instances_val2017.json",
        img_dir="coco/val2017",
        mapping=dict(person="person"),
    ),
    dict(name="caltech", labels="caltech/annotations.json", layout="caltech"),
    dict(
        name="crowdhuman",
        labels="crowdhuman/annotation_val.odgt",
        layout="crowdhuman",
    ),
    dict(
        name="cityscapes",
        labels="cityscapes",
        layout="cityscapes",
        mapping=dict(person="person", rider="person"),
    ),
    dict(
        name="self_driving",
        labels="self_driving/labels_trainval.csv",
        layout="box_csv",
        mapping=dict(pedestrian="person"),
    ),
    dict(
        name="exdark",
        labels="exdark/ExDark_Annno",
        img_dir="exdark/ExDark",
        layout="exdark",
        mapping=dict(People="person"),
    ),
    dict(
        name="eurocity",
        labels="eurocity/day",
        layout="eurocity",
        mapping=dict(pedestrian="person", rider="person"),
    ),
    dict(
        name="kitti",
        labels="kitti",
        layout="kitti",
        mapping=dict(Pedestrian="person", Person_sitting="person"),
    ),
    # The same images as Cityscapes, labelled anew: two sources in the paper, though of one group.
    dict(
        name="citypersons",
        labels="cityscapes/gtBboxCityPersons",
        layout="citypersons",
        mapping={
            "pedestrian": "person",
            "rider": "person",
            "sitting person": "person",
            "person (other)": "person",
        },
    ),
]
