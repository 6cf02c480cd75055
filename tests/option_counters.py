"""Counters of which a call shows how they were asked, for the cases of the commands that count."""

import threading

import cv2
import numpy as np

from autoeval.counting.counters import CountResult
from autoeval.counting.counters.adapters import TextCounter

CHANNELS = ("blue", "green", "red")
LEAST = 90  # of the channel that is counted
WAIT = 1.0  # seconds; one thread alone waits for as long, once


class DotCounter:
    """Counts dots of the colour that the prompt begins with; every dot for another prompt."""

    capabilities = frozenset({"count", "points"})

    def __init__(self, name="dots", shift=0):
        self.name, self.shift = name, shift

    def count(self, image, prompt, context=None):
        if "positive_class" in (context or {}):
            print("the true class is given")
        colour = prompt.split()[0]
        pixels = image[..., CHANNELS.index(colour)] if colour in CHANNELS else image.max(-1)
        points = cv2.connectedComponentsWithStats((pixels > LEAST).astype(np.uint8))[3][1:]
        return CountResult(float(len(points)), points=points + np.array([0, self.shift]))


class BatchCounter(DotCounter):
    """Prints how many images it is given at once."""

    def count_batch(self, images, prompts, contexts):
        print(f"{len(images)} at once")
        given = zip(images, prompts, contexts, strict=True)
        return [[self.count(image, p, c) for p in asked] for image, asked, c in given]


class MeetingCounter(DotCounter):
    """Prints where two threads ask at the same time."""

    concurrent = True

    def __init__(self, name="meeting"):
        super().__init__(name)
        self.both = threading.Barrier(2)

    def count(self, image, prompt, context=None):
        try:
            self.both.wait(WAIT)
            print("two threads")
        except threading.BrokenBarrierError:
            pass
        return super().count(image, prompt, context)


class Speaker(TextCounter):
    """Prints each question, and answers with how bright the image is, once it is asked twice."""

    def __init__(self, name="speaker", reply=None):
        super().__init__(self.answer, name=name)
        self.reply = reply

    def answer(self, image, question, temperature=None, seed=None):
        print(question, temperature)
        if self.reply is not None:
            return self.reply
        return "a good many" if temperature == 1 else f"{int(1000 * image.mean())} of them"
