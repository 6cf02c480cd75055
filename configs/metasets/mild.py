# The meta-set of the paper (BoS, section 5.4): three of seven mild transforms for each sample set,
# each with one magnitude for the whole sample set. Ranges: autoeval/stability/metasets/transforms/.
transforms = [
    "Sharpness",
    "Equalize",
    "ColorTemperature",
    "Solarize",
    "Autocontrast",
    "Brightness",
    "Rotate",
]
n_transforms = 3
n_sets = 50
n_images = 250
# True draws the magnitudes anew for every image.
per_image = False
# A rotated box with less than this share of its area left inside the image is dropped.
min_visibility = 0.25
