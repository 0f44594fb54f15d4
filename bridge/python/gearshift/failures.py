"""What becomes of an inference minibatch that failed: what its requests get, what runs instead, what is logged."""

from __future__ import annotations

import logging
import traceback

from gearshift import clock
from gearshift.requests import RequestDropped

log = logging.getLogger("gearshift")

MOST_TEXTS = 64
TOLD_AGAIN_NS = 60 * 10**9


def text_of(error) -> str:
    """Its type and message, whatever its own str() does."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def is_out_of_memory(error) -> bool:
    """Of a GPU's libraries too, by their text: their types are not known here."""
    if isinstance(error, RuntimeError):
        text = text_of(error)
        return "out of memory" in text.lower() or "ALLOC_FAILED" in text
    return isinstance(error, MemoryError)


def size_that_fits(offered, failed, answered):
    """The largest of the sizes offered (ascending) below a number of requests that did not fit: of those that
    hold no more than were `answered` at once before, or else of all. None where all hold as many."""
    below = [size for size in offered if size < failed]
    known = [size for size in below if size <= answered]
    return (known or below or [None])[-1]


def for_requests(error):
    """What those get that wait for an answer."""
    if not isinstance(error, Exception):  # Ctrl-C is for the thread that runs, not for them
        return RequestDropped(f"{type(error).__name__} ended the minibatch that was to answer it")
    if isinstance(error, StopIteration):  # asyncio takes none, and who awaits one would never hear of it
        raised = RuntimeError(f"infer raised {text_of(error)}")
        raised.__cause__ = error
        return raised
    return error


class FailureLog:
    """Logs a failure once with its traceback, and once a minute how often one of those came again: a model that
    always fails would fill a disk."""

    def __init__(self):
        self._told = set()
        self._again = 0
        self._told_ns = None

    def tell(self, error):
        text, now_ns = text_of(error), clock.now_ns()
        if text not in self._told and len(self._told) < MOST_TEXTS:
            self._told.add(text)
            self._told_ns = self._told_ns or now_ns
            log.warning("infer failed; its requests get the error", exc_info=error)
            return
        self._again += 1
        if now_ns - self._told_ns >= TOLD_AGAIN_NS:
            log.warning("infer failed %d times more, the last time by %.200s", self._again, text)
            self._again, self._told_ns = 0, now_ns
