"""What pycocotools says of boxes, in a quarter of the time of all that it prints."""

import contextlib
import copy
import io

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def mean_average_precision(labels, boxes):
    """First of the numbers that pycocotools prints, of a document of labels and a list of boxes.

    Objects of one size alone, and shorter lists of boxes, are other numbers. Labels need neither
    ids of objects nor areas.
    """
    labels = {"info": {}, **copy.deepcopy(labels)}
    for number, annotation in enumerate(labels["annotations"], 1):
        area = annotation["bbox"][2] * annotation["bbox"][3]
        annotation |= {"iscrowd": 0} | annotation | {"id": number, "area": area}
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = labels
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(copy.deepcopy(boxes)), "bbox")
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.params.maxDets = [100]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"]
    return precision[precision > -1].mean()
