"""A board on a battery: its plan caps the board, and at the reserve the trainer waits, live."""

import json
import signal
import unittest

from harness import Stack

HOLD = """
return modes[#modes // 2]
"""


class Battery(unittest.TestCase):
    def test_a_trainer_waits_at_the_reserve(self):
        with Stack(battery="100mWh") as stack:
            daemon = stack.daemon(stack.script(HOLD), "--battery", "auto", "--reserve", "50%")
            stack.trainer()
            status = daemon.note("status")
            while status["phase"] != "paused":
                self.assertIn("battery", status)
                self.assertAlmostEqual(status["battery"]["capacity_wh"], 0.1, 6)
                status = daemon.note("status")
            self.assertEqual(status["cap_source"], "battery")
            self.assertLessEqual(status["battery"]["energy_wh"], 0.05)
            self.assertIn("battery leaves no power", daemon.notes("safe")[-1]["text"])
            asked = stack.gearshift("status", "--json", "--control", stack.control)
            self.assertEqual(json.loads(asked.stdout)["phase"], "paused")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual((stack.mount / ".virtual/battery/empty").read_text().strip(), "0")

    def test_a_board_without_a_battery_is_told_apart(self):
        with Stack() as stack:
            refused = stack.gearshift(
                "run", "--sysroot", stack.mount, "--battery", "auto", "--state", stack.folder
            )
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn("--battery 10Wh", refused.stderr)


if __name__ == "__main__":
    unittest.main()
