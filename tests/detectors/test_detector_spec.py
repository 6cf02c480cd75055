"""How a detector is loaded, kept with an estimator and read again."""

import json

from autoeval.detectors.detector_spec import DetectorSpec


def test_what_is_kept_of_a_detector_names_the_same_detector():
    """Tuples stay tuples: mmcv takes a scale of (256, 256) and refuses a list."""
    options = {"a.scale": (256, 256), "a.sizes": [8, 16], "b": {"c": ((1, 2), [3])}, "thr": 0.1}
    spec = DetectorSpec("mine", cfg_options=options)
    kept = json.loads(json.dumps(spec.to_dict()))
    assert DetectorSpec.from_dict(kept).cfg_options == options
    assert isinstance(DetectorSpec.from_dict(kept).cfg_options["a.scale"], tuple)
    assert DetectorSpec.from_dict(DetectorSpec("mine").to_dict()).cfg_options is None
