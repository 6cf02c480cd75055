# The rendered road world: ten environments, where tools/build_metaset.py and the other commands
# without --task render them.
name = "roadworld"
categories = ["vehicle"]
data_root = "../../work_dirs/roadworld"

# The words of a detector that was trained on COCO.
detector_mapping = dict(car="vehicle", bus="vehicle", truck="vehicle")

_environments = [
    "day_street",
    "overpass",
    "highway_day",
    "dusk_city",
    "night_highway",
    "rain",
    "fog",
    "snow",
    "drone_high",
    "cheap_camera",
]

seed_sets = [
    dict(
        name=environment,
        ann_file=f"{environment}/annotations.json",
        img_dir=f"{environment}/images",
        mapping=dict(vehicle="vehicle"),
    )
    for environment in _environments
]
