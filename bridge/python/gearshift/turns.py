"""Turns on an accelerator that programs share, as `with` blocks."""

from __future__ import annotations

from gearshift import clock
from gearshift.guarded import never_raises


class Turn:
    """One turn. It is asked for even while the daemon wants this kind to wait: for a program that has
    another kind to run meanwhile. Once gives_up() is true it is asked for no more, and given_up."""

    __slots__ = ("_client", "_gives_up", "_number", "waited_ns")

    def __init__(self, client, gives_up=lambda: False):
        self._client = client
        self._gives_up = gives_up
        self._number = self.waited_ns = 0

    @property
    def given_up(self) -> bool:
        return self._number is None

    @property
    def _connection(self):
        return self._client._connection

    def __enter__(self):
        asked_ns, work_clock = clock.now_ns(), self._client._clock
        work_clock.stop()
        try:
            self._number = self._take()
            self.waited_ns = clock.now_ns() - asked_ns
        except BaseException:  # Ctrl-C: the others need not wait until the turn is lost
            self._give_back()
            raise
        finally:
            work_clock.go_on()
        return self

    def __exit__(self, *failure):
        self._end()

    @never_raises(0)
    def _take(self):
        return self._connection.take_turn(self._gives_up)

    @never_raises(None)
    def _end(self):
        self._connection.end_turn(self._number)

    @never_raises(None)
    def _give_back(self):
        self._connection.give_turn_back()


class TurnToRun(Turn):
    """One turn in which this kind runs at once; see Client.turn. Pauses and saves come before it, and what
    they take counts as waiting for it: held through a pause, the turn would be kept from all others."""

    __slots__ = ()

    @never_raises(0)
    def _take(self):
        client, number = self._client, None
        while number is None:
            client._pause()
            number = self._connection.take_turn(client._must_pause)
        return number
