# As yolox_nano.py, with another threshold.
_base_ = "yolox_nano.py"
counter = dict(score_thr=0.1)
