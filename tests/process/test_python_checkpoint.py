#!/usr/bin/env python3
"""A Python trainer saves its work when the daemon asks it to, which the test plays."""

import logging
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, ClientTest  # skips where a package is missing

class Checkpoint(ClientTest):
    def test_work_is_saved_between_two_minibatches_when_the_daemon_asks(self):
        saved = []
        daemon, client = self.attached(save=lambda: saved.append(client.should_run()))
        self.assertIs(daemon.received[0]["saves"], True)
        daemon.send("checkpoint", checkpoint=3, within_ns=30 * 10**9)
        answer = daemon.expect("saved", lambda: self.step(client))
        self.assertEqual(answer["checkpoint"], 3)
        self.assertGreaterEqual(answer["elapsed_ns"], 0)
        self.assertEqual(saved, [True])

    def test_a_save_comes_before_the_pause_that_follows_it(self):
        saved = []
        daemon, client = self.attached(save=lambda: saved.append(True))
        daemon.send("checkpoint", checkpoint=1, within_ns=30 * 10**9)
        daemon.set(1, 16, "infer")
        done = threading.Event()

        def train():
            while not done.is_set():
                self.step(client)

        trainer = threading.Thread(target=train)
        trainer.start()
        daemon.expect("applied", run="infer")
        self.assertEqual(saved, [True])
        self.assertTrue(any(message["type"] == "saved" for message in daemon.received))
        done.set()
        daemon.set(2, 16, "both")
        trainer.join(DEADLINE_SECONDS)
        self.assertFalse(trainer.is_alive(), "the trainer is still paused")

    def test_a_save_that_fails_is_told_and_training_goes_on(self):
        def save():
            raise OSError(28, "No space left on device")

        daemon, client = self.attached(save=save)
        daemon.send("checkpoint", checkpoint=3, within_ns=30 * 10**9)
        with self.assertLogs("gearshift", logging.WARNING):
            answer = daemon.expect("unsaved", lambda: self.step(client))
        self.assertIn("No space left", answer["message"])
        self.step(client)
        daemon.expect("minibatch", lambda: self.step(client))

    def test_a_trainer_that_does_not_save_is_not_disturbed_by_a_request(self):
        daemon, client = self.attached()
        self.assertNotIn("saves", daemon.received[0])
        daemon.send("checkpoint", checkpoint=3, within_ns=30 * 10**9)
        daemon.expect("minibatch", lambda: self.step(client))


if __name__ == "__main__":
    unittest.main(verbosity=2)
