"""The requests of a server that wait for their turn."""

from __future__ import annotations

import collections
import itertools


class Waiting:
    """Oldest first, as (arrived_ns, request, Future). Not for several threads at once: who owns it has a lock."""

    def __init__(self, log, latency_ns):
        """log: RequestLog of those that leave without an answer. latency_ns: 0: none is late."""
        self._log = log
        self._latency_ns = latency_ns
        self._entries = collections.deque()
        self._cancelled = False  # some of them may be, since they were last looked at

    def __len__(self):
        return len(self._entries)

    def add(self, arrived_ns, request, future):
        self._entries.append((arrived_ns, request, future))
        future.add_done_callback(self._note_cancel)

    def wanted(self, now_ns):
        """How many somebody waits for: what is cancelled is left out from here on, so that it keeps nobody out and
        fills no batch."""
        if self._cancelled:
            self._cancelled = False  # first: another may be cancelled meanwhile
            entries, self._entries = self._entries, collections.deque()
            for entry in entries:
                if entry[2].cancelled():
                    entry[2].set_running_or_notify_cancel()
                    self._log.ended(now_ns - entry[0])
                else:
                    self._entries.append(entry)
        return len(self._entries)

    def _note_cancel(self, future):
        """In the thread that cancels, without the lock: it must do no more."""
        if future.cancelled():
            self._cancelled = True

    def waited_ns(self, now_ns, most):
        """For how long each has waited, of so many of the oldest at most."""
        return [now_ns - arrived_ns for arrived_ns, _, _ in itertools.islice(self._entries, most)]

    def take(self, size, now_ns, in_time, batch):
        """Moves the oldest to `batch` until that has so many; returns those that leave without an answer, since not
        in_time(for how long they waited). One that nobody waits for any more is left out."""
        late = []
        while self._entries and len(batch) < size:
            entry = self._entries.popleft()
            waited_ns = now_ns - entry[0]
            if not _is_wanted(entry[2]):
                self._log.ended(waited_ns)
            elif in_time(waited_ns):
                batch.append(entry)
            else:
                self._log.refused()
                late.append(entry)
        return late

    def take_late(self, now_ns):
        """Those that have waited for longer than the latency."""
        late = []
        while self._latency_ns and self._entries and now_ns - self._entries[0][0] > self._latency_ns:
            entry = self._entries.popleft()
            self._log.refused()
            if _is_wanted(entry[2]):
                late.append(entry)
        return late

    def put_back(self, batch):
        """As if they had not been taken; nobody can cancel them any more."""
        self._entries.extendleft(reversed(batch))

    def take_all(self, now_ns):
        """The futures that somebody still waits for."""
        left, self._entries = self._entries, collections.deque()
        for arrived_ns, _, _ in left:
            self._log.ended(now_ns - arrived_ns)
        return [future for _, _, future in left if _is_wanted(future)]


def _is_wanted(future):
    return future.running() or future.set_running_or_notify_cancel()
