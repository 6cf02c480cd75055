"""Search for where and how strongly to drop features, so that box stability predicts mAP best."""
