"""Shadows on the ground."""

from __future__ import annotations

import cv2
import numpy as np

from autoeval.demo.roadworld.camera import Camera
from autoeval.demo.roadworld.scene import Scene

LONGEST = 5.0
"""A shadow is cut off at this many times the height of what casts it."""

IN_SHADOW, UNDERNEATH = 64, 40
"""Light left, of 255."""

HIGHEST = 3.0
"""Parts that begin higher than this, in metres, cast no shadow."""

NEAREST, BEYOND = 0.5, 1e4
"""A shadow with a corner at less depth (metres) or farther outside (pixels) is left out."""


def shade(scene: Scene) -> np.ndarray:
    """Share of the sun's light that reaches the ground at each pixel, (H, W) float32."""
    sun = scene.light.sun
    across = np.hypot(sun[0], sun[1])
    away = -sun[:2] / across * min(across / sun[2], LONGEST)
    polygons = []
    for panels in [*scene.things, *(vehicle.panels for vehicle in scene.vehicles)]:
        for rows in np.split(panels.points, np.flatnonzero(np.diff(panels.part)) + 1):
            if rows[..., 2].min() < HIGHEST:
                polygons.append(rows.reshape(-1, 3))
    stacked = np.concatenate([np.zeros((0, 3)), *polygons])
    stacked[:, :2] += away * stacked[:, 2:]
    stacked[:, 2] = 0
    return _filled(scene.camera, stacked, [len(p) for p in polygons], IN_SHADOW)


def underneath(scene: Scene) -> np.ndarray:
    """Share of any light that reaches the ground under vehicles, (H, W) float32."""
    feet = [vehicle.outline() for vehicle in scene.vehicles]
    stacked = np.concatenate([np.zeros((0, 3)), *feet])
    return _filled(scene.camera, stacked, [4] * len(feet), UNDERNEATH)


def _filled(camera: Camera, points: np.ndarray, sizes: list[int], value: int) -> np.ndarray:
    """Fill the convex hull of each run of ground points (N, 3) with ``value`` of 255."""
    mask = np.full((camera.lines, camera.width), 255, np.uint8)
    pixels, depth = camera.project(points)
    safe = (depth > NEAREST) & (np.abs(pixels).max(1) < BEYOND)
    vertices = np.round((np.where(safe[:, None], pixels, 0) - 0.5) * 16).astype(np.int32)
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        if safe[rows].all():
            cv2.fillConvexPoly(mask, cv2.convexHull(vertices[rows]), value, cv2.LINE_AA, 4)
        start += size
    return cv2.GaussianBlur(mask, (0, 0), 0.8).astype(np.float32) / 255
