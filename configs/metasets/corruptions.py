# The harder meta-set: one common corruption at one of five severities (Hendrycks & Dietterich 2019)
# for each sample set. What a severity means: autoeval/stability/metasets/transforms/.
transforms = [
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
]
n_transforms = 1
# Any 14 sample sets in a row hold each corruption once, all 70 each corruption at each severity.
in_turn = True
n_sets = 70
n_images = 250
# True draws the severities anew for every image.
per_image = False
# A box that zoom_blur leaves with less than this share of its area inside the image is dropped.
min_visibility = 0.25
