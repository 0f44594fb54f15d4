"""`gearshift evaluate --problem online`: a case that takes long is stopped, and one that nothing solves is told."""

import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY
from test_evaluate import MAXN, profile_text


class Online(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.train = self.folder / "train.csv"
        self.train.write_text(profile_text())

    def test_a_second_signal_does_not_wait_for_the_case_under_way(self):
        spin = self.folder / "spin.lua"
        spin.write_text("while true do remeasure(modes[1]) end\n")
        running = subprocess.Popen(
            [Path(BINARY).resolve(), "evaluate", "--problem", "online", "--profile", self.train,
             "--policy", spin, "--measurements", "100000", "--weights", "0.5", "--threads", "1"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.kill)
        self.assertIn("0/1 rows", running.stderr.readline())
        running.send_signal(signal.SIGINT)
        self.assertIn("a second signal ends it now", running.stderr.readline())
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), -signal.SIGINT)
        running.stderr.close()

    def test_an_online_problem_that_nothing_solves_has_a_whole_line(self):
        done = subprocess.run(
            [Path(BINARY).resolve(), "evaluate", "--problem", "online", "--profile", self.train,
             "--policy", MAXN, "--caps", "5", "--weights", "0.5", "--measurements", "5", "--html", "out.html"],
            cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.startswith("maxn"))
        self.assertEqual(line.split()[-6:], ["-"] * 6)
        self.assertIn("least weighted cost", (self.folder / "out.html").read_text())


if __name__ == "__main__":
    unittest.main()
