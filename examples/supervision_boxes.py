"""The boxes of `autoeval estimate --export out` as detections of supervision."""

import numpy as np
import pandas as pd
import supervision as sv

rows = pd.read_json("out/predictions.json")
for name, part in rows.groupby("file_name"):
    xywh = np.array(part["bbox"].tolist())
    detections = sv.Detections(
        np.hstack([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]]),
        confidence=part["score"].to_numpy(),
        class_id=part["category_id"].to_numpy(),
        data={"class_name": part["category"].to_numpy()},
    )
    # such as sv.LabelAnnotator().annotate(sv.BoxAnnotator().annotate(image, detections), detections)
