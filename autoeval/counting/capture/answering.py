"""One question to one counter, as a row for the journal."""

from __future__ import annotations

import time
import zlib
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from autoeval.counting.capture.ask import put_question
from autoeval.counting.capture.queries import Query, RunOptions, temperatures_of
from autoeval.counting.capture.records import CaptureItem
from autoeval.counting.capture.split import INPAINTED, OCCLUDED, CaptureSplit
from autoeval.counting.capture.tasks import CaptureTask
from autoeval.counting.counters.base import TEXT, Counter
from autoeval.data.images import UnreadableImageError
from autoeval.errors import InputError
from autoeval.runtime.states import OK, SKIPPED

Row = dict[str, Any]


def answer(
    split: CaptureSplit,
    task: CaptureTask,
    counter: Counter,
    options: RunOptions,
    turn: AbstractContextManager,
    query: Query,
) -> Row:
    """Ask; an unreadable image, and what the counter raises, become the row's status.

    The counter runs inside of ``turn``, the `autoeval.counting.prompting.lock_of` it, while images
    are read outside of it.

    Raises
    ------
    InputError
        As raised by the counter: no other question can do better.
    """
    start = time.perf_counter()
    row: Row = {
        "key": query.key,
        "image_file": query.item.image_file,
        "task": task.name,
        "sample": query.sample,
        "model": counter.name,
        "context": query.context,
    }
    try:
        image = _shown(split, task, query.item, options)
        with turn:
            if TEXT in counter.capabilities:
                row |= _spoken(counter, image, task, query, options)
            else:
                row |= _counted(counter, image, query)
    except UnreadableImageError as error:
        row |= _failed(error)
    except InputError:
        raise
    except Exception as error:
        row |= _failed(error)
    return row | {"seconds": round(time.perf_counter() - start, 3)}


def _shown(
    split: CaptureSplit, task: CaptureTask, item: CaptureItem, options: RunOptions
) -> np.ndarray:
    if task.variant == INPAINTED and options.inpainter is not None and item.box is not None:
        return options.inpainter(split.read_image(item, OCCLUDED), item.box)
    return split.read_image(item, task.variant)


def _spoken(
    counter: Any, image: np.ndarray, task: CaptureTask, query: Query, options: RunOptions
) -> Row:
    reply = put_question(
        counter.ask,
        image,
        query.question,
        task,
        extractor=options.extractor,
        temperatures=temperatures_of(task, options),
        seed=zlib.crc32(query.key.encode()) if task.samples > 1 else None,
    )
    return {
        "status": SKIPPED if reply.value is None else OK,
        "value": reply.value,
        "rule": reply.rule,
        "confidence": reply.confidence,
        "text": reply.attempts[-1]["text"],
        "attempts": list(reply.attempts[:-1]),
        "temperature": reply.attempts[-1]["temperature"],
        "question": query.question,
    }


def _counted(counter: Counter, image: np.ndarray, query: Query) -> Row:
    result = counter.count(image, query.question, query.context)
    value = None if np.isnan(result.count) else float(result.count)
    return {"status": result.status, "value": value, "warnings": list(result.warnings)}


def _failed(error: BaseException) -> Row:
    return {"status": f"failed: {type(error).__name__}: {error}", "value": None}
