# Vehicles and people together (as in Yang et al. 2024, table 3), in seven environments in which
# both are labelled.
name = "vehicle_person"
categories = ["vehicle", "person"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# A detector's words for the categories above; its other categories are not looked at.
detector_mapping = dict(car="vehicle", bus="vehicle", truck="vehicle")

# Source -> its group: sources of one origin are left out together.
_environments = {
    "two/bdd_city_people": "bdd",
    "two/bdd_day": "bdd",
    "two/hituav_mixed": "hituav",
    "two/hituav_day": "hituav",
    "two/coco_two": "coco",
    "two/dawn_sand": "dawn",
    "two/dashcam_india": None,
}

# Paths are relative to the data root; vehicle.py says how other words for a category are written.
seed_sets = [
    dict(
        name=environment.rpartition("/")[2],
        group=group,
        ann_file=f"{environment}/annotations.json",
        img_dir=f"{environment}/images",
        mapping=dict(vehicle="vehicle", person="person"),
    )
    for environment, group in _environments.items()
]
