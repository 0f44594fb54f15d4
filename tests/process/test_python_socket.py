#!/usr/bin/env python3
"""When the Python client's socket connects anew; in made-up time."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing

import zmq
from gearshift.daemon_socket import DaemonSocket

SECOND_NS = 10**9


class Patience(ClientTest):
    def socket(self, endpoint):
        made = DaemonSocket(endpoint, "", self.fail)
        self.addCleanup(made.end)
        self.addCleanup(made.close, 0)
        return made

    @staticmethod
    def seconds_until_given_up(made):
        made.connect(0)
        waited = 0
        while made._connected_endpoint:
            waited += 1
            made.disconnect_if_stuck(waited * SECOND_NS)
        return waited - 1

    def test_over_tcp_it_doubles_up_to_a_minute(self):
        """Looking a name up may take longer than that, and begins again with each connection."""
        made = self.socket("tcp://127.0.0.1:9")
        self.assertEqual([self.seconds_until_given_up(made) for _ in range(7)], [3, 6, 12, 24, 48, 60, 60])

    def test_over_ipc_it_stays(self):
        made = self.socket(self.endpoint)
        self.assertEqual([self.seconds_until_given_up(made) for _ in range(3)], [3, 3, 3])

    def test_a_message_ends_it(self):
        context = zmq.Context()
        self.addCleanup(context.term)
        router = context.socket(zmq.ROUTER)
        self.addCleanup(router.close, 0)
        router.setsockopt(zmq.RCVTIMEO, 1000 * DEADLINE_SECONDS)
        made = self.socket(f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}")
        for _ in range(3):
            self.seconds_until_given_up(made)
        made.connect(0)
        self.until(lambda: made.send(b"x"))
        router.send_multipart(router.recv_multipart())
        self.until(lambda: list(made.frames()))
        made._disconnect()
        self.assertEqual(self.seconds_until_given_up(made), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
