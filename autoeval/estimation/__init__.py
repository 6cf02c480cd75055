"""From evidence to an estimated mAP: collecting, fitting, leaving sites out, intervals."""
