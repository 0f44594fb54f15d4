"""What becomes of a server's requests: the errors of those that get no answer, and the counts that the daemon hears of."""

from __future__ import annotations

from collections.abc import Mapping, Set

USUAL_NS = 500 * 10**6
SHORTEST_NS = 100 * 10**6
MOST_QUEUED = 65536
# More in one span are counted, and in no quantile but the maximum.
MOST_LATENCIES = 8192


class RequestNotServed(RuntimeError):
    """A request got no answer; what() says why. RequestRefused and RequestDropped are the cases."""


class RequestRefused(RequestNotServed):
    """At its arrival so many requests waited that it would have been late, or as many as may wait."""


class RequestDropped(RequestNotServed):
    """When its turn came it was late already, or the server closed, or its run() ended by stop() or an error."""


def refusal(queued, size, infer_ns, latency_ns) -> RequestRefused:
    """Of a request at whose arrival `queued` others wait; it would be among `size` that take infer_ns."""
    if queued >= MOST_QUEUED:
        return RequestRefused(f"{queued} requests wait, which is the most")
    return RequestRefused(
        f"{queued} requests wait, and {size} take {infer_ns / 1e6:.1f} ms: this one would be answered later "
        f"than {latency_ns / 1e6:g} ms"
    )


def drop(futures, why):
    """Ends requests that nobody will answer."""
    for future in futures:
        future.set_exception(RequestDropped(why))


def drop_late(entries, now_ns, latency_ns):
    """Ends requests, as Waiting has them, that would be answered too late."""
    for arrived_ns, _, future in entries:
        waited_ms, latency_ms = (now_ns - arrived_ns) / 1e6, latency_ns / 1e6
        future.set_exception(RequestDropped(f"it waited {waited_ms:.1f} ms of {latency_ms:g} ms"))


def answers_of(answers, requests):
    """What a model gave as a list; raises ValueError where that is not one answer to each of so many requests. What
    computes late, or iterates over something else than its length counts, shows so here."""
    _check_count(answers, requests)
    listed = list(answers)
    _check_count(listed, requests)
    return listed


def _check_count(answers, requests):
    try:
        count = None if isinstance(answers, (Mapping, Set)) else len(answers)
    except TypeError:  # None where it forgot to return them, a generator
        count = None
    if count is None:
        raise ValueError(
            f"infer gave {type(answers).__name__}: give a list of as many answers as there are requests, {requests}"
        )
    if count != requests:
        raise ValueError(f"infer gave {count} answers to {requests} requests")


class RequestLog:
    """Counts what becomes of requests, and says when the daemon is to hear of it.

    Not for several threads at once. Times are nanoseconds of any clock that never goes back."""

    def __init__(self, latency_ns, now_ns):
        """latency_ns: a request answered later than that is late; 0: none is."""
        self._latency_ns = latency_ns
        self._moved = False  # the last report told of requests
        self._begin(now_ns)

    def _begin(self, now_ns):
        self._began_ns = now_ns
        self._arrived = self._served = self._late = self._refused = self._latency_max_ns = 0
        self._latencies_ns = []

    def arrived(self):
        self._arrived += 1

    def answered(self, latency_ns):
        self._served += 1
        if self._latency_ns and latency_ns > self._latency_ns:
            self._late += 1
        if len(self._latencies_ns) < MOST_LATENCIES:
            self._latencies_ns.append(latency_ns)
        self._latency_max_ns = max(self._latency_max_ns, latency_ns)

    def refused(self):
        """Or dropped: it is never answered."""
        self._refused += 1
        self._late += 1

    def ended(self, waited_ns):
        """Without an answer, and for no setting's fault: infer failed, run() ended, or nobody wanted it any more. It is
        counted where it was late by then, as dropped."""
        if self._latency_ns and waited_ns > self._latency_ns:
            self.refused()

    def take_due(self, now_ns, queued):
        """The counts since the last time as a dict, or None where none are due.

        They are due twice a second while requests come or wait, once more when that ends, and within
        a tenth of a second after one was late.
        """
        span_ns = now_ns - self._began_ns
        if span_ns < SHORTEST_NS or (span_ns < USUAL_NS and not self._late):
            return None
        moves = self._holds_some() or queued > 0
        if not moves and not self._moved:
            self._began_ns = now_ns  # an idle time is no span
            return None
        self._moved = moves
        return self._take(now_ns, queued)

    def take_rest(self, now_ns):
        """As take_due(), at once, where nothing waits and no more is to come: what the daemon would else never hear of.
        None where there is nothing."""
        return self._take(now_ns, 0) if self._holds_some() else None

    def _holds_some(self):
        return self._arrived + self._served + self._refused > 0

    def _take(self, now_ns, queued):
        ordered = sorted(self._latencies_ns)
        counts = {
            "span_ns": max(now_ns - self._began_ns, 1),
            "arrived": self._arrived,
            "served": self._served,
            "late": self._late,
            "refused": self._refused,
            "queued": queued,
            "latency_p50_ns": quantile(ordered, 50),
            "latency_p95_ns": quantile(ordered, 95),
            "latency_p99_ns": quantile(ordered, 99),
            "latency_max_ns": self._latency_max_ns,
        }
        self._begin(now_ns)
        return counts

    def next_due_ns(self):
        """When take_due() may next have something, unless a request comes or is answered."""
        return self._began_ns + (SHORTEST_NS if self._late else USUAL_NS)


def quantile(ordered, percent):
    """The value at rank ceil(percent of all), from the first; 0 where there is none."""
    return ordered[(percent * len(ordered) + 99) // 100 - 1] if ordered else 0
