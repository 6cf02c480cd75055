# The test images of Yang et al. 2024 (appendix A.1): resized to 800 x 1333 pixels whatever their
# shape, as the authors' code does with keep_ratio=False.
fixed_size = [
    dict(type="LoadImageFromFile"),
    dict(type="Resize", scale=(1333, 800), keep_ratio=False),
    dict(
        type="PackDetInputs",
        meta_keys=("img_id", "img_path", "ori_shape", "img_shape", "scale_factor"),
    ),
]
