"""One minibatch of a program that fetches its batches itself, as a `with` block."""

from __future__ import annotations

from gearshift.guarded import never_raises


class Minibatch:
    """One minibatch, from `with client.minibatch(epoch):` to the end of that block."""

    __slots__ = ("_client", "_epoch", "_batch_size", "_began_ns", "_fetched_ns", "_command")

    def __init__(self, client, epoch, batch_size):
        self._client = client
        self._epoch = epoch
        self._batch_size = batch_size

    def __enter__(self):
        self._began_ns = self._fetched_ns = self._client._clock.now_ns()
        self._command = self._client._connection.in_force
        self._start()
        return self

    @property
    def _connection(self):
        return self._client._connection

    @never_raises(None)
    def _start(self):
        client = self._client
        before = client._epoch
        follows = client._begin_epoch(self._epoch) == before
        self._epoch = client._epoch
        paused = client.wait_while_paused()
        if paused:
            self._began_ns = self._fetched_ns = self._client._clock.now_ns()
        elif follows and client._ended_ns is not None and self._connection.offer.kind == "train":
            self._began_ns = client._ended_ns
        self._settle(self._batch_size)

    @never_raises(None)
    def _settle(self, batch_size):
        in_force = self._connection.in_force.batch_size
        self._batch_size = in_force if batch_size is None else int(batch_size)
        self._client._take_up(self._batch_size)
        self._command = self._connection.in_force

    def fetched(self, batch_size=None):
        """The data is here: what the block took until now was fetch stall, the rest is compute."""
        self._fetched_ns = self._client._clock.now_ns()
        if batch_size is not None:
            self._settle(batch_size)

    def __exit__(self, failure, *details):
        client = self._client
        if failure is not None:
            client._ended_ns = None
            return
        client._ended_ns = client._end(
            self._command, self._epoch, self._batch_size, self._began_ns, self._fetched_ns
        )
