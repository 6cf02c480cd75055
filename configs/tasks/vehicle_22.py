# Vehicles in 22 environments of 15 groups: those of vehicle.py and more.
_base_ = "vehicle.py"

name = "vehicle_22"

_environments = {
    "vehicle/dawn_rain": "dawn",
    "vehicle/fortaleza_cctv": None,
    "vehicle/web_catalogue": None,
    "vehicle/hituav_low": "hituav",
    "two/bdd_city_people": "bdd",
    "two/bdd_day": "bdd",
    "two/hituav_mixed": "hituav",
    "two/hituav_day": "hituav",
    "two/coco_two": "coco",
    "two/dawn_sand": "dawn",
    "two/dashcam_india": None,
}

seed_sets = _base_.seed_sets + [
    dict(
        name=environment.rpartition("/")[2],
        group=group,
        ann_file=f"{environment}/annotations.json",
        img_dir=f"{environment}/images",
        mapping=dict(vehicle="vehicle"),
    )
    for environment, group in _environments.items()
]
