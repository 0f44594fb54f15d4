#!/usr/bin/env python3
"""How a Python client leaves: where nothing holds it any more, from a collector, in a forked child."""

import gc
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest
import weakref
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, LOADER, ROOT, ClientTest  # skips where a package is missing

import gearshift


class Forgotten(ClientTest):
    """As in a notebook whose cell is run again: it would be managed for good, and the new client observed only."""

    def forgotten(self):
        """A welcomed daemon, and a client in a list that alone holds it; its connection."""
        daemon = self.daemon()
        held = [gearshift.attach("lenet", batch_size=16, endpoint=self.endpoint)]
        self.addCleanup(held[0]._connection.close)
        daemon.attach()
        self.until(lambda: held[0].attached)
        return daemon, held, held[0]._connection

    def left(self, daemon, link):
        daemon.expect("bye")
        link._thread.join(DEADLINE_SECONDS)
        self.assertFalse(link._thread.is_alive() or link.attached)

    def test_it_says_bye(self):
        daemon, held, link = self.forgotten()
        for _ in held[0].batches(LOADER):
            break
        held.clear()
        gc.collect()
        self.left(daemon, link)

    def test_a_user_s_error_is_no_reason_to_stay(self):
        daemon = self.daemon()
        links = []

        def cell():
            client = gearshift.attach("lenet", batch_size=16, endpoint=self.endpoint)
            links.append(client._connection)
            self.addCleanup(links[0].close)
            daemon.attach()
            self.until(lambda: client.attached)
            for _ in client.batches(LOADER):
                raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            cell()
        gc.collect()
        self.left(daemon, links[0])

    def test_nothing_but_the_program_holds_it(self):
        daemon, held, link = self.forgotten()
        there = weakref.ref(held.pop())
        self.assertIsNone(there(), gc.get_referrers(there()))

    def test_in_the_midst_of_anything(self):
        for thread in ("training", "other"):
            with self.subTest(thread):
                daemon, held, link = self.forgotten()
                ran = threading.Event()

                def forget(take=link._take):
                    held.clear()  # a collector runs where it likes, with the lock held too
                    ran.set()

                link._take = lambda frame: forget()
                daemon.send("heartbeat")
                if thread == "training":
                    link.wait()
                self.assertTrue(ran.wait(DEADLINE_SECONDS))
                self.left(daemon, link)
                daemon.die()

    def test_the_program_s_end_is_its_own(self):
        text = f"import gearshift, time\nclient = gearshift.attach('lenet', endpoint={self.endpoint!r})\n"
        text += "while not client.attached: time.sleep(0.001)"
        daemon = self.daemon()
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "bridge" / "python")}
        with subprocess.Popen([sys.executable, "-c", text], env=environment) as program:
            self.addCleanup(program.kill)
            daemon.attach()
            daemon.expect("bye")
            self.assertEqual(program.wait(DEADLINE_SECONDS), 0)

    def test_a_closed_one_says_no_second_bye(self):
        daemon, held, link = self.forgotten()
        held[0].close()
        held.clear()
        daemon.expect("bye")
        self.assertEqual(daemon.drain(), [])


class Held(ClientTest):
    """While libzmq looks up the name of the daemon's host it does not end."""

    def setUp(self):
        super().setUp()
        self.over = threading.Event()
        self.addCleanup(self.over.set)

    def looking(self, client):
        """Its libzmq does, until the test is over. The connection."""
        link = client._connection
        end = link._socket.end
        link._socket.end = lambda: (self.over.wait(DEADLINE_SECONDS), end())
        return link

    def test_it_waits_no_longer_than_half_a_second(self):
        daemon, client = self.attached()
        link = self.looking(client)
        with mock.patch.object(link._thread, "join", wraps=link._thread.join) as join:
            client.close()
        join.assert_called_once_with(0.5)
        self.assertTrue(link._thread.is_alive())
        daemon.expect("bye")
        self.over.set()
        link._thread.join(DEADLINE_SECONDS)
        self.assertFalse(link._thread.is_alive())

    def test_the_training_thread_does_not_wait_where_it_says_bye_itself(self):
        daemon, client = self.attached()
        link = self.looking(client)
        with link._holding():
            client._connection.let_go()
        self.assertTrue(link._thread.is_alive())
        daemon.expect("bye")


class Forked(ClientTest):
    def in_a_child(self, work):
        """Runs it in a forked child; what that told, and what work() returned."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                with self.assertLogs("gearshift", logging.WARNING) as logs:
                    returned = work()
                    logging.getLogger("gearshift").warning("the end")
                os.write(writing, json.dumps([logs.output, returned]).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            told, returned = json.loads(pipe.read())
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return told[:-1], returned

    def test_a_child_is_attached_to_nothing_and_says_so_once(self):
        daemon, client = self.attached()
        self.assertTrue(client.managed)

        def work():
            for _ in range(3):
                self.step(client)
            list(client.batches(LOADER))
            return [client.attached, client.managed]

        told, returned = self.in_a_child(work)
        self.assertEqual(returned, [False, False])
        self.assertEqual(len(told), 1, told)
        self.assertIn("attached before a fork: this process reports nothing; attach in it", told[0])
        self.assertTrue(client.attached and client.managed)

    def test_a_child_that_trains_nothing_says_nothing(self):
        _, client = self.attached()
        self.assertEqual(self.in_a_child(lambda: [client.attached, client.wanted_batch_size, client.close()]),
                         ([], [False, 16, None]))

    def test_a_child_trains_and_serves_through_an_interleaver(self):
        served = []
        interleaver = gearshift.Interleaver(lambda: None, lambda batch: served.extend(batch) or batch, name="lenet",
                                            endpoint=self.endpoint)  # fmt: skip
        self.addCleanup(interleaver.close)
        link = interleaver._trainer._connection
        self.until(lambda: link._flushed_ns and not link._lock.locked())  # else no child ever gets the lock

        def work():
            signal.alarm(10)
            interleaver.submit(1)
            interleaver.run(1)  # requests are to be reported in it
            return [served, interleaver.train_minibatches > 0]

        self.assertEqual(self.in_a_child(work)[1], [[1], True])

    def test_who_closed_it_knows(self):
        _, client = self.attached()
        client.close()
        with self.assertNoLogs("gearshift", logging.WARNING):
            self.step(client)
        self.assertFalse(client.attached or client.managed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
