#!/usr/bin/env python3
"""In which order the daemon hears what an interleaver tells it over its two connections."""

import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from pretended_time import MS, PretendedTime  # skips where a package is missing

import msgpack


class BusyLock:
    """Of a connection whose other thread is at it whenever it is asked for, and not for long."""

    def __init__(self, lock):
        self._lock = lock
        self.release, self.locked = lock.release, lock.locked

    def acquire(self, timeout=-1):
        return timeout != 0 and self._lock.acquire(timeout=timeout)

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *failure):
        return self._lock.__exit__(*failure)


class Order(PretendedTime):
    def sent_by(self, client, sent):
        """Appends what the client sends, heartbeats and hellos left out."""
        socket, kind = client._connection._socket, client._connection.offer.kind
        sends = socket.send

        def send(frame):
            message = msgpack.unpackb(frame)
            if message["type"] in ("minibatch", "requests"):
                sent.append((kind, message["type"], message.get("late")))
            return sends(frame)

        patch = mock.patch.object(socket, "send", send)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_training_minibatch_that_stalled_is_told_before_the_requests_that_are_late_for_it(self):
        fake = self.daemon()
        one, sent = self.interleaver(), []
        for _ in range(2):
            fake.attach()
        self.until(lambda: one._server.attached and one._trainer.attached)
        self.steps(one, 2)
        for client in (one._trainer, one._server):
            client._connection.service_if_free()
            self.sent_by(client, sent)
        trainer = one._trainer._connection
        trainer._lock = BusyLock(trainer._lock)
        unhurried = mock.patch("gearshift.client.LONGEST_AT_IT_S", 60)  # however busy the machine is
        with unhurried, mock.patch("gearshift.connection.GATHER_NS", 10**18):  # nothing is told before it has to be
            futures = [one.submit(number) for number in range(3)]
            self.train_ms = 250
            self.assertEqual(self.steps(one, 1), ["train"])
            one.step()
            self.assertTrue(futures[0].exception(0))
            self.now += 100 * MS
            one.step()
        self.until(lambda: ("infer", "requests", 3) in sent)  # soon: that connection's other thread may be at it
        self.assertEqual(sent[0], ("train", "minibatch", None))


if __name__ == "__main__":
    unittest.main(verbosity=2)
