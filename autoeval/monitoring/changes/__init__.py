"""A site against its own baseline: how far its mAP changed, and whether that is an alarm."""
