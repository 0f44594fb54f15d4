"""A board whose power monitors take half a second a file to read, as with JetPack 5."""

import signal
import time
import unittest

from harness import BINARY, HOLD, Program, Stack

BOARD = "jetson-agx-orin-jetpack5"
WATCHED_S = 15


class BlockingReads(unittest.TestCase):
    def stack(self):
        stack = Stack(board=False)
        arguments = [BINARY, "board", "--virtual", BOARD, "--mount", stack.mount, "--noise", "0%"]
        stack.board = stack.start(Program, arguments, "board")
        stack.board.wait_for(lambda line: line.startswith("ready"))
        return stack

    def test_all_of_the_energy_is_told_and_power_is_known_between_readings(self):
        with self.stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            daemon.note("status")
            stack.trainer()
            energy_j, begin = 0, time.monotonic()
            newest = begin
            with open(stack.mount / ".virtual/true_power_mw", encoding="utf-8") as file:
                while newest - begin < WATCHED_S:
                    time.sleep(0.02)
                    file.seek(0)
                    power_w, now = int(file.read()) / 1000, time.monotonic()
                    energy_j += power_w * (now - newest)
                    newest = now
            self.assertIn(" W", stack.gearshift("status", "--control", stack.control).stdout)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            summary = daemon.notes("summary")[0]
            # The first total takes three reads, and the newest one is of a moment ago.
            self.assertGreater(summary["energy_j"], 0.8 * energy_j)
            self.assertLess(summary["energy_j"], 1.2 * energy_j)
            told = [status["power_w"] is not None for status in daemon.notes("status")]
            known = told[told.index(True):]
            self.assertGreater(len(known), 5)
            self.assertTrue(all(known), known)


if __name__ == "__main__":
    unittest.main()
