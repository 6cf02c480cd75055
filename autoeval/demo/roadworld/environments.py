"""Ten named environments: how a camera is mounted, what stands there, how light and sensor are."""

from __future__ import annotations

from dataclasses import dataclass

from autoeval.demo.roadworld.light import CLEAR, DAY, DUSK, FOG, NIGHT, RAIN, SNOW

Range = tuple[float, float]


@dataclass(frozen=True)
class Sensor:
    """What the camera does to the picture.

    Parameters
    ----------
    defocus : tuple of float
        Range of the blur's standard deviation, pixels.
    motion : tuple of float
        Range of the length of motion blur, pixels.
    noise : tuple of float
        Range of the noise's standard deviation, grey levels.
    shrink : float
        Resolution lost before the picture is brought to size; 1 loses none.
    jpeg : int
        Quality of an extra compression; 100 means none.
    """

    defocus: Range = (0.0, 0.5)
    motion: Range = (0.0, 0.0)
    noise: Range = (0.5, 2.5)
    shrink: float = 1.0
    jpeg: int = 100


@dataclass(frozen=True)
class Environment:
    """Ranges from which every image of an environment is drawn.

    Parameters
    ----------
    name : str
        Name.
    place : str
        ``"street"``, ``"highway"`` or ``"country"``.
    height : tuple of float
        Camera height, metres.
    pitch : tuple of float
        Degrees below the horizon.
    focal : tuple of float
        Focal length in image widths.
    spacing : tuple of float
        Mean gap between vehicles in a lane, metres.
    clutter : float
        Mean number of distractors.
    time, weather : str
        See `autoeval.demo.roadworld.light`.
    sensor : Sensor
        Camera quality.
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


NIGHT_SENSOR = Sensor(defocus=(0.3, 0.9), motion=(0.0, 3.0), noise=(3.0, 8.0))
CHEAP_SENSOR = Sensor((0.3, 1.1), (0.0, 4.0), (5.0, 14.0), shrink=0.5, jpeg=28)

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
