# Vehicles in 22 environments of 15 groups.
name = "vehicle_22"
categories = ["vehicle"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# A detector's words for the categories above; its other categories are not looked at.
detector_mapping = dict(car="vehicle", bus="vehicle", truck="vehicle")

# Source -> its group: sources of one origin are left out together.
_environments = {
    "vehicle/highway_id": "highway_id",
    "vehicle/trafficcam_day": "trafficcam",
    "vehicle/trafficcam_night": "trafficcam",
    "vehicle/coco_vehicle": "coco",
    "vehicle/drone_madison": None,
    "vehicle/aerial_kit_ais": None,
    "vehicle/aerial_minsk": None,
    "vehicle/dawn_fog": "dawn",
    "vehicle/nepal_road": None,
    "vehicle/highway_top": None,
    "vehicle/carla_drive": None,
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

# Paths are relative to the data root. `mapping` reads the words of each annotation file: here all
# say "vehicle" already; for files in COCO's own words it would be
# dict(car="vehicle", bus="vehicle", truck="vehicle").
seed_sets = [
    dict(
        name=environment.rpartition("/")[2],
        group=group,
        ann_file=f"{environment}/annotations.json",
        img_dir=f"{environment}/images",
        mapping=dict(vehicle="vehicle"),
    )
    for environment, group in _environments.items()
]
