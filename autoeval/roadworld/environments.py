"""Named environments: mounting of the camera, scenery, light and sensor.

`autoeval.roadworld.scene` draws from the ranges of an `Environment`, and the `Light` of each image
by `draw_light`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Range = tuple[float, float]
DAY = "day"
DUSK = "dusk"
NIGHT = "night"
CLEAR = "clear"
RAIN = "rain"
FOG = "fog"
SNOW = "snow"
COLOURS = ("direct", "ambient", "zenith", "horizon")


@dataclass(frozen=True)
class Sensor:
    """What the camera does to the picture; see `autoeval.roadworld.air.sense`.

    Parameters
    ----------
    defocus : tuple of float
        Range of the standard deviation of the blur, pixels.
    motion : tuple of float
        Range of the length of motion blur, pixels.
    noise : tuple of float
        Range of the noise's standard deviation, grey levels.
    shrink : float
        Resolution lost before the picture is brought to size, where 1 loses none.
    jpeg : int
        Quality of an extra compression, 100 for none.
    """

    defocus: Range = (0.0, 0.5)
    motion: Range = (0.0, 0.0)
    noise: Range = (0.5, 2.5)
    shrink: float = 1.0
    jpeg: int = 100


NIGHT_SENSOR = Sensor(defocus=(0.3, 0.9), motion=(0.0, 3.0), noise=(3.0, 8.0))
CHEAP_SENSOR = Sensor((0.3, 1.1), (0.0, 4.0), (5.0, 14.0), shrink=0.5, jpeg=28)


@dataclass(frozen=True)
class Environment:
    """Ranges from which every image of an environment is drawn.

    Parameters
    ----------
    name : str
        Of the environment.
    place : str
        ``"street"``, ``"highway"`` or ``"country"``.
    height : tuple of float
        Of the camera, metres.
    pitch : tuple of float
        Degrees below the horizon.
    focal : tuple of float
        Focal length in image widths.
    spacing : tuple of float
        Mean gap between vehicles in a lane, metres.
    clutter : float
        Mean number of things beside the road that a detector may mistake for vehicles.
    time, weather : str
        `DAY`, `DUSK` or `NIGHT`; `CLEAR`, `RAIN`, `FOG` or `SNOW`.
    sensor : Sensor
        What the camera does to the picture.
    """

    name: str
    place: str
    height: Range
    pitch: Range
    focal: Range = (0.85, 1.15)
    spacing: Range = (6.0, 22.0)
    clutter: float = 4.0
    time: str = DAY
    weather: str = CLEAR
    sensor: Sensor = Sensor()


ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment
    for environment in (
        Environment("day_street", "street", (2.2, 5.5), (2, 12)),
        Environment("overpass", "highway", (6.5, 13), (14, 38), spacing=(5, 20), clutter=2),
        Environment("highway_day", "country", (4.5, 9), (6, 14), spacing=(8, 30), clutter=2),
        Environment("dusk_city", "street", (2.5, 7), (4, 16), time=DUSK),
        Environment("night_highway", "highway", (5, 9), (7, 16), spacing=(8, 30), clutter=2,
                    time=NIGHT, sensor=NIGHT_SENSOR),
        Environment("rain", "street", (2.5, 7), (4, 15), weather=RAIN,
                    sensor=Sensor((0.3, 1.0), noise=(1, 4))),
        Environment("fog", "country", (3, 8), (5, 14), weather=FOG),
        Environment("snow", "street", (3, 8), (5, 18), weather=SNOW),
        Environment("drone_high", "street", (24, 45), (45, 85), (1.0, 1.3), (4, 14), 10),
        Environment("cheap_camera", "street", (3, 9), (5, 25), sensor=CHEAP_SENSOR),
    )
}  # fmt: skip
"""Name to environment; the first four are clear, the rest are shifted."""

SEARCH_ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment
    for environment in (
        Environment("street_above", "street", (8, 14), (18, 40)),
        Environment("dusk_country", "country", (4, 9), (5, 15), spacing=(8, 30), time=DUSK),
        Environment("night_street", "street", (3, 7), (5, 16), time=NIGHT, sensor=NIGHT_SENSOR),
        Environment("rain_highway", "highway", (6, 12), (8, 25), weather=RAIN,
                    sensor=Sensor((0.3, 1.0), noise=(1, 4))),
        Environment("fog_street", "street", (3, 8), (5, 16), weather=FOG),
        Environment("snow_country", "country", (4, 9), (5, 15), weather=SNOW),
        Environment("drone_low", "highway", (15, 25), (35, 70), (1.0, 1.3), (4, 14), 6),
        Environment("cheap_country", "country", (4, 9), (5, 20), sensor=CHEAP_SENSOR),
    )
}  # fmt: skip
"""Environments for choosing a dropout, so that those of `ENVIRONMENTS` are left to evaluate it."""


@dataclass(frozen=True, eq=False)
class Light:
    """How a scene is lit; colours (3,) are BGR in [0, 1], float32.

    Parameters
    ----------
    sun : ndarray of shape (3,)
        Unit vector towards the sun.
    direct, ambient : ndarray of shape (3,)
        Light from there, and from everywhere.
    zenith, horizon : ndarray of shape (3,)
        Colours of the sky.
    haze : float
        Extinction per metre.
    lamps : float
        How strongly vehicle and street lamps shine, 0 to 1.
    lamp_share : float
        Share of vehicles whose lamps are on.
    wet, snow : float
        How far either covers the ground, 0 to 1.
    """

    sun: np.ndarray
    direct: np.ndarray
    ambient: np.ndarray
    zenith: np.ndarray
    horizon: np.ndarray
    haze: float = 0.0015
    lamps: float = 0.0
    lamp_share: float = 0.0
    wet: float = 0.0
    snow: float = 0.0


def draw_light(time: str, weather: str, rng: np.random.Generator) -> Light:
    """Draw the light of one image.

    Parameters
    ----------
    time : str
        `DAY`, `DUSK` or `NIGHT`.
    weather : str
        `CLEAR`, `RAIN`, `FOG` or `SNOW`; all but the first take the sun away.
    rng : Generator
        Draws.
    """
    turn = rng.uniform(0, 2 * np.pi)
    low, high = {DAY: (0.5, 1.1), DUSK: (0.10, 0.22), NIGHT: (0.6, 1.0)}[time]
    rise = rng.uniform(low, high)
    sun = np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)])
    options = {DAY: _day, DUSK: _dusk, NIGHT: _night}[time](rng)
    if weather != CLEAR:
        options = _overcast(options, weather, time, rng)
    options |= {name: np.asarray(options[name], np.float32) for name in COLOURS}
    return Light(sun, **options)


def _day(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the fields of `Light` by day."""
    power = rng.uniform(0.85, 1.1)
    return {
        "direct": power * np.array([0.50, 0.55, 0.58]),
        "ambient": power * np.array([0.52, 0.48, 0.46]),
        "zenith": np.array([0.86, 0.62, 0.38]) * rng.uniform(0.85, 1.1),
        "horizon": np.array([0.95, 0.88, 0.80]),
    }


def _dusk(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the fields of `Light` at dusk."""
    colours = {
        "direct": (0.10, 0.20, 0.34),
        "ambient": (0.34, 0.28, 0.27),
        "zenith": (0.50, 0.34, 0.28),
        "horizon": (0.38, 0.55, 0.85),
    }
    return _dimmed(colours, rng.uniform(0.75, 1.1)) | {"lamps": 0.6, "lamp_share": 0.6}


def _night(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the fields of `Light` at night."""
    colours = {
        "direct": (0.03, 0.025, 0.02),
        "ambient": (0.11, 0.095, 0.085),
        "zenith": (0.07, 0.04, 0.03),
        "horizon": (0.13, 0.11, 0.11),
    }
    return _dimmed(colours, rng.uniform(0.7, 1.3)) | {"lamps": 1.0, "lamp_share": 0.95}


def _dimmed(colours: Mapping[str, tuple[float, ...]], power: float) -> dict[str, Any]:
    """Multiply colours, and add the haze of dusk and night."""
    dimmed: dict[str, Any] = {name: power * np.array(c) for name, c in colours.items()}
    return dimmed | {"haze": 0.003}


def _overcast(
    options: dict[str, Any], weather: str, time: str, rng: np.random.Generator
) -> dict[str, Any]:
    """Change the fields of `Light` to those under clouds, with rain, fog or snow."""
    bright = options["horizon"].mean()
    grey = bright * np.array([0.80, 0.78, 0.76]) * rng.uniform(0.85, 1.1)
    grey = grey * (1.15 if weather in (SNOW, FOG) else 0.85)
    sky = {"zenith": grey * 0.92, "horizon": grey, "direct": options["direct"] * 0.12}
    ambient = options["ambient"] + 0.6 * options["direct"].mean()
    if weather == RAIN:
        more = {"ambient": ambient * 0.72, "haze": rng.uniform(0.006, 0.016), "wet": 1.0,
                "lamp_share": 0.8}  # fmt: skip
    elif weather == FOG:
        more = {"ambient": ambient, "haze": rng.uniform(0.008, 0.028), "lamp_share": 0.5}
    else:
        more = {"ambient": ambient * 0.95, "haze": rng.uniform(0.004, 0.012), "lamp_share": 0.4,
                "snow": rng.uniform(0.4, 0.9)}  # fmt: skip
    return options | sky | {"lamps": max(options.get("lamps", 0), 0.45)} | more
