#!/usr/bin/env python3
"""A Python client takes turns with others, as a daemon gives them that the test plays."""

import logging
import os
import pathlib
import signal
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing

from gearshift.turns import Turn


class Turns(ClientTest):
    def take(self, client, taken):
        """In a thread: takes a turn and leaves a note."""

        def run():
            with client.turn():
                taken.set()

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_SECONDS)
        return thread

    def test_are_asked_for_given_and_ended(self):
        daemon, client = self.attached()
        for number in (1, 2):
            taken = threading.Event()
            thread = self.take(client, taken)
            self.assertEqual(daemon.expect("turn_request")["turn"], number)
            daemon.send("turn", turn=number - 1, longest_ns=10**10)  # one that is long over
            daemon.send("heartbeat")
            self.assertFalse(taken.is_set())
            daemon.send("turn", turn=number, longest_ns=10**10)
            self.assertTrue(taken.wait(DEADLINE_SECONDS))
            thread.join(DEADLINE_SECONDS)
            self.assertEqual(daemon.expect("turn_end")["turn"], number)

    def test_need_no_daemon(self):
        client = self.attach()
        with client.turn() as turn:
            self.step(client)
        self.assertLess(turn.waited_ns, 10**9)

    def test_are_waited_for_no_longer_than_the_daemon_lives(self):
        for end in ("silent", "bye", "older"):
            with self.subTest(end):
                daemon, client = self.attached(self.daemon(silent_after_ns=3 * 10**8))
                taken = threading.Event()
                thread = self.take(client, taken)
                daemon.expect("turn_request")
                if end == "bye":
                    daemon.send("bye")
                elif end == "older":
                    daemon.send("error", code="unknown_type", message="turn_request")
                self.assertTrue(taken.wait(DEADLINE_SECONDS))
                thread.join(DEADLINE_SECONDS)
                client.close()
                daemon.die()

    def test_are_asked_for_anew_in_a_new_attachment(self):
        daemon, client = self.attached()
        taken = threading.Event()
        self.take(client, taken)
        daemon.expect("turn_request", turn=1)
        daemon.welcome()  # managed from now on
        daemon.expect("turn_request", turn=2)
        daemon.send("turn", turn=2, longest_ns=10**10)
        self.assertTrue(taken.wait(DEADLINE_SECONDS))

    def test_that_are_not_answered_are_asked_for_again(self):
        daemon, client = self.attached()
        taken = threading.Event()
        thread = self.take(client, taken)
        for _ in range(3):  # too much for the daemon, which drops the first two
            self.assertEqual(daemon.expect("turn_request")["turn"], 1)
        daemon.send("turn", turn=1, longest_ns=10**10)
        daemon.send("turn", turn=1, longest_ns=10**10)  # again, since it was asked for again
        self.assertTrue(taken.wait(DEADLINE_SECONDS))
        thread.join(DEADLINE_SECONDS)
        self.assertEqual(daemon.expect("turn_end")["turn"], 1)
        self.take(client, taken)
        self.assertEqual(daemon.expect("turn_request")["turn"], 2)
        daemon.send("turn", turn=2, longest_ns=10**10)
        daemon.expect("turn_end", turn=2)

    def test_are_asked_for_again_at_every_second_look(self):
        daemon, client = self.attached()
        looks = []

        def gives_up():
            looks.append(None)
            return len(looks) == 20

        with Turn(client, gives_up) as turn:
            self.assertTrue(turn.given_up)
        daemon.expect("turn_end", turn=1)
        asked = [message for message in daemon.received if message["type"] == "turn_request"]
        self.assertGreaterEqual(len(asked), 3)

    def interrupted(self, client, when):
        """Waits for a turn, and is interrupted as by Ctrl-C once when() is true."""

        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGUSR1, interrupt)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        main = threading.get_ident()
        watching = threading.Thread(target=lambda: (when(), signal.pthread_kill(main, signal.SIGUSR1)))
        watching.start()
        with self.assertRaises(KeyboardInterrupt), client.turn():
            self.fail("it got a turn")
        watching.join(DEADLINE_SECONDS)

    def test_that_are_interrupted_while_they_are_waited_for_keep_nobody_waiting(self):
        daemon, client = self.attached()
        self.interrupted(client, lambda: daemon.expect("turn_request", turn=1))
        daemon.expect("turn_end", turn=1)
        taken = threading.Event()
        self.take(client, taken)
        daemon.expect("turn_request", turn=2)
        daemon.send("turn", turn=2, longest_ns=10**10)
        daemon.expect("turn_end", turn=2)

    def test_that_are_interrupted_when_they_are_given_are_given_back(self):
        daemon, client = self.attached()
        link = client._connection
        take_turn = link.take_turn

        def interrupted_after(*arguments):
            take_turn(*arguments)
            raise KeyboardInterrupt

        answering = threading.Thread(
            target=lambda: (daemon.expect("turn_request"), daemon.send("turn", turn=1, longest_ns=10**10))
        )
        answering.start()
        with mock.patch.object(link, "take_turn", interrupted_after):
            with self.assertRaises(KeyboardInterrupt), client.turn():
                self.fail("it got a turn")
        answering.join(DEADLINE_SECONDS)
        daemon.expect("turn_end", turn=1)

    def test_that_fail_while_they_are_waited_for_are_given_back(self):
        daemon, client = self.attached()
        with mock.patch.object(client._connection._socket, "poll", side_effect=OSError("no socket")):
            with self.assertLogs("gearshift", logging.WARNING), client.turn():
                pass
        daemon.expect("turn_end", turn=1)

    def test_a_forked_child_takes_and_ends_none(self):
        daemon, client = self.attached()
        link = client._connection
        with link._lock:  # as the other thread has it at any moment; in a child it never lets go
            child = os.fork()
            if child == 0:
                with client.turn():
                    pass
                held = Turn(client)
                held._number = 1  # given before the fork
                held.__exit__()
                os._exit(0)
        ended = []
        self.addCleanup(lambda: ended or os.kill(child, signal.SIGKILL))
        self.until(lambda: ended.extend(pid for pid in os.waitpid(child, os.WNOHANG)[:1] if pid) or ended)


class Pausing(ClientTest):
    """Whoever held a turn through a pause would keep it from all others."""

    def work(self, client):
        """In a thread: one minibatch in a turn, as the README shows; returns what was done."""
        done = []

        def run():
            with client.turn(), client.minibatch():
                done.append("minibatch")

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_SECONDS)
        return done

    def next_of(self, daemon, *types):
        """The type of the next message that is one of these."""
        taken = []
        self.until(lambda: taken and taken[-1] in types,
                   lambda: taken.append((daemon.take(100) or {"type": None})["type"]))
        return taken[-1]

    def go_on(self, daemon, done, turn):
        """The pause ends: the turn is asked for, given and ended, with a minibatch in between."""
        self.assertEqual(done, [])
        daemon.set(2, 16, "both")
        self.assertEqual(self.next_of(daemon, "turn_request", "minibatch"), "turn_request")
        self.assertEqual(daemon.received[-1]["turn"], turn)
        daemon.send("turn", turn=turn, longest_ns=10**10)
        daemon.expect("minibatch")
        daemon.expect("turn_end", turn=turn)
        self.assertEqual(done, ["minibatch"])

    def test_no_turn_is_asked_for_in_a_pause(self):
        daemon, client = self.attached()
        daemon.set(1, 16, "infer")
        self.until(lambda: not client.should_run())
        done = self.work(client)
        self.assertEqual(self.next_of(daemon, "applied", "turn_request"), "applied")
        self.go_on(daemon, done, turn=1)

    def test_a_pause_that_comes_before_the_turn_withdraws_the_request(self):
        daemon, client = self.attached()
        done = self.work(client)
        daemon.expect("turn_request", turn=1)
        daemon.set(1, 16, "infer")
        self.assertEqual(self.next_of(daemon, "turn_end", "applied"), "turn_end")
        self.assertEqual(daemon.received[-1]["turn"], 1)
        daemon.send("turn", turn=1, longest_ns=10**10)  # it was on its way
        daemon.expect("applied", run="infer")
        self.go_on(daemon, done, turn=2)

    def test_work_is_saved_before_a_turn(self):
        daemon, client = self.attached(save=lambda: None)
        done = self.work(client)
        daemon.expect("turn_request", turn=1)
        daemon.send("checkpoint", checkpoint=1, within_ns=30 * 10**9)
        self.assertEqual(self.next_of(daemon, "turn_end", "saved"), "turn_end")
        daemon.expect("saved")
        daemon.expect("turn_request", turn=2)
        self.assertEqual(done, [])
        daemon.send("turn", turn=2, longest_ns=10**10)
        daemon.expect("turn_end", turn=2)
        self.assertEqual(done, ["minibatch"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
