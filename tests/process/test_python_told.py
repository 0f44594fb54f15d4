#!/usr/bin/env python3
"""What the Python client tells its user, once, where its daemon will not do what was meant."""

import collections
import contextlib
import itertools
import logging
import pathlib
import socket
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing

import zmq
from zmq.auth.thread import ThreadAuthenticator


class Wrapped:
    """A loader behind something that hides its sampler, as a progress bar does."""

    def __init__(self, batches):
        self._batches = batches

    def __iter__(self):
        return iter(self._batches)


class Untaken(ClientTest):
    """A daemon waits for the batch size that it asked for, in the lowest mode."""

    def ask(self, daemon, client, number, batch_size):
        daemon.set(number, batch_size)
        self.until(lambda: client._connection.asked.number == number)

    def refusals(self, daemon, client, loop):
        """Asks for 64, runs 40 minibatches and closes; the messages `refused`, and what was told."""
        self.ask(daemon, client, 1, 64)
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            loop()
        client.close()
        daemon.expect("bye")
        return [m for m in daemon.received if m["type"] == "refused"], logs.output

    def check(self, loop):
        daemon, client = self.attached()
        refused, told = self.refusals(daemon, client, lambda: loop(client))
        self.assertEqual([(m["set"], m["code"]) for m in refused], [(1, "batch_size")])
        self.assertEqual(refused[0]["message"], "64: the batches stay at 16")
        self.assertEqual(len(told), 1, told)
        self.assertIn("attach() without batch_sizes", told[0])
        self.assertLess(sum(m["type"] == "minibatch" for m in itertools.takewhile(
            lambda m: m["type"] != "refused", daemon.received)), 36)
        daemon.die()

    def test_behind_a_wrapper_it_is_refused_and_told_once(self):
        self.check(lambda client: list(client.batches(Wrapped([[0] * 16] * 40))))

    def test_in_minibatches_of_no_size_too(self):
        self.check(lambda client: [self.step(client) for _ in range(40)])

    def test_the_next_ones_are_refused_at_once(self):
        daemon, client = self.attached()
        self.ask(daemon, client, 1, 64)
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            daemon.expect("refused", lambda: self.step(client, batch_size=16), set=1)
            self.ask(daemon, client, 2, 16)  # a power mode is tried at the size that is in use
            self.step(client, batch_size=16)
            daemon.expect("applied", set=2)
            self.ask(daemon, client, 3, 32)
            for _ in range(2):
                self.step(client, batch_size=16)
            daemon.expect("refused", set=3)
            self.ask(daemon, client, 4, 8)
            for size in (16, 8):  # it does follow; the one under way may have begun before
                self.step(client, batch_size=size)
            daemon.expect("applied", set=4, batch_size=8)
            self.ask(daemon, client, 5, 64)
            for size in [8] * 20 + [64]:
                self.step(client, batch_size=size)
            daemon.expect("applied", set=5)
        self.assertEqual(len(logs.output), 1)

    def test_a_loader_that_fetched_far_ahead_is_waited_for(self):
        class Sampler:
            batch_size, samples_per_epoch = 16, 10**6
            drawn = collections.deque([(16, 16)] * 100 + [(64, 64)])
            resize = lambda self, size: setattr(self, "batch_size", size)  # noqa: E731

        class Loader(Wrapped):
            batch_sampler = Sampler()

        daemon, client = self.attached()
        self.ask(daemon, client, 1, 64)
        with self.assertNoLogs("gearshift", logging.WARNING):
            list(client.batches(Loader([[0] * 16] * 100 + [[0] * 64])))
        daemon.expect("applied", set=1)
        self.assertNotIn("refused", [m["type"] for m in daemon.received])

    def test_a_server_s_batches_may_be_smaller(self):
        daemon, client = self.attached(kind="infer")
        self.ask(daemon, client, 1, 64)
        with self.assertNoLogs("gearshift", logging.WARNING):
            for _ in range(100):
                self.step(client, batch_size=3)
        client.close()
        daemon.expect("bye")
        self.assertNotIn("refused", [m["type"] for m in daemon.received])


class Observed(ClientTest):
    def test_why_it_is_not_managed_is_told_once(self):
        daemon = self.daemon()
        client = self.attach()
        daemon.expect("hello")
        said = "only observed: key drone7 lacks the right request-batch-size"
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            for _ in range(2):
                before = client._connection.attachment
                daemon.welcome(managed=False, message=said)
                self.until(lambda: client._connection.attachment > before)
        self.assertEqual([record.getMessage() for record in logs.records], [f"lenet: {said}"])
        with self.assertNoLogs("gearshift", logging.WARNING):
            daemon.welcome(managed=True, message="the other one left")
            self.until(lambda: client.managed)


@unittest.skipUnless(zmq.has("curve"), "this libzmq was built without CURVE")
class TowardsKeys(ClientTest):
    def tcp(self, **options):
        """A ROUTER with these options, which listens at self.endpoint; and its context."""
        context = zmq.Context()
        router = context.socket(zmq.ROUTER)
        self.addCleanup(context.term)
        self.addCleanup(router.close, 0)
        for option, value in options.items():
            setattr(router, option, value)
        self.endpoint = f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}"
        return router, context

    def keyed(self):
        """The public key of one that has keys, and its context."""
        public, secret = zmq.curve_keypair()
        return public, self.tcp(curve_server=True, curve_publickey=public, curve_secretkey=secret)[1]

    def told(self, **options):
        """What a client with these options is told until it was told anything, and however often it looks then."""
        with mock.patch("gearshift.daemon_socket.CONNECT_AGAIN_NS", 0), mock.patch(
            "gearshift.connection.HELLO_AGAIN_NS", 10**8
        ), self.assertLogs("gearshift", logging.WARNING) as logs:
            client = self.attach(**options)
            self.until(lambda: logs.output)
            looked, disconnect = [], client._connection._socket.disconnect_if_stuck
            client._connection._socket.disconnect_if_stuck = lambda now: (looked.append(now), disconnect(now))
            self.until(lambda: len(looked) > 2)
        return [record.getMessage() for record in logs.records]

    @contextlib.contextmanager
    def greeting(self, mechanism):
        """One that greets as a daemon of this mechanism does and then waits for ever: of one that hangs up at once
        libzmq may read the greeting or not. https://rfc.zeromq.org/spec/23/"""
        greeting = (b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism).ljust(64, b"\0")
        taken = []
        with self.closing_server(lambda connection: (taken.append(connection), connection.sendall(greeting))):
            yield
        for connection in taken:
            connection.close()

    @contextlib.contextmanager
    def closing_server(self, welcome=lambda connection: connection.close()):
        """One that does this to each connection, at self.endpoint."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.endpoint = f"tcp://127.0.0.1:{server.getsockname()[1]}"

            def take():
                with contextlib.suppress(OSError):
                    while True:
                        welcome(server.accept()[0])

            takes = threading.Thread(target=take)
            takes.start()
            try:
                yield
            finally:
                server.shutdown(socket.SHUT_RDWR)
                takes.join(DEADLINE_SECONDS)

    def wish(self):
        return "wants a key: gearshift keys client NAME there, and GEARSHIFT_KEY=FILE here"

    def test_at_a_daemon_that_has_keys_it_is_told_once(self):
        with self.greeting(b"CURVE"):
            self.assertEqual(self.told(), [f"the daemon at {self.endpoint} {self.wish()}"])

    def test_without_a_key_that_it_is_closed_at_once_is_no_silence(self):
        with self.closing_server():
            self.assertEqual(self.told(), [
                f"the daemon at {self.endpoint} closes the connection before it has heard the client: it holds as many "
                f"as it takes, 128 at most, or {self.wish()}"
            ])

    def test_at_a_real_one_that_has_keys_the_key_is_told_of(self):
        self.keyed()
        for text in self.told():
            self.assertIn(self.wish(), text)

    def key_file(self, server):
        """Of a client that trusts the daemon whose public key this is; and the client's own."""
        public, secret = (key.decode() for key in zmq.curve_keypair())
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "drone7.key"
        path.touch(mode=0o600)
        path.write_text(f"name drone7\npublic {public}\nsecret {secret}\nserver {server.decode()}\n")
        return path, public

    def closed(self):
        return [
            f"the daemon at {self.endpoint} closes the connection before it has seen the key of client drone7: it has "
            "another key than the key file's server line (gearshift keys list shows it there), uses none, or holds as "
            "many connections as it takes, 128 at most"
        ]

    def test_a_key_file_of_another_daemon_s_is_named_as_a_cause(self):
        self.keyed()
        self.assertEqual(self.told(key=self.key_file(zmq.curve_keypair()[0])[0]), self.closed())

    def test_that_the_daemon_is_full_is_named_as_a_cause(self):
        with self.closing_server():
            self.assertEqual(self.told(key=self.key_file(zmq.curve_keypair()[0])[0]), self.closed())

    def test_a_key_that_is_not_authorised_is_refused(self):
        server, context = self.keyed()
        refuses = ThreadAuthenticator(context)
        refuses.start()
        self.addCleanup(refuses.stop)
        refuses.configure_curve(location=self.enterContext(tempfile.TemporaryDirectory()))  # nobody's key is there
        path, public = self.key_file(server)
        self.assertEqual(self.told(key=path), [
            f"the daemon at {self.endpoint} refuses the key of client drone7: its operator lets the client in with "
            f"gearshift keys authorise drone7 '{public}'"
        ])

    def test_a_key_at_one_that_uses_none_is_too_much(self):
        with self.greeting(b"NULL"):
            self.assertEqual(self.told(key=self.key_file(zmq.curve_keypair()[0])[0]), [
                f"the daemon at {self.endpoint} uses no keys, and lets in nobody who has one: give the client none "
                "(GEARSHIFT_KEY), or start the daemon with --keys"
            ])

    def test_at_one_that_has_none_nothing_is_told(self):
        router, _ = self.tcp()
        with self.assertNoLogs("gearshift", logging.WARNING):
            self.attach()
            self.assertTrue(router.poll(DEADLINE_SECONDS * 1000))


if __name__ == "__main__":
    unittest.main(verbosity=2)
