# People in 19 environments of 15 groups.
name = "person_19"
categories = ["person"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

# Source -> its group: sources of one origin are left out together.
_environments = {
    "person/coco_person": "coco",
    "person/highway_id_person": "highway_id",
    "person/voc_person": None,
    "person/cctv_person_day": None,
    "person/dawn_fog_person": "dawn",
    "person/penn_fudan": None,
    "person/chem_plant_cctv": None,
    "person/cafe_overhead": None,
    "person/football_pitch": None,
    "person/construction_web": None,
    "person/danish_site_robot": None,
    "person/campus_india_ppe": None,
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
        mapping=dict(person="person"),
    )
    for environment, group in _environments.items()
]
