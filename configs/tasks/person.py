# People in five environments.
name = "person"
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
