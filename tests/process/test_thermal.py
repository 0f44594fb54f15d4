"""A board that may not become hot: the daemon caps it before it is, and says why."""

import json
import signal
import unittest

from harness import Stack

HOLD = """
return modes[#modes // 2]
"""


class Thermal(unittest.TestCase):
    def test_zones_are_kept_below_a_temperature(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD), "--thermal", "40C", power=None)
            stack.trainer()
            status = daemon.note("status")
            while status["cap_source"] != "thermal" or status["phase"] == "waiting":
                status = daemon.note("status")
            self.assertGreater(status["cap_w"], 1)
            asked = stack.gearshift("status", "--json", "--control", stack.control)
            self.assertEqual(json.loads(asked.stdout)["cap_source"], "thermal")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_cool_board_is_not_capped(self):
        with Stack() as stack:
            told = stack.gearshift(
                "run", "--sysroot", stack.mount, "--listen", stack.endpoint, "--control",
                stack.control, "--state", stack.state, "--duration", "2s"
            )
            self.assertEqual(told.returncode, 0, told.stderr)
            # 99 C less 3; the 70 C trip of hot-surface-alert slows nothing down.
            self.assertIn("thermal: zone tj-thermal is kept below 96.0 C", told.stdout)
            self.assertNotIn("set by thermal", told.stdout)

    def test_a_zone_that_cannot_be_read_is_named(self):
        zones = "/sys/class/thermal"
        with Stack() as stack:
            daemon = stack.daemon("binary_search", power=None)
            for zone in sorted((stack.mount / zones[1:]).glob("thermal_zone*")):
                if stack.read(f"{zones}/{zone.name}/type").strip().startswith("cpu"):
                    break
            stack.fault("eio", f"{zones}/{zone.name}/temp")
            lost = daemon.note("temperature")
            self.assertEqual(lost["zones"], 1)
            self.assertIn(f"{zone.name}/temp: EIO", lost["text"])
            asked = stack.gearshift("status", "--json", "--control", stack.control)
            self.assertEqual(json.loads(asked.stdout)["heat"], lost["text"])
            for command in ("status", "explain"):
                told = stack.gearshift(command, "--control", stack.control)
                self.assertIn("heat          no temperature for 10 s", told.stdout)
            stack.fault("eio", "none")
            self.assertEqual(daemon.note("temperature")["zones"], 0)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(len(daemon.notes("temperature")), 2)

    def test_a_dummy_of_the_firmware_holds_no_lowest_mode(self):
        """As mini PCs have it: a zone with a critical trip, and no sensor behind it."""
        with Stack(board=False) as stack:
            zone = stack.mount / "sys/class/thermal/thermal_zone0"
            zone.mkdir(parents=True)
            for name, text in {
                "type": "acpitz", "temp": "-263200", "trip_point_0_type": "critical", "trip_point_0_temp": "119000"
            }.items():
                (zone / name).write_text(text + "\n")
            told = stack.gearshift(
                "run", "--sysroot", stack.mount, "--listen", stack.endpoint, "--control",
                stack.control, "--state", stack.state, "--duration", "12s"
            )
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn("not guarded until then: it shows -263200 (milli-degrees)", told.stdout)
            self.assertNotIn("lowest mode", told.stdout)
            self.assertNotIn("set by thermal", told.stdout)

    def test_nonsense_is_refused(self):
        with Stack() as stack:
            refused = stack.gearshift("run", "--sysroot", stack.mount, "--thermal", "hot")
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn("--thermal", refused.stderr)
            self.assertIn("70C", refused.stderr)


if __name__ == "__main__":
    unittest.main()
