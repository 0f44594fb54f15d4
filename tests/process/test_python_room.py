#!/usr/bin/env python3
"""attach() where the process may open no more files or threads: one warning, and the program trains on."""

import logging
import os
import pathlib
import resource
import subprocess
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import DEADLINE_SECONDS, LOADER, ROOT, ClientTest  # skips where a package is missing

MOST_FILES = 24  # that may be open in the trainer
ENOUGH_FREE = 18  # of them


def train_with(free, endpoint):
    """Attaches where so many files more may be opened, trains and closes."""
    import gearshift

    logging.basicConfig(format="%(message)s")
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))
    while True:
        try:
            os.dup(1)
        except OSError:
            break
    os.closerange(MOST_FILES - free, MOST_FILES)
    client = gearshift.attach("lenet", endpoint=endpoint)
    trained = sum(1 for _ in client.batches(LOADER))
    client.close()
    print("trained", trained)


class Room(ClientTest):
    def trainer(self, free):
        words = [sys.executable, __file__, "train", str(free), self.endpoint]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "bridge/python")}
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=DEADLINE_SECONDS)

    def test_too_few_files_are_one_warning(self):
        """libzmq ends the process where it gets the first files that it wants and not the next ones."""
        for free in range(9):
            with self.subTest(free=free):
                done = self.trainer(free)
                self.assertEqual((done.returncode, done.stdout), (0, "trained 4\n"), done.stderr)
                told = done.stderr.splitlines()
                self.assertEqual(len(told), 1, told)
                self.assertIn("Too many open files; training goes on; raise ulimit -n", told[0])

    def test_enough_files_are_none(self):
        done = self.trainer(ENOUGH_FREE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "trained 4\n", ""))

    def test_too_few_threads_are_one_warning(self):
        """Whichever of them it is that cannot be started."""
        start = threading.Thread.start
        for few in range(4):
            left = iter(range(few))

            def start_if_left(thread):
                if next(left, None) is None:
                    raise RuntimeError("can't start new thread")
                start(thread)

            with self.subTest(few=few), self.assertLogs("gearshift", logging.WARNING) as logs:
                with mock.patch.object(threading.Thread, "start", start_if_left):
                    client = self.attach()
                self.assertEqual(sum(1 for _ in client.batches(LOADER)), 4)
                self.assertFalse(client.attached)
                client.close()
                self.assertEqual(len(logs.output), 1, logs.output)
                self.assertIn("can't start new thread; training goes on", logs.output[0])


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train_with(int(sys.argv[2]), sys.argv[3])
    else:
        unittest.main(verbosity=2)
