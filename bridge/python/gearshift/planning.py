"""By what an Interleaver plans its next turn: the times that were measured, and how requests come."""

from __future__ import annotations

import collections

from gearshift.interleaving import NEVER, Arrivals, BatchTimes, ServiceTimes, State
from gearshift.reopening import KeptOut, Reopening


class Oversleeping:
    """How late a wait for a batch to fill may end: the most of the newest 256 waits that lasted for their whole time."""

    WINDOW = 256

    def __init__(self):
        self._newest_ns = collections.deque(maxlen=self.WINDOW)

    @property
    def most_ns(self):
        return max(self._newest_ns, default=0)

    def add(self, late_ns):
        """Below 0 where a request ended the wait."""
        if late_ns >= 0:
            self._newest_ns.append(late_ns)


class Planning:
    """Not for several threads at once: who owns it has a lock."""

    def __init__(self, batch_sizes, latency_ns):
        """batch_sizes: of requests, offered. latency_ns: of a request; 0: no limit."""
        self._latency_ns = latency_ns
        self.train_times = ServiceTimes()
        self.infer_times = BatchTimes(batch_sizes)
        self.oversleeping = Oversleeping()
        self._arrived_ns = None  # newest request
        self._arrivals = Arrivals()
        self._planned_for = 1  # requests that wait when the minibatch that begins ends, if it is of training
        self._kept = KeptOut()
        self._reopening = Reopening(self.infer_times, latency_ns)

    def arrived(self, now_ns):
        """A request came."""
        self._arrived_ns = now_ns
        self._arrivals.add(now_ns)

    def state(self, queue, batch_size, now_ns, **wishes):
        """Planned with is an inference minibatch of those that wait and of those that may come meanwhile, at
        least the next one: it ends the wait, and what is due is then asked anew. wishes: what runs, and whether
        the daemon chose the batch size, as State has it."""
        train_ns, queued = self.train_times.estimate_ns, queue.wanted(now_ns)
        coming = self._arrivals.most_within(train_ns if wishes["trains"] else 0, now_ns, batch_size)
        self._planned_for = min(queued + coming, batch_size)
        return State(
            queued=queued,
            oldest_wait=max(queue.waited_ns(now_ns, 1), default=0),
            since_arrival=NEVER if self._arrived_ns is None else now_ns - self._arrived_ns,
            batch_size=batch_size,
            latency=self._latency_ns,
            train_minibatch=train_ns,
            infer_minibatch=self.infer_times.planned_ns(self._planned_for, self._latency_ns),
            oversleeps=self.oversleeping.most_ns,
            **wishes,
        )

    def judge(self, state, turn, infer_minibatches, now_ns):
        """Before what is next: what keeps training or requests out is not believed for good."""
        self._reopening.judge(state.batch_size, infer_minibatches, now_ns)
        if self._kept.judge(state, turn, now_ns):
            self.train_times.forget_largest()
            self.infer_times.forget_largest(self._planned_for)

    def try_again(self):
        """Another setting is in force, which may be faster."""
        self._reopening.try_again()
        if self._kept.try_again():  # in another mode training may well fit: it is tried once
            self.train_times.restart()
