"""The Python client, and its interleaver, in a time that tests move."""

from unittest import mock

from client_test import ClientTest

import gearshift

MS = 10**6


class PretendedClock(ClientTest):
    """The client's clock says self.now."""

    def setUp(self):
        super().setUp()
        self.now = 10**9
        patch = mock.patch("gearshift.clock.now_ns", lambda: self.now)
        patch.start()
        self.addCleanup(patch.stop)


class PretendedTime(PretendedClock):
    """An interleaver in a time that only its minibatches and waits move on."""

    def setUp(self):
        super().setUp()
        self.train_ms, self.infer_ms = 10, 5
        self.done = []

    def train(self):
        self.now += self.train_ms * MS
        self.done.append("train")

    def infer(self, requests):
        self.now += self.infer_ms * MS
        self.done.append(len(requests))
        return [2 * request for request in requests]

    def interleaver(self, **options):
        given = {"train": self.train, "infer": self.infer, "latency_ms": 100, "batch_size": 4,
                 "batch_sizes": [1, 4, 16], "endpoint": self.endpoint, **options}
        made = gearshift.Interleaver(**given)
        self.addCleanup(made.close)
        self.told, tell = [], made._server.report_requests  # of requests, by the one that is made last
        made._server.report_requests = lambda counts: counts and (self.told.append(counts), tell(counts))

        def wait(timeout=None):
            self.now += round(timeout * 1e9)

        patch = mock.patch.object(made._news, "wait", wait)
        patch.start()
        self.addCleanup(patch.stop)
        return made

    def steps(self, interleaver, count):
        self.done.clear()
        for _ in range(count):
            interleaver.step()
        return self.done
