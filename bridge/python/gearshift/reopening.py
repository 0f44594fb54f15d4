"""When what the times measured keep out is tried again: requests, and training beside them."""

from __future__ import annotations

import logging

from gearshift.interleaving import Patience, planned_latency, training_fits

log = logging.getLogger("gearshift")

MINIBATCHES_OF_TRUST = 8


class Reopening:
    """Minibatches whose requests would all be late are not run: what is known of them is forgotten after a second,
    and where that is too long again after two, and so on."""

    def __init__(self, times, latency_ns):
        """times: BatchTimes of the minibatches. latency_ns: 0: no request is late."""
        self._times = times
        self._latency_ns = latency_ns
        self._patience = Patience()
        self._reopened_at = 0  # minibatches then
        self._told = False

    def judge(self, batch_size, minibatches, now_ns):
        """Called before each turn. batch_size: in force; minibatches: run so far. Warns once where what
        was tried again was again longer than the whole latency, even for one request."""
        longest_ns = planned_latency(self._latency_ns)
        if self._latency_ns <= 0 or self._times.estimate_ns(batch_size) <= longest_ns:
            self._patience.end()
            if minibatches - self._reopened_at >= MINIBATCHES_OF_TRUST:
                self._patience.restart()
            return
        again, one_ns = self._patience.tried, self._times.estimate_ns(1)
        if not self._patience.over(now_ns):
            return
        self._reopened_at = minibatches
        self._times.forget_longer(longest_ns)
        if again and one_ns > self._latency_ns and not self._told:
            self._told = True
            one_ms, latency_ms = one_ns / 1e6, self._latency_ns / 1e6
            log.warning(
                "a request takes %.3g ms, its latency is %.3g ms: none can be answered in time", one_ms, latency_ms
            )

    def try_again(self):
        """Another setting is in force, which may be faster."""
        if self._patience.waits:
            self._times.forget_longer(planned_latency(self._latency_ns))
            self._patience.end()
            self._patience.restart()


class KeptOut:
    """Training that waits because its minibatch is too long takes no times, so one slow minibatch could stop it for
    good: the longest is forgotten after a second, the next after two, and so on."""

    def __init__(self):
        self._patience = Patience()
        self._in_a_row = 0  # training minibatches since it last waited

    def judge(self, state, turn, now_ns):
        """Called with what is next; True where the longest times are to be forgotten."""
        if turn == "train":
            self._patience.end()
            self._in_a_row += 1
            if self._in_a_row == MINIBATCHES_OF_TRUST:
                self._patience.restart()
            return False
        if not state.trains or training_fits(state):
            return False
        self._in_a_row = 0
        return self._patience.over(now_ns)

    def try_again(self):
        """Another setting is in force; True where training waits, so that its times are to be taken anew."""
        waits = self._patience.waits
        if waits:
            self._patience.restart()
        return waits
