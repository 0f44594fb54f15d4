"""The demos of `make`, in virtual time: they read what `gearshift simulate --json` prints."""

import subprocess
import sys
import unittest

from harness import BINARY, SOURCE

DEMO = SOURCE / "cli/demo/demo_battery.py"


class Battery(unittest.TestCase):
    def test_every_flight_has_its_row(self):
        done = subprocess.run(
            [sys.executable, str(DEMO), "--binary", BINARY, "--no-live",
             "--epochs", "2", "--samples", "880", "--until", "120"],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        self.assertEqual(done.stderr, "")
        rows = [line for line in done.stdout.splitlines() if "over the cap" in line]
        self.assertEqual(len(rows), 4, done.stdout)
        self.assertIn("gearshift with a battery plan", rows[-1])
        self.assertIn("2.00 of 2 epochs", rows[-1])


if __name__ == "__main__":
    unittest.main()
