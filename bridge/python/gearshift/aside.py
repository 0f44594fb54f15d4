"""The time that counts in minibatches, and what is in none: an evaluation, a checkpoint, the wait for a turn."""

from __future__ import annotations

from gearshift import clock


class WorkClock:
    """Stands still while somebody has stopped it."""

    __slots__ = ("_stood_ns", "_stopped_ns", "_stops")

    def __init__(self):
        self._stood_ns = self._stopped_ns = self._stops = 0

    @property
    def stands(self) -> bool:
        return self._stops > 0

    def now_ns(self):
        return (self._stopped_ns if self._stops else clock.now_ns()) - self._stood_ns

    def stop(self):
        if not self._stops:
            self._stopped_ns = clock.now_ns()
        self._stops += 1

    def go_on(self):
        """As often as it was stopped."""
        self._stops -= 1
        if not self._stops:
            self._stood_ns += clock.now_ns() - self._stopped_ns


class Aside:
    """A `with` block that is in no minibatch's time; see Client.aside."""

    __slots__ = ("_client",)

    def __init__(self, client):
        self._client = client

    def __enter__(self):
        self._client._call_synchronize()  # what was launched before is the minibatch's
        self._client._clock.stop()
        return self

    def __exit__(self, *failure):
        self._client._call_synchronize()  # and what was launched here is not
        self._client._clock.go_on()
