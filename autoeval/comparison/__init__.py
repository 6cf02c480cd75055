"""Which of several detectors is better at a site, without labels and with some."""
