# The meta-set of the code released with the paper on box stability: the same images in all sample
# sets, each image under one to four of eight transforms with magnitudes of its own, none of which
# moves objects. What they are: autoeval/stability/metasets/transforms/imgaug_mix.py.
transforms = ["ReleasedMix"]
n_transforms = 1
n_sets = 50
n_images = 250
# How many of the eight, which ones and how strong is drawn anew for every image.
per_image = True
same_images = True
# Only images that hold an object of the task; with configs/tasks/paper_car.py, a car.
with_objects = True
