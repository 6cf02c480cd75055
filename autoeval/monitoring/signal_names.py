"""What is measured on the pixels of an image; see `autoeval.monitoring.observing.signals`."""

MEANINGS = {
    "detail_1": "log contrast of details of 1 to 2 pixels at 512 pixels",
    "detail_2": "the same of 2 to 4 pixels",
    "detail_3": "the same of 4 to 8 pixels",
    "detail_4": "the same of 8 to 16 pixels",
    "detail": "log contrast of the finest details, at full size",
    "edges": "log gradient of the sharpest hundredth, at 512 pixels",
    "coarse_edges": "the same at 256 pixels",
    "noise": "log noise level, at full size",
    "brightness": "mean grey level, 0 to 1",
    "contrast": "log standard deviation of grey levels",
    "dark": "share of nearly black pixels",
    "bright": "share of nearly white pixels",
    "haze": "mean of the dark channel, 0 to 1",
    "saturation": "mean saturation of colours, 0 to 1",
    "blockiness": "log ratio of steps at borders of 8 x 8 blocks to steps elsewhere",
}
