"""Score tables made by hand, whose studies have known answers."""

import numpy as np
import pandas as pd


def score_table(worlds, *, n_sets=4, repeats=1, step=0.05, **features):
    """Make a table of worlds {name: mAP}; set k of a world has mAP less k `step`.

    Features are functions of (mAP, repeat, row number).
    """
    rows = []
    for source, own in worlds.items():
        for k in range(n_sets + 1):
            value = own - step * k
            for repeat in range(repeats):
                row = {"source": source, "sample_set": f"{source}-{k}", "repeat": repeat}
                row |= {"kind": "sample" if k else "seed", "transforms": f"Rotate {k}" if k else ""}
                row |= {"n_images": 100, "network_s": 1.0, "mAP": value}
                rows.append(
                    row | {name: of(value, repeat, len(rows)) for name, of in features.items()}
                )
    return pd.DataFrame(rows)


WORLDS = {"a": 0.3, "b": 0.5, "c": 0.6, "d": 0.8}
NAMES = np.array(list(WORLDS))
