"""Configs by name, and wrappers reduced to the detector within."""

from __future__ import annotations

import json
import sys
from urllib.error import URLError

import pytest
import torch
from mmengine.config import Config

from autoeval.detectors.building.configs import (
    build_model,
    deployed_weights,
    explained,
    find_config_file,
    read_config,
    trained_on,
)
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.detectors.settings import describe
from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import score_thresholds

RETINANET = "retinanet/retinanet_r18_fpn_1x_coco.py"


def test_the_configs_that_mmdet_brings_along():
    assert find_config_file(f"mmdet::{RETINANET}") == find_config_file(f"configs/{RETINANET}")
    assert read_config(f"mmdet::{RETINANET}").model.backbone.depth == 18
    with pytest.raises(InputError, match=r"mmdet::retinanet/none\.py.*expected a file under"):
        find_config_file("mmdet::retinanet/none.py")


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs/retinanet").mkdir(parents=True)
    (tmp_path / f"configs/{RETINANET}").write_text("model = dict()")
    assert find_config_file(f"configs/{RETINANET}").resolve().is_relative_to(tmp_path)


def test_a_preprocessor_beside_the_model_is_that_of_a_model_without(tmp_path):
    """As mmengine's runner has it."""
    beside = "data_preprocessor = dict(type='DetDataPreprocessor', mean=[1.0, 2.0, 3.0])\n"
    (tmp_path / "beside.py").write_text(f"{beside}model = dict(type='A')\n")
    assert read_config(tmp_path / "beside.py").model.data_preprocessor.mean == [1, 2, 3]
    own = "model = dict(type='A', data_preprocessor=dict(mean=[0.0]))\n"
    (tmp_path / "own.py").write_text(f"{beside}{own}")
    assert read_config(tmp_path / "own.py").model.data_preprocessor.mean == [0]
    change = {"data_preprocessor.mean": [4.0]}
    assert read_config(tmp_path / "beside.py", change).model.data_preprocessor.mean == [4]
    with pytest.raises(InputError, match=r"Expected model\.data_preprocessor\.mean"):
        read_config(tmp_path / "own.py", change)


def test_custom_imports_are_found_beside_the_config(tmp_path):
    (tmp_path / "parts_beside_this_config.py").write_text("LOADED = True\n")
    imports = (
        "custom_imports = dict(imports=['parts_beside_this_config'])\nmodel = dict(type='A')\n"
    )
    (tmp_path / "mine.py").write_text(imports)
    before = list(sys.path)
    assert read_config(tmp_path / "mine.py").model.type == "A"
    assert sys.modules.pop("parts_beside_this_config").LOADED and sys.path == before


@pytest.mark.parametrize("folder", ["", "parts_of_two_configs/"])
def test_two_configs_with_a_module_of_one_name_are_no_one_detector(folder, tmp_path):
    """Python imports a name once: the second would have the head of the first."""
    name = f"{folder}head_of_two_configs".replace("/", ".")
    for training in ("first", "second"):
        (tmp_path / training / folder).mkdir(parents=True)
        (tmp_path / training / f"{folder}head_of_two_configs.py").write_text(f"OF = '{training}'")
        text = f"custom_imports = dict(imports=['{name}'])\nmodel = dict(type='A')\n"
        (tmp_path / training / "mine.py").write_text(text)
    try:
        for _ in range(2):
            assert read_config(tmp_path / "first" / "mine.py").model.type == "A"
        with pytest.raises(InputError, match=r"second.*head_of_two_configs\.py.*first"):
            read_config(tmp_path / "second" / "mine.py")
    finally:
        assert sys.modules.pop(name).OF == "first"
        sys.modules.pop("parts_of_two_configs", None)


def test_no_weights_are_asked_for_anywhere():
    config = read_config("mmdet::ld/ld_r18-gflv1-r101_fpn_1x_coco.py")
    assert "Pretrained" not in str(config.model) and "teacher" not in str(config.model)


@pytest.mark.parametrize(
    "path",
    [
        "glip/glip_atss_swin-t_a_fpn_dyhead_pretrain_obj365.py",
        "grounding_dino/grounding_dino_r50_scratch_8xb2_1x_coco.py",
    ],
)
def test_detectors_that_read_words_name_their_extra(path, monkeypatch):
    """Not fairscale, which training alone has a use for."""
    from mmdet.models.dense_heads import atss_vlfusion_head
    from mmdet.models.language_models import bert

    monkeypatch.setattr(bert, "AutoTokenizer", None)
    monkeypatch.setattr(atss_vlfusion_head, "BertConfig", None)
    with pytest.raises(InputError, match=r"transformers: pip install -e '\.\[open-v"):
        build_model(read_config(f"mmdet::{path}"))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("ld/ld_r18-gflv1-r101_fpn_1x_coco.py", "SingleStageDetector"),
        ("lad/lad_r50-paa-r101_fpn_2xb8_coco_1x.py", "SingleStageDetector"),
        ("soft_teacher/soft-teacher_faster-rcnn_r50-caffe_fpn_180k_semi-0.1-coco.py", "FasterRCNN"),
        ("panoptic_fpn/panoptic-fpn_r50_fpn_1x_coco.py", "MaskRCNN"),
        (RETINANET, "RetinaNet"),
    ],
)
def test_wrappers_give_the_detector_that_is_deployed(path, kind):
    assert read_config(f"mmdet::{path}").model.type == kind


def test_a_detector_of_detectron2_is_no_tracker():
    config = read_config("mmdet::misc/d2_retinanet_r50-caffe_fpn_ms-90k_coco.py")
    with pytest.raises(InputError, match="detectron2: see https"):
        build_model(config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit('no data here')", "config: no data here"),
        ("custom_imports = dict(imports=['mmpretrain.none'])", r"a\.py.*pip install mmpretrain"),
        ("model = dict(type='DetDataPreprocessor')", "DetDataPreprocessor, the .*no `backbone`"),
    ],
)
def test_configs_without_a_detector(tmp_path, text, message):
    (tmp_path / "a.py").write_text(text)
    with pytest.raises(InputError, match=message):
        build_model(read_config(tmp_path / "a.py"))


def test_a_tracker_is_told_to_give_its_detector():
    name = "sort/sort_faster-rcnn_r50_fpn_8xb2-4e_mot17halftrain_test-mot17halfval.py"
    with pytest.raises(InputError, match=r"DeepSORT.*tracker around FasterRCNN: pass the config"):
        read_config(f"mmdet::{name}")


def test_batch_norm_across_processes_is_built_in_one():
    name = "mask-rcnn_r50_fpn_rpn-2conv_4conv1fc_syncbn-all_lsj-50e_coco.py"
    assert "MMSyncBN" not in str(read_config(f"mmdet::strong_baselines/{name}").model)


def test_instances_are_asked_of_a_panoptic_model():
    config = read_config("mmdet::maskformer/maskformer_r50_ms-16xb1-75e_coco.py")
    assert config.model.test_cfg.instance_on is True


def test_a_shipped_config_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = find_config_file("configs/detectors/retinanet_r50.py")
    assert path.is_file() and path == find_config_file("retinanet_r50")


def test_low_scores_reach_the_detector_within_a_pair():
    name = "mmdet::soft_teacher/soft-teacher_faster-rcnn_r50-caffe_fpn_180k_semi-0.1-coco.py"
    assert read_config(name).model.test_cfg.rcnn.score_thr == 0.05
    low = DetectorSpec(name).with_low_scores()
    assert read_config(name, low.cfg_options).model.test_cfg.rcnn.score_thr == 0.01


@pytest.mark.parametrize(
    "given",
    [
        {"model.test_cfg.rcnn.score_thr": 0.3},
        {"model.test_cfg.rcnn": {"score_thr": 0.3}},
        {"model": {"test_cfg": {"rcnn": {"score_thr": 0.3}}}},
    ],
)
def test_a_threshold_that_is_given_stays_in_whatever_form(given):
    low = DetectorSpec("faster_rcnn_r50", cfg_options=given).with_low_scores()
    assert read_config(low.name, low.cfg_options).model.test_cfg.rcnn.score_thr == 0.3
    other = {"model.test_cfg.rcnn": {"max_per_img": 50}}
    low = DetectorSpec("faster_rcnn_r50", cfg_options=other).with_low_scores()
    test_cfg = read_config(low.name, low.cfg_options).model.test_cfg
    assert (test_cfg.rcnn.score_thr, test_cfg.rcnn.max_per_img) == (0.01, 50)


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (
            {"model.test_cfg.rcnn.score_thresh": 0.3},
            r"expected model\.test_cfg\.rcnn\.score_thr, as",
        ),
        ({"model.test_cfg": {"rcnn": {"max_per_image": 9}}}, r"test_cfg\.rcnn\.max_per_img, as"),
        ({"model.test_cfg.score_thr": 0.3}, r"expected model\.test_cfg\.rcnn\.score_thr, as"),
        ({"model.test_cfg.rcnn.scor_thr": 0.1}, r"expected model\.test_cfg\.rcnn\.score_thr, as"),
        ({"model.test_cfg.rcnn.confidence": 0.1}, "no part of .* max_per_img, nms, score_thr"),
        ({"model.test_cfg.second_stage.nms_pre": 9}, "no part of this model reads it.* rcnn, rpn"),
        ({"model.test_cfg.rcnn.nms.class_agnostic": True}, None),
        ({"model.test_cfg.rpn.min_bbox_size": 4, "model.test_cfg.rcnn.min_size": 1}, None),
        ({"model.test_cfg.rcnn.nms": {"type": "soft_nms", "min_score": 0.01}}, None),
    ],
)
def test_a_test_setting_that_is_meant_otherwise_is_refused(options, meant):
    """mmdet leaves unread what it does not know: all boxes came with their usual threshold."""
    if meant is None:
        assert read_config("faster_rcnn_r50", options).model.test_cfg
    else:
        with pytest.raises(InputError, match=f"has no effect: .*{meant}"):
            read_config("faster_rcnn_r50", options)


def test_a_test_setting_that_a_config_lacks_is_taken_where_the_model_reads_it(tmp_path):
    """DETR's head reads ``max_per_img``, which this config has not; nothing reads ``most``."""
    (tmp_path / "detr.py").write_text(
        "_base_ = 'mmdet::detr/detr_r50_8xb2-150e_coco.py'\n"
        "model = dict(test_cfg=dict(_delete_=True))\n"
    )
    config = str(tmp_path / "detr.py")
    assert read_config(config, {"model.test_cfg.max_per_img": 9}).model.test_cfg.max_per_img == 9
    with pytest.raises(InputError, match=r"test_cfg\.most has no effect: no part"):
        read_config(config, {"model.test_cfg.most": 9})


def test_test_settings_are_those_of_models_in_the_scope_of_a_config(tmp_path):
    """As of mmyolo: its classes are not in mmdet's registry, and all that they read was refused."""
    (tmp_path / "elsewhere_models.py").write_text(
        "from mmengine.registry import MODELS, Registry\n"
        "OWN = Registry('model', parent=MODELS, scope='elsewhere')\n"
        "@OWN.register_module()\n"
        "class DetectorElsewhere:\n"
        "    def predict(self):\n"
        "        return self.test_cfg.get('multi_label')\n"
    )
    (tmp_path / "own.py").write_text(
        "default_scope = 'elsewhere'\n"
        "custom_imports = dict(imports=['elsewhere_models'])\n"
        "model = dict(type='DetectorElsewhere', test_cfg=dict(score_thr=0.1))\n"
    )
    config = str(tmp_path / "own.py")
    assert read_config(config, {"model.test_cfg.multi_label": True}).model.test_cfg.multi_label
    with pytest.raises(InputError, match=r"test_cfg\.most has no effect: no part"):
        read_config(config, {"model.test_cfg.most": 9})


def test_several_heads_may_each_have_their_test_settings(tmp_path):
    """Co-DETR: ``test_cfg`` is a list, of the query head first."""
    heads = "[dict(max_per_img=300), dict(rpn=dict(nms_pre=9), rcnn=dict(score_thr=0.05)), {}]"
    (tmp_path / "co.py").write_text(f"model = dict(type='CoDETR', test_cfg={heads})")
    low = DetectorSpec(str(tmp_path / "co.py")).with_low_scores()
    assert low.cfg_options == {"model.test_cfg.1.rcnn.score_thr": 0.01}
    config = read_config(low.name, low.cfg_options)
    assert config.model.test_cfg[1].rcnn.score_thr == 0.01
    full = read_config(f"mmdet::{RETINANET}")
    full.model.test_cfg = config.model.test_cfg
    described = describe(torch.nn.Linear(1, 1), full, ["car"])
    settings = {k: v for k, v in described.items() if k.startswith("test_cfg.")}
    thresholds = {"test_cfg.1.rcnn.score_thr": 0.01}
    others = {"test_cfg.0.max_per_img": 300, "test_cfg.1.rpn.nms_pre": 9}
    assert settings == thresholds | others and score_thresholds(described) == thresholds


def test_the_weights_of_the_one_that_is_deployed():
    teacher = "soft_teacher/soft-teacher_faster-rcnn_r50-caffe_fpn_180k_semi-0.1-coco.py"
    config = read_config(f"mmdet::{teacher}")
    assert config.model.data_preprocessor.type == "DetDataPreprocessor"
    weights = {"teacher.a": torch.ones(1), "student.a": torch.zeros(1)}
    assert deployed_weights(weights, config) == {"a": torch.ones(1)}
    student = read_config(f"mmdet::{teacher}", {"model.semi_test_cfg.predict_on": "student"})
    assert deployed_weights(weights, student) == {"a": torch.zeros(1)}
    alone = {"a": torch.ones(1)}
    assert deployed_weights(alone, config) is alone
    assert deployed_weights(weights, read_config(f"mmdet::{RETINANET}")) is weights


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ImportError("No module named 'mmpretrain'"), "pip install mmpretrain"),
        (RuntimeError("transformers is not installed, please"), r"pip install -e '\.\[open-v"),
        (FileNotFoundError("file t.py does not exist"), "names this file: give its whole path"),
        (
            OSError("We couldn't connect to 'https://huggingface.co' to load the files\nCheck"),
            r"load the files\. Name a folder.*model\.language_model\.name=FOLDER",
        ),
        (URLError("no route"), r"a download failed \(.*no route"),
        (KeyError("X is not in the mmdet::model registry. M\nore"), "registry.*custom_imports"),
        (ValueError("depth 77\nis odd"), "^depth 77$"),
        (AssertionError(), "^AssertionError$"),
    ],
)
def test_errors_of_constructors_are_told_as_what_they_are(error, message):
    with pytest.raises(InputError, match=message):
        raise InputError(explained(error))


def test_a_constructor_that_fails_in_its_own_way(tmp_path):
    """mmdet's ResNet raises a KeyError of a number."""
    config = read_config(f"mmdet::{RETINANET}", {"model.backbone.depth": 77})
    with pytest.raises(InputError, match=r"cannot build the detector of .*r18_fpn.*depth 77"):
        build_model(config)


COCO = {"data_root": "data/coco/", "ann_file": "annotations/instances_train2017.json"}


def config_of(*datasets):
    wrapped = {"type": "RepeatDataset", "dataset": {"datasets": list(datasets)}}
    return Config({"train_dataloader": {"dataset": wrapped}, "test_dataloader": {"dataset": COCO}})


@pytest.mark.parametrize(
    ("ann_file", "given", "seems"),
    [
        ("annotations/instances_train2017.json", "elsewhere/instances_train2017.json", True),
        ("annotations/instances_train2017.json", "annotations/instances_val2017.json", False),
        ("site/annotations.json", "site/annotations.json", True),
        ("site/annotations.json", "other/annotations.json", False),
    ],
)
def test_paths_tell_where_the_training_file_is_not_here(tmp_path, ann_file, given, seems):
    config = config_of({"data_root": "data/absent/", "ann_file": ann_file})
    reasons = trained_on(config, tmp_path / given, ["a.jpg"])
    assert [given.rpartition("/")[2] in reason for reason in reasons] == [True] * seems


def test_names_of_images_tell_where_it_is(tmp_path):
    images = [{"file_name": f"train/{k}.jpg"} for k in range(10)]
    (tmp_path / "train.json").write_text(json.dumps({"images": images}))
    config = config_of(COCO, {"data_root": str(tmp_path), "ann_file": "train.json"})
    (reason,) = trained_on(config, tmp_path / "mine.json", ["3.jpg", "x/7.jpg", "11.jpg"])
    assert reason.startswith("2 of 3 images have the name of an image in")
    # the same file name says nothing once its images are known to be others
    assert not trained_on(config, tmp_path / "else/train.json", ["11.jpg", "12.jpg"])


def test_a_config_without_training_says_nothing(tmp_path):
    assert not trained_on(Config({"model": {}}), tmp_path / "instances_train2017.json", ["a.jpg"])
    broken = tmp_path / "train.json"
    broken.write_text("[1, 2]")
    config = config_of({"data_root": str(tmp_path), "ann_file": "train.json"})
    assert not trained_on(config, tmp_path / "mine.json", ["a.jpg"])
