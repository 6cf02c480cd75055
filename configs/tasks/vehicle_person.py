# Vehicles and people together (Yang et al. 2024, table 3): each environment a COCO-format file in
# which both are labelled, at NAME/annotations.json with its images in NAME/images.
name = "vehicle_person"
categories = ["vehicle", "person"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# A detector's words for the categories above; "person" is its own word already.
detector_mapping = dict(car="vehicle", bus="vehicle", truck="vehicle")

_environments = ["coco", "cityscapes", "exdark", "kitti", "self_driving"]

seed_sets = [
    dict(
        name=environment,
        ann_file=f"{environment}/annotations.json",
        img_dir=f"{environment}/images",
        mapping=dict(car="vehicle", bus="vehicle", truck="vehicle", person="person"),
    )
    for environment in _environments
]
