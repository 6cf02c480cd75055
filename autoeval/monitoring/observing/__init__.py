"""Seeing the images of many sites: the pass of the detector and the signals of the camera."""
