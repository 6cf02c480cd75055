"""From evidence to an estimated mAP: collecting, fitting, leaving sources out, intervals."""
