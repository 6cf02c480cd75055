# Photographs of vehicles or of people, never both: a small PrACo data set put together from three
# of the vehicle and two of the person sets that configs/tasks name. The images were chosen by eye,
# without running any detector: no image of people shows a car, bus or truck, no image of vehicles
# shows a person outside a vehicle (drivers behind a windscreen may be visible), and none shows any
# of the classes in `prompt_only`. At most one or two images of each fixed camera are kept.
name = "vehicle_person"

# The folder with the data: data_root=DIR or AUTOEVAL_DATA_ROOT; or write it here, relative to
# this file.
data_root = None

_chosen = {
    "vehicle/highway_id": (
        "1 2 3 6 7 8 9 10 14 17 18 19 20 21 22 23 24 25 27 28 31 32 34 35 38 39 40 43 44 45 46 47 "
        "48 52 56 58 59 60"
    ),
    "vehicle/highway_top": "4 14 16 24 27 40 41 53 60",
    "vehicle/trafficcam_day": "1 3 5 25",
    "person/coco_person": (
        "1 4 10 12 18 20 23 24 25 26 28 29 30 31 33 34 39 40 42 43 44 51 53 54 58 59 61 62 64 66 "
        "67 69 73 80 81 82 88 93 95 99 101 102 105 108 109 110 113 115 116 119 121 122 125 127 128 "
        "132 133 134"
    ),
    "person/voc_person": "2 4 8 12 14 15 18 22 23 26 28 30 32 34 36 37 38 39",
}

parts = [
    dict(
        name=folder.split("/")[1],
        ann_file=f"{folder}/annotations.json",
        img_dir=f"{folder}/images",
        keep=[f"{int(number):04}.jpg" for number in numbers.split()],
    )
    for folder, numbers in _chosen.items()
]

# Asked for in the negative-label test only: no image holds them.
prompt_only = [
    *("train", "airplane", "boat", "horse", "sheep"),
    *("cow", "elephant", "bear", "zebra", "giraffe"),
]
