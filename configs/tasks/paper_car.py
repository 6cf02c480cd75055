# Cars alone in the ten data sets of Yang et al. 2024, as in the code released with that paper;
# buses, trucks and vans count as nothing. Otherwise as paper_vehicle.py.
_base_ = "paper_vehicle.py"

name = "paper_car"
categories = ["car"]

detector_mapping = dict(_delete_=True, car="car", Car="car")

# "0" is the car of the traffic set, whose classes are numbers.
_words = ("car", "Car", "0")

seed_sets = [
    {**of, "mapping": {word: "car" for word in of["mapping"] if word in _words}}
    if "mapping" in of
    else of
    for of in _base_.seed_sets
]
