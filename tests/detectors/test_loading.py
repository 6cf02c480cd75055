"""From a name, a config and a file to a detector, and what bad input gets."""

import json

import pytest
import torch

from autoeval.detectors import MMDetector, load_detector
from autoeval.detectors.building.aliases import detector_names
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.detectors.loading import build_model, read_config
from autoeval.errors import InputError

CONFIG = """
_base_ = "mmdet::yolox/yolox_nano_8xb8-300e_coco.py"
model = dict(bbox_head=dict(num_classes=2))
"""
METAINFO = 'test_dataloader = dict(dataset=dict(metainfo=dict(classes=("bus", "van"))))\n'


@pytest.fixture(scope="module")
def weights():
    """Weights of a detector of two categories."""
    torch.manual_seed(0)
    config = read_config("yolox_nano", {"model.bbox_head.num_classes": 2})
    return build_model(config).state_dict()


def write(folder, config=CONFIG, **checkpoint):
    (folder / "config.py").write_text(config)
    torch.save(checkpoint, folder / "a.pth")
    return folder / "config.py", folder / "a.pth"


def test_config_and_checkpoint(tmp_path, weights):
    """Categories of the checkpoint come before those of the config."""
    meta = {"dataset_meta": {"CLASSES": ("lorry", "tram")}}
    config, checkpoint = write(tmp_path, CONFIG + METAINFO, state_dict=weights, meta=meta)
    detector = load_detector(config, checkpoint=checkpoint)
    assert detector.categories == ("lorry", "tram")
    assert not detector.model.training
    loaded = detector.model.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in weights.items())


@pytest.mark.parametrize(
    ("metainfo", "checkpoint", "expected"),
    [
        (METAINFO, {}, ("bus", "van")),
        ("", {"meta": {"CLASSES": ["a", "b"]}}, ("a", "b")),  # an old checkpoint
        ("", {}, r"2 classes.*metainfo"),
        ("", {"meta": {"dataset_meta": {"classes": ("only",)}}}, r"2 classes.*lists 1"),
    ],
)
def test_categories(tmp_path, weights, metainfo, checkpoint, expected):
    config, file = write(tmp_path, CONFIG + metainfo, state_dict=weights, **checkpoint)
    if isinstance(expected, tuple):
        assert load_detector(config, checkpoint=file).categories == expected
    else:
        with pytest.raises(InputError, match=expected):
            load_detector(config, checkpoint=file)


def test_a_checkpoint_that_does_not_fit(tmp_path, weights):
    _, checkpoint = write(tmp_path, state_dict=weights)
    with pytest.raises(InputError, match=r"does not fit.*multi_level_conv_cls\.0"):
        load_detector("yolox_nano", checkpoint=checkpoint)


def test_unknown_names_are_answered_with_the_known():
    with pytest.raises(InputError, match=r"'retina'.*retinanet_r50, retinanet_swin_t"):
        load_detector("retina")


@pytest.mark.parametrize("name", ["faster_rcnn_swin_t", "retinanet_swin_t", "yolox_nano"])
def test_no_published_checkpoint(name):
    with pytest.raises(InputError, match=f"{name}.*--checkpoint FILE"):
        load_detector(name)


def test_published_checkpoints_are_those_of_mmdet():
    """Each address stands in the model index that mmdet ships, beside the same config."""
    from importlib.util import find_spec
    from pathlib import Path

    import yaml

    index = Path(find_spec("mmdet").origin).parent / ".mim" / "configs"
    published = {}
    for name in ("retinanet", "faster_rcnn", "yolox", "rtmdet", "swin"):
        for entry in yaml.safe_load((index / name / "metafile.yml").read_text())["Models"]:
            published[entry["Config"].removeprefix("configs/")] = entry["Weights"]
    checked = 0
    for name in detector_names():
        path = Path(__file__).parents[2] / "configs" / "detectors" / f"{name}.py"
        base = path.read_text().partition('_base_ = "mmdet::')[2].partition('"')[0]
        if base and "faster_rcnn_swin" not in name:
            assert read_config(name).detector.checkpoint == published.get(base), name
            checked += 1
    assert checked == 8


ODD = "model = dict(type='Oracle', backbone=dict(type='ResNet'))"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *(("model = dict(", ""), ("model = None", ""), ("a = 1", "")),
        *(("_base_ = 'mmdet::nothing.py'", ""), (ODD, "Oracle")),
    ],
)
def test_bad_configs(tmp_path, text, named):
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(InputError, match=rf"bad\.py.*{named}"):
        build_model(read_config(tmp_path / "bad.py"))


@pytest.mark.parametrize("name", ["warp", "cuda:99"])
def test_bad_devices(name):
    with pytest.raises(InputError, match=f"device '{name}'"):
        load_detector("yolox_nano", device=name)


def test_pretrained_backbones_are_not_fetched():
    assert read_config("retinanet_r50").model.backbone.init_cfg is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.test_cfg": {"_delete_": True, "score_thr": 0.1}}, "AttributeError.*nms"),
        (
            {"test_dataloader.dataset.pipeline": [{"type": "LoadImageFromFile"}]},
            "trial image KeyError: data_samples",
        ),
    ],
)
def test_a_detector_that_does_not_run_says_so_when_loaded(tmp_path, weights, change, message):
    config, checkpoint = write(tmp_path, CONFIG + METAINFO, state_dict=weights)
    with pytest.raises(InputError, match=f"YOLOX does not run with .*config.py: on a .*{message}"):
        load_detector(config, checkpoint=checkpoint, cfg_options=change)


@pytest.mark.parametrize("name", ["test_pipeline.1.scale", "test_cfg.score_thr", "score_thr"])
def test_an_option_on_which_no_box_depends_is_refused(name):
    """Such as that of a variable, which has gone into the pipeline by then."""
    with pytest.raises(InputError, match=rf"but got {name}, on which no box depends"):
        load_detector("roadworld_nano", cfg_options={name: 0.3})
    size = {"test_dataloader.dataset.pipeline.1.scale": (160, 96)}
    detector = load_detector("roadworld_nano", cfg_options=size)
    assert detector.settings["test_pipeline.1.Resize.scale"] == [160, 96]


def test_memory_that_runs_out_in_the_trial_is_told_as_that(tmp_path, weights, monkeypatch):
    def run_out(*args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(MMDetector, "observe", run_out)
    config, checkpoint = write(tmp_path, CONFIG + METAINFO, state_dict=weights)
    with pytest.raises(InputError, match=r"YOLOX and one image .* memory of cpu: free some"):
        load_detector(config, checkpoint=checkpoint)


def test_what_is_kept_of_a_detector_names_the_same_detector():
    """Tuples stay tuples: mmcv takes a scale of (256, 256) and refuses a list."""
    options = {"a.scale": (256, 256), "a.sizes": [8, 16], "b": {"c": ((1, 2), [3])}, "thr": 0.1}
    spec = DetectorSpec("mine", cfg_options=options)
    kept = json.loads(json.dumps(spec.to_dict()))
    assert DetectorSpec.from_dict(kept).cfg_options == options
    assert isinstance(DetectorSpec.from_dict(kept).cfg_options["a.scale"], tuple)
    assert DetectorSpec.from_dict(DetectorSpec("mine").to_dict()).cfg_options is None


@pytest.mark.parametrize("text", ["a = 1\n", "raise ValueError('no')\n"])
def test_a_file_without_a_model_is_told_how_a_function_is_named(text, tmp_path):
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(InputError, match=r"FILE\.py:NAME"):
        read_config(tmp_path / "own.py")


@pytest.mark.parametrize("name", ["weights", "hf:weights"])
def test_a_path_is_kept_as_absolute_behind_a_prefix_of_folders(name, tmp_path, monkeypatch):
    (tmp_path / "weights").mkdir() if ":" in name else (tmp_path / "weights").touch()
    monkeypatch.chdir(tmp_path)
    kept = DetectorSpec(name).to_dict()["name"]
    assert kept == name.replace("weights", str(tmp_path / "weights"))
    assert DetectorSpec("hf:facebook/detr").to_dict()["name"] == "hf:facebook/detr"


def test_a_precision_that_there_is_not_is_refused_before_anything_is_loaded():
    with pytest.raises(InputError, match="single"):
        DetectorSpec("a network that there is not", precision="other")


@pytest.mark.parametrize("name", ["retinanet_r50", "torchvision:fasterrcnn_resnet50_fpn"])
def test_a_folder_called_as_a_known_detector_is_not_that_detector(name, tmp_path, monkeypatch):
    """Such as the folder to which its results are written."""
    (tmp_path / name.removeprefix("torchvision:")).mkdir()
    monkeypatch.chdir(tmp_path)
    assert DetectorSpec(name).to_dict()["name"] == name
