#!/usr/bin/env python3
"""The Python client against a daemon that starts late, dies, restarts, lies and sends garbage."""

import collections
import contextlib
import itertools
import logging
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, LOADER, SIZES, ClientTest  # skips where a package is missing

import gearshift
import msgpack
from gearshift import wire


class Attaching(ClientTest):
    def test_to_a_daemon_that_is_there(self):
        daemon = self.daemon()
        client = self.attach()
        hello = daemon.attach()
        self.assertEqual(
            hello,
            {
                "type": "hello",
                "version": 1,
                "name": "lenet",
                "kind": "train",
                "pid": os.getpid(),
                "batch_size": 16,
                "batch_sizes": list(SIZES),
                "samples_per_epoch": 1437,
            },
        )
        self.until(lambda: client.attached and client.managed)
        self.step(client, epoch=3)
        report = daemon.expect("minibatch")
        self.assertEqual([report[key] for key in ("set", "epoch", "batch_size")], [0, 3, 16])
        client.close()
        daemon.expect("bye")

    def test_to_a_daemon_that_comes_in_mid_run(self):
        client = self.attach()
        for _ in range(100):
            self.step(client)
        daemon = self.daemon()
        daemon.attach(lambda: self.step(client))
        report = daemon.expect("minibatch", lambda: self.step(client))
        self.assertGreater(report["sequence"], 100)
        self.assertEqual([m["type"] for m in daemon.received].count("minibatch"), 1)

    def test_without_any_daemon(self):
        client = self.attach()
        with self.assertNoLogs("gearshift", logging.WARNING):
            self.assertEqual(list(client.batches(LOADER)), LOADER)
        self.assertFalse(client.attached)
        self.assertTrue(client.should_run())
        self.assertEqual((client.wanted_batch_size, client.dropped_reports), (16, 0))

    def test_again_after_the_daemon_was_killed(self):
        daemon, client = self.attached(self.daemon(silent_after_ns=3 * 10**8))
        daemon.set(1, 32)
        daemon.expect("applied", lambda: self.step(client, batch_size=32), set=1)
        daemon.die()
        self.until(lambda: not client.attached, lambda: self.step(client, batch_size=32))
        self.assertEqual(client.wanted_batch_size, 32)
        after = self.daemon()
        hello = after.attach(lambda: self.step(client, batch_size=32))
        self.assertEqual(hello["batch_size"], 32)
        report = after.expect("minibatch", lambda: self.step(client, batch_size=32))
        self.assertEqual(report["set"], 0)
        after.set(1, 64)  # numbers begin anew
        after.expect("applied", lambda: self.step(client, batch_size=64), set=1)

    def test_again_when_the_daemon_does_not_know_it(self):
        daemon, client = self.attached()
        self.step(client)
        daemon.expect("minibatch")
        daemon.send("error", code="unknown_client", message="say hello")
        daemon.expect("hello", lambda: self.step(client))

    def test_a_bye_ends_the_attachment_and_the_next_hello_follows(self):
        daemon, client = self.attached()
        daemon.send("bye")
        daemon.expect("hello", lambda: self.step(client))

    def test_a_refused_hello_is_told_once(self):
        daemon = self.daemon()
        self.attach()
        daemon.expect("hello")
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            for _ in range(3):
                daemon.send("error", code="version", message="2 is spoken here\x1b[2J, not 1")
            daemon.welcome()
            self.until(lambda: logs.output)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("version: 2 is spoken here?[2J, not 1", logs.output[0])

    def test_too_many_hellos_of_others_keep_it_out_for_a_moment_only(self):
        for code, least_s, most_s in (("too_many", 0, 3), ("version", 4, 10)):
            with self.subTest(code):
                daemon = self.daemon()
                client = self.attach()
                daemon.expect("hello")
                with self.assertLogs("gearshift", logging.WARNING) as logs:
                    daemon.send("error", code=code, message="too many hellos")
                    self.until(lambda: logs.output)
                link = client._connection
                with link._lock:
                    after_ns = link._next_hello_ns - link._heard_ns
                self.assertGreaterEqual(after_ns, least_s * 10**9)
                self.assertLessEqual(after_ns, most_s * 10**9)
                client.close()
                daemon.die()

    def test_hellos_to_a_daemon_that_stands_still_do_not_pile_up(self):
        with mock.patch("gearshift.connection.HELLO_AGAIN_NS", 10**7):
            daemon, _ = self.attached(self.daemon(heartbeat_ns=10**7, silent_after_ns=10**8))
            hellos = collections.Counter()  # by connection; the daemon finds more than four at once too many

            def take():
                message = daemon.take(100)
                hellos[daemon._peer] += bool(message) and message["type"] == "hello"

            self.until(lambda: hellos.total() >= 10, take)
        self.assertLessEqual(max(hellos.values()), 3)

    def test_heartbeats_flow_while_a_minibatch_takes_long(self):
        daemon, client = self.attached(self.daemon(heartbeat_ns=5 * 10**7))
        with client.minibatch():
            for _ in range(3):
                daemon.expect("heartbeat")

    def test_options_at_their_limits_and_past_them(self):
        checked = wire.checked_offer
        most = list(range(1, 32)) + [wire.MAX_BATCH_SIZE]
        self.assertEqual(checked("n" * 64, "infer", 1, most, 10**12).batch_sizes, tuple(most))
        self.assertEqual(checked("n", "train", 4, None, 0).batch_sizes, (4,))
        for name, kind, size, sizes, samples, said in (
            ("", "train", 1, [1], 0, "name ''"),
            ("n" * 65, "train", 1, [1], 0, "name 'nnn"),
            ("n\n", "train", 1, [1], 0, "name 'n"),
            ("n", "both", 1, [1], 0, "kind 'both'"),
            ("n", "train", 1, range(1, 34), 0, "at most 32"),
            ("n", "train", 1, [0, 1], 0, "from 1 to"),
            ("n", "train", 0, None, 0, "batch_size 0: give 1 to 1048576"),
            ("n", "train", wire.MAX_BATCH_SIZE + 1, None, 0, "batch_size 1048577: give 1 to"),
            ("n", "train", 1, [1, wire.MAX_BATCH_SIZE + 1], 0, "from 1 to"),
            ("n", "train", 1, [1, 1], 0, "larger than"),
            ("n", "train", 2, [1, 4], 0, "batch_size 2"),
            ("n", "train", 1, [1], 10**12 + 1, "samples_per_epoch"),
            ("n", "train", 1, [1], -1, "samples_per_epoch -1"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                checked(name, kind, size, sizes, samples)
        self.assertEqual(checked("n", "infer", 1, None, 0, 3600 * 1000).latency_ns, 3600 * 10**9)
        self.assertEqual(checked("n", "infer", 1, None, 0, 0.5).latency_ns, 500000)
        for latency_ms in (-1, 3600 * 1000 + 1, float("nan"), float("inf"), True, None, "100"):
            with self.assertRaisesRegex(ValueError, f"latency_ms {latency_ms!r}: it is 0"):
                checked("n", "infer", 1, None, 0, latency_ms)

    def test_options_of_another_type_are_named(self):
        class Index:  # as the integers of numpy
            def __index__(self):
                return 16

            def __int__(self):
                return 16

            def __eq__(self, other):
                return other == 16

        offer = wire.checked_offer("n", "train", Index(), (Index(), 32.0), 60000.0)
        self.assertEqual((offer.batch_size, offer.batch_sizes, offer.samples_per_epoch), (16, (16, 32), 60000))
        self.assertEqual({type(number) for number in offer.batch_sizes}, {int})
        self.assertEqual(wire.checked_offer("n", "train", 16, [], 0).batch_sizes, (16,))
        for options, said in (
            ({"name": None}, "name None: give it"),
            ({"name": 7}, "name 7: give it"),
            ({"name": "\udc80"}, r"name '\\udc80': give it"),
            ({"kind": None}, "kind None: it is 'train' or"),
            ({"batch_size": True}, "batch_size True: give a whole number"),
            ({"batch_size": "16"}, "batch_size '16': give a whole number"),
            ({"batch_size": None}, "batch_size None: give a whole number"),
            ({"batch_sizes": 16}, "batch_sizes 16: give a list"),
            ({"batch_sizes": [16, 32.5]}, "batch_sizes 32.5: give a whole number"),
            ({"batch_sizes": "16"}, "batch_sizes '1': give a whole number"),
            ({"samples_per_epoch": 10.5}, "samples_per_epoch 10.5: give a whole number"),
            ({"samples_per_epoch": float("inf")}, "samples_per_epoch inf: give a whole number"),
            ({"samples_per_epoch": float("nan")}, "samples_per_epoch nan: give a whole number"),
            ({"save": 3}, "save 3: give a function"),
            ({"synchronize": 3}, "synchronize 3: give a function"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ValueError, "^" + said):
                gearshift.attach(**{"name": "n", "endpoint": self.endpoint, **options})
        with self.assertRaisesRegex(ValueError, "^synchronize 3: give a function"):
            gearshift.Interleaver(infer=len, endpoint=self.endpoint, synchronize=3)

    def test_an_endpoint_that_is_none_is_told_once_and_training_goes_on(self):
        self.endpoint = "nonsense"
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            client = self.attach()
            self.until(lambda: logs.output)
        self.assertIn("nonsense", logs.output[0])
        self.assertEqual(list(client.batches(LOADER)), LOADER)


class Following(ClientTest):
    def test_a_batch_size_that_was_not_offered_is_refused(self):
        daemon, client = self.attached()
        daemon.set(1, 17)
        refused = daemon.expect("refused", lambda: self.step(client))
        self.assertEqual((refused["set"], refused["code"]), (1, "batch_size"))
        self.assertIn("17", refused["message"])
        self.assertEqual(client.wanted_batch_size, 16)

    def test_the_program_refuses_and_keeps_what_it_has(self):
        daemon, client = self.attached()
        daemon.set(1, 64)
        self.until(lambda: client.wanted_batch_size == 64)
        client.refuse("memory", "64 do not fit" + "\N{BLACK STAR}" * 300)
        refused = daemon.expect("refused")
        self.assertEqual((refused["set"], refused["code"]), (1, "memory"))
        self.assertLessEqual(len(refused["message"].encode()), 256)
        self.assertEqual(client.wanted_batch_size, 16)

    def test_only_the_newest_of_two_wishes_is_applied(self):
        daemon, client = self.attached()
        daemon.set(1, 32)
        daemon.set(2, 64)
        daemon.set(1, 8)  # an old number is no news
        self.until(lambda: client.wanted_batch_size == 64)
        self.step(client, batch_size=16)
        self.assertEqual(daemon.expect("minibatch")["set"], 0)
        self.step(client, batch_size=64)
        applied = daemon.expect("applied")
        self.assertEqual([applied[key] for key in ("set", "batch_size", "run")], [2, 64, "both"])
        self.assertEqual(daemon.expect("minibatch")["set"], 2)

    def paused(self, daemon, client):
        """A thread that trains until told, paused by `daemon`; returns a function that ends it."""
        done = threading.Event()

        def train():
            while not done.is_set():
                self.step(client)

        trainer = threading.Thread(target=train)
        trainer.start()

        def end():
            done.set()
            trainer.join(DEADLINE_SECONDS)
            self.assertFalse(trainer.is_alive(), "the trainer is still paused")

        self.addCleanup(done.set)
        daemon.set(1, 16, "infer")
        daemon.expect("applied", run="infer")
        return end

    def test_a_pause_and_its_end(self):
        daemon, client = self.attached(self.daemon(heartbeat_ns=5 * 10**7))
        end = self.paused(daemon, client)
        self.assertFalse(client.should_run())
        for _ in range(3):
            self.assertEqual(daemon.take(DEADLINE_SECONDS * 1000)["type"], "heartbeat")
        daemon.set(2, 16, "train")
        daemon.expect("applied", set=2, run="train")
        daemon.expect("minibatch", set=2)
        end()

    def test_a_pause_ends_when_the_daemon_dies(self):
        daemon, client = self.attached(self.daemon(silent_after_ns=3 * 10**8))
        end = self.paused(daemon, client)
        daemon.die()
        end()

    def test_a_pause_ends_when_the_daemon_says_bye_or_welcome(self):
        for word in ("bye", "welcome"):
            with self.subTest(word):
                daemon, client = self.attached()
                end = self.paused(daemon, client)
                daemon.welcome() if word == "welcome" else daemon.send("bye")
                end()
                client.close()
                daemon.die()

    def test_a_signal_may_close_it_in_a_pause(self):
        for ending in (None, SystemExit):  # what the handler raises after it
            with self.subTest(ending):
                daemon, client = self.attached()
                daemon.set(1, 16, "infer")
                self.until(lambda: not client.should_run())

                def close(*_):
                    client.close()
                    if ending:
                        raise ending

                before = signal.signal(signal.SIGUSR1, close)
                self.addCleanup(signal.signal, signal.SIGUSR1, before)
                main, poll = threading.get_ident(), client._connection._socket.poll

                def signalled(milliseconds):
                    signal.pthread_kill(main, signal.SIGUSR1)
                    poll(milliseconds)

                with mock.patch.object(client._connection._socket, "poll", signalled):
                    with self.assertRaises(SystemExit) if ending else contextlib.nullcontext():
                        client.wait_while_paused()
                daemon.expect("bye")
                self.assertFalse(client.attached)
                daemon.die()

    def test_hostile_bytes_never_reach_the_trainer(self):
        noise = random.Random(7)
        pack = msgpack.packb
        hostile = [
            b"", b"\xc1", b"\x00", pack([]), pack({}), pack({"type": 1}), pack({"type": None}),
            pack({b"\xff": 1}), b"\x81\xa4type\xa1\xff", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff",
            b"\x91" * 4000, b"\xdb\xff\xff\xff\xff", pack({"type": "set"}), pack({1: 2, "type": "set"}),
            pack({"type": "\x1b[2J"}), pack({"type": "welcome", "heartbeat_ns": "soon"}),
            pack({"type": "welcome", "heartbeat_ns": -1, "silent_after_ns": 2**64 - 1}),
            pack({"type": "error", "code": ["unknown_client"], "message": {"a": 1}}),
            pack({"type": "error", "code": "x" * 1000, "message": "y" * 2000}),
            *(pack({"type": "set", "set": number, "batch_size": size, "run": run})
              for number, size, run in itertools.product((0, -1, 2**32, 1.0, True, "1", None, []),
                                                         (16, True, 2**63, -1, "16"), ("both", "x", 1, None))),
            *(bytes(noise.randrange(256) for _ in range(noise.randrange(1, 200))) for _ in range(500)),
        ]
        daemon, client = self.attached()
        logging.getLogger("gearshift").setLevel(logging.CRITICAL)
        for frame in hostile:
            self.assertIn(type(wire.decode(frame)), (dict, type(None)))
            daemon.send_frames(frame)
            self.step(client)
        daemon.send_frames(pack({"type": "set", "set": 9, "batch_size": 8, "run": "both"}), b"second")
        daemon.set(5, 32)
        daemon.expect("applied", lambda: self.step(client, batch_size=client.wanted_batch_size), set=5)
        self.assertTrue(client.attached)

    def test_a_huge_frame_costs_the_connection_not_the_trainer(self):
        daemon, client = self.attached(self.daemon(silent_after_ns=3 * 10**8))
        daemon.send_frames(b"\x91" * 50_000_000)
        daemon.attach(lambda: self.step(client))
        daemon.expect("minibatch", lambda: self.step(client))

    def test_a_peer_that_does_not_speak_zeromq_is_survived(self):
        path = self.endpoint[len("ipc://") :]
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            listener.settimeout(DEADLINE_SECONDS)
            client = self.attach()
            with listener.accept()[0] as peer:
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
                self.until(lambda: peer.recv(4096) == b"")  # libzmq hangs up, for good
        os.unlink(path)
        self.daemon().attach(lambda: self.step(client))

    def test_a_forked_worker_is_silent(self):
        daemon, client = self.attached()
        self.step(client)
        first = daemon.expect("minibatch")["sequence"]
        child = os.fork()
        if child == 0:
            for _ in range(10):
                self.step(client)
            client.wait_while_paused()
            client.refuse("other", "a worker must not")
            client.close()
            os._exit(0 if list(client.batches(LOADER)) == LOADER else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.step(client)
        self.assertEqual(daemon.expect("minibatch")["sequence"], first + 1)
        self.assertTrue({m["type"] for m in daemon.received} <= {"hello", "minibatch", "heartbeat"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
