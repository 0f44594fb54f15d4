"""By what rule one accelerator takes turns between training and requests, and how long its minibatches take.

The rule is that of controller/interleaving.h, value for value; a test compares the two. Times are
nanoseconds, NEVER stands for none.
"""

from __future__ import annotations

import bisect
import collections
import math
from typing import NamedTuple

NEVER = (1 << 63) - 1
SECOND_NS = 10**9
LONGEST_PATIENCE_NS = 64 * SECOND_NS


class State(NamedTuple):
    """How it stands when the accelerator is free.

    Times of minibatches are pure service times that few are above, 0 before the first.
    """

    queued: int = 0  # requests that wait
    oldest_wait: int = 0  # of the first of them
    since_arrival: int = NEVER  # of the newest request; NEVER: none came yet
    batch_size: int = 1  # requests that an inference minibatch takes at most
    latency: int = 0  # a request's, from arrival to answer; 0: no limit
    train_minibatch: int = 0
    infer_minibatch: int = 0  # of as many requests as it will answer, batch_size at most
    trains: bool = True  # training may run
    infers: bool = True  # inference may run
    oversleeps: int = 0  # how late a wait that is to end now may end
    size_is_chosen: bool = True  # batch_size by the daemon, for what full batches cost


def planned_latency(latency):
    """Minibatches end within nine tenths: the last is for what the measured times do not tell."""
    return latency - latency // 10


def arrival_memory(latency):
    """Requests count as arriving for so long after the last one."""
    return max(latency, SECOND_NS)


def training_fits(state):
    """Whether a training minibatch may start before a request that comes just after it is answered."""
    return state.latency <= 0 or (
        state.train_minibatch + state.infer_minibatch <= planned_latency(state.latency)
    )


def next_turn(state):
    """("train" | "infer" | "wait", for how long to wait at most: NEVER is until a request comes)."""
    memory = arrival_memory(state.latency)
    arriving = state.infers and (state.queued > 0 or state.since_arrival < memory)
    refuses_all = state.queued == 0 and not admits(state, 0)  # there is none for which to wait
    trains = state.trains and (not arriving or training_fits(state) or refuses_all)
    if state.infers and state.queued > 0:
        if state.queued >= max(state.batch_size, 1):
            return "infer", 0
        if not trains and state.latency <= 0 and not state.size_is_chosen:
            return "infer", 0
        latest = memory
        if state.latency > 0:
            latest = planned_latency(state.latency) - state.infer_minibatch
            latest -= 0 if trains else min(state.oversleeps, state.latency // 10)
        if state.oldest_wait + (state.train_minibatch if trains else 0) > latest:
            return "infer", 0
        return ("train", 0) if trains else ("wait", latest - state.oldest_wait + 1)
    if trains:
        return "train", 0
    return ("wait", memory - state.since_arrival) if state.trains else ("wait", NEVER)


def admits(state, under_way):
    """Whether a request that comes now is queued: no, if those before it alone make it late.

    `state.queued` is without it; `under_way` is what is left of the minibatch that runs.
    """
    if state.latency <= 0:
        return True
    minibatches = state.queued // max(state.batch_size, 1) + 1
    return under_way + minibatches * state.infer_minibatch <= state.latency


def serves(state, waited):
    """Whether the inference minibatch that begins now still answers a request that waited so long."""
    return state.latency <= 0 or waited + state.infer_minibatch <= state.latency


class ServiceTimes:
    """The newest times of one kind of minibatch, and one that few of those to come are above.

    It is the largest of the newest 64, but no more than twice their median: a lone outlier is nothing to
    plan for. The very first time is left out, since it pays for what is done once, unless it is `warm`.
    """

    WINDOW = 64

    def __init__(self, warm=False):
        self._newest = collections.deque(maxlen=self.WINDOW)
        self._warm = warm
        self.estimate_ns = 0  # 0: not known

    def add(self, elapsed_ns):
        if not self._warm:
            self._warm = True
            return
        self._newest.append(elapsed_ns)
        self._estimate()

    def forget_largest(self):
        """As if the largest had not been seen."""
        if self._newest:
            self._newest.remove(max(self._newest))
        self._estimate()

    def restart(self):
        """The times to come are others, as in another power mode."""
        self._newest.clear()
        self._estimate()

    def _estimate(self):
        ordered = sorted(self._newest)  # anew: Ctrl-C between two lists would leave them apart for good
        self.estimate_ns = min(ordered[-1], 2 * ordered[(len(ordered) - 1) // 2]) if ordered else 0


class Patience:
    """How long the times that keep something out are believed, since what waits takes none: a second, the next time
    two, and so on."""

    def __init__(self):
        self._since_ns = None
        self._wait_ns = SECOND_NS

    @property
    def waits(self):
        return self._since_ns is not None

    @property
    def tried(self):
        """It was over before, and what waits was kept out again."""
        return self._wait_ns > SECOND_NS

    def over(self, now_ns):
        """Called for as long as it is kept out: True once it has been for long enough, from when on the next wait counts."""
        if self._since_ns is None:
            self._since_ns = now_ns
        if now_ns - self._since_ns < self._wait_ns:
            return False
        self._since_ns = now_ns
        self._wait_ns = min(2 * self._wait_ns, LONGEST_PATIENCE_NS)
        return True

    def end(self):
        """It is not kept out any more."""
        self._since_ns = None

    def restart(self):
        """The next wait is a second again."""
        self._wait_ns = SECOND_NS


class BatchTimes:
    """Service times of inference minibatches by their size: one of the sizes offered, ascending.

    The first time of each number of samples is left out: on a GPU each shape is made ready when it is first run,
    which may take as long as twenty minibatches do.
    """

    def __init__(self, sizes):
        self._sizes = list(sizes)
        self._times = [ServiceTimes(warm=True) for _ in self._sizes]
        self._seen = set()  # numbers of samples

    def add(self, samples, elapsed_ns):
        """A smaller minibatch counts with the smallest size that holds it."""
        if samples not in self._seen:
            self._seen.add(samples)
            return
        self._times[self._size_for(samples)].add(elapsed_ns)

    def estimate_ns(self, samples):
        """That of the size that holds so many samples, and no less than that of a smaller size. Of a size not
        yet seen it is that of those below: by a longer one, which nothing has shown, requests would be kept
        out that alone show it. Where nothing below was seen either, it is that of the next larger."""
        return max((times.estimate_ns for times in self._known(samples)), default=0)

    def planned_ns(self, samples, latency):
        """That of so many requests that may come together. Where they would all be late, but one alone is not, it
        is the whole latency: some are answered then."""
        found = self.estimate_ns(samples)
        return min(found, latency) if self.estimate_ns(1) <= latency else found

    def most_within(self, samples, longest_ns):
        """So many samples, or fewer where they take longer than that: a size offered. `samples` where no
        size is as short."""
        if self.estimate_ns(samples) <= longest_ns:
            return samples
        smaller = (size for size in reversed(self._sizes) if size < samples)
        return next((size for size in smaller if self.estimate_ns(size) <= longest_ns), samples)

    def forget_largest(self, samples):
        """As if the largest had not been seen, of those that the estimate of so many samples is from."""
        known = self._known(samples)
        if known:
            max(known, key=lambda times: times.estimate_ns).forget_largest()

    def forget_longer(self, longest_ns):
        """Of sizes that take longer nothing is known any more."""
        for times in self._times:
            if times.estimate_ns > longest_ns:
                times.restart()

    def _size_for(self, samples):
        """Number of the smallest size that holds so many samples, else of the largest."""
        return min(bisect.bisect_left(self._sizes, samples), len(self._sizes) - 1)

    def _known(self, samples):
        """Times of what tells of so many samples: of all sizes known up to theirs, else of the next larger."""
        end = self._size_for(samples) + 1
        known = [times for times in self._times[:end] if times.estimate_ns]
        return known or [times for times in self._times[end:] if times.estimate_ns][:1]


def size_to_serve(times, waited, batch_size, latency):
    """How many requests a minibatch that begins now answers: as many as wait, or fewer where the oldest would be
    late with them and the rest is not without it. waited: how long each has, the oldest first, batch_size at most."""
    size = len(waited)
    if latency <= 0 or not 0 < size < batch_size:
        return size
    fewer = times.most_within(size, latency - waited[0])
    if fewer == size:
        return size
    rest = waited[fewer] + times.estimate_ns(fewer) + times.estimate_ns(size - fewer)
    return fewer if rest <= latency else size


class Arrivals:
    """How many requests may come within a time, by the newest of those that came."""

    NEWEST = 16

    def __init__(self):
        self._newest_ns = collections.deque(maxlen=self.NEWEST)

    def add(self, now_ns):
        self._newest_ns.append(now_ns)

    def most_within(self, span_ns, now_ns, limit):
        """Three standard deviations of a Poisson count above its mean; `limit` at most, and one at least."""
        if not self._newest_ns:
            return 1
        mean = len(self._newest_ns) * span_ns / max(now_ns - self._newest_ns[0], 1)
        return max(1, math.ceil(min(mean + 3 * math.sqrt(mean), limit)))
