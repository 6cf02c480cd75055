# Vehicles in eleven environments, from road-side cameras to drones.
name = "vehicle"
categories = ["vehicle"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# A detector's words for the categories above; its other categories are not looked at.
detector_mapping = dict(car="vehicle", bus="vehicle", truck="vehicle")

_environments = [
    "highway_id",
    "trafficcam_day",
    "trafficcam_night",
    "coco_vehicle",
    "drone_madison",
    "aerial_kit_ais",
    "aerial_minsk",
    "dawn_fog",
    "nepal_road",
    "highway_top",
    "carla_drive",
]

# Paths are relative to the data root. `mapping` reads the words of each annotation file: here all
# say "vehicle" already; for files in COCO's own words it would be
# dict(car="vehicle", bus="vehicle", truck="vehicle").
seed_sets = [
    dict(
        name=environment,
        ann_file=f"vehicle/{environment}/annotations.json",
        img_dir=f"vehicle/{environment}/images",
        mapping=dict(vehicle="vehicle"),
    )
    for environment in _environments
]
