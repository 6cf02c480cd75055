"""Seeing the images of many places: the pass of the detector and the signals of the camera."""
