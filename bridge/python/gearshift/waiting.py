"""The requests of a server that wait for their turn."""

from __future__ import annotations

import collections
import itertools


class Waiting:
    """Oldest first, as (arrived_ns, request, Future). Not for several threads at once: who owns it has a lock."""

    def __init__(self):
        self._entries = collections.deque()

    def __len__(self):
        return len(self._entries)

    def add(self, arrived_ns, request, future):
        self._entries.append((arrived_ns, request, future))

    def waited_ns(self, now_ns, most):
        """For how long each has waited, of so many of the oldest at most."""
        return [now_ns - arrived_ns for arrived_ns, _, _ in itertools.islice(self._entries, most)]

    def take(self, size, in_time, batch, late):
        """Moves the oldest to `batch` until that has so many, and to `late` where not in_time(arrived_ns); one that
        nobody waits for any more is left out."""
        while self._entries and len(batch) < size:
            entry = self._entries.popleft()
            if _is_wanted(entry[2]):
                (batch if in_time(entry[0]) else late).append(entry)

    def put_back(self, batch):
        """As if they had not been taken; nobody can cancel them any more."""
        self._entries.extendleft(reversed(batch))

    def take_all(self):
        """The futures that somebody still waits for."""
        left, self._entries = self._entries, collections.deque()
        return [future for _, _, future in left if _is_wanted(future)]


def _is_wanted(future):
    return future.running() or future.set_running_or_notify_cancel()
