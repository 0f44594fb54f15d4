"""Power monitors whose driver is loaded after the daemon has started, as late in a boot."""

import signal
import unittest

from harness import HOLD, Stack


class LateSensors(unittest.TestCase):
    def test_monitors_that_come_late_end_the_safe_setting(self):
        with Stack() as stack:
            stack.fault("enoent", "/sys/class/hwmon")
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            self.assertIn("no ina3221", daemon.note("power_unknown")["text"])
            self.assertIsNone(daemon.note("status", phase="safe")["power_w"])
            stack.fault("enoent", "none")
            daemon.note("hold")
            status = daemon.note("status", phase="holding")
            self.assertGreater(status["power_w"], 5)
            self.assertFalse(status["power_is_estimate"])
            self.assertEqual(daemon.finish(signal.SIGINT), 0)


if __name__ == "__main__":
    unittest.main()
