# Sample sets of the rendered road world for its detector, roadworld_nano. Of the paper's seven
# transforms those under which the detector kept three quarters of its labelled mAP on images like
# those that it was trained on (python -m benchmarks.box_stability transforms), after the first part
# of its training; after the second it keeps nine tenths under all seven. Sample sets must be images
# that a detector is meant for. One transform a set, each in turn, with one magnitude for the set.
transforms = ["Sharpness", "Equalize", "ColorTemperature", "Solarize", "Brightness"]
n_transforms = 1
in_turn = True
n_sets = 5
n_images = 20
# True draws the magnitudes anew for every image.
per_image = False
