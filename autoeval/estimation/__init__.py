"""From evidence to an estimated mAP: collecting, fitting, leave-one-source-out, intervals, guards."""
