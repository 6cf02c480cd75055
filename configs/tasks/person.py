# People in five environments.
name = "person"
categories = ["person"]

# The folder with the data: --data-root DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

_environments = [
    "coco_person",
    "highway_id_person",
    "voc_person",
    "cctv_person_day",
    "dawn_fog_person",
]

# Paths are relative to the data root; vehicle.py says how other words for a category are written.
seed_sets = [
    dict(
        name=environment,
        ann_file=f"person/{environment}/annotations.json",
        img_dir=f"person/{environment}/images",
        mapping=dict(person="person"),
    )
    for environment in _environments
]
