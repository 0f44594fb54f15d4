"""A board that throttles while a setting is held: noticed, searched anew, and replayed, live."""

import json
import signal
import sqlite3
import unittest

from harness import Stack

SEARCH = """
local function mode(cores)
  return {cpu_cores = cores, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
          mem_mhz = knobs.mem_mhz[3]}
end
log(("%d known at the start"):format(#observations))
local best = measure(mode(8))
local other = measure(mode(4))
return best.setting
"""


class Drift(unittest.TestCase):
    def test_clocks_that_throttle_in_mid_hold_are_noticed_and_searched_anew(self):
        with Stack() as stack:
            path = stack.folder / "run.db"
            daemon = stack.daemon(stack.script(SEARCH), "--record", path)
            stack.trainer()
            daemon.note("hold")
            while daemon.note("status")["repeats"] < 2:
                continue
            stack.fault("clock_percent", "70")
            drift = daemon.note("drift")
            self.assertIn(drift["quantity"], ("train minibatch time", "power"))
            self.assertGreater(drift["statistic"], drift["threshold"])
            self.assertGreaterEqual(drift["repeats"], 2)
            self.assertIn("setting", drift)
            self.assertIn("expected", drift["text"])
            slower = drift["quantity"] != "power"
            self.assertEqual(drift["measured"] > drift["expected"], slower, drift["text"])
            # The repeat that showed it is known, and answers for its setting; all else is measured anew.
            repeat = daemon.note("observation")
            self.assertEqual((repeat["setting"], repeat["ok"]), (drift["setting"], True))
            known = daemon.note("policy_log")
            self.assertEqual(known["text"], "1 known at the start")
            other = daemon.note("observation")
            self.assertEqual((other["setting"]["cpu_cores"], other["ok"]), (4, True))
            daemon.note("hold")
            status = daemon.note("status")
            while status["phase"] != "holding":
                status = daemon.note("status")
            self.assertEqual(status["drifts"], 1)
            asked = stack.gearshift("status", "--json", "--control", stack.control)
            self.assertEqual(json.loads(asked.stdout)["drifts"], 1)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            replayed = stack.gearshift("replay", path, "--json")
            self.assertEqual(replayed.returncode, 0, replayed.stdout + replayed.stderr)
            with sqlite3.connect(path) as database:
                noted = database.execute("SELECT text FROM notes WHERE type = 'drift'").fetchall()
            self.assertEqual([text for (text,) in noted], [drift["text"]])


if __name__ == "__main__":
    unittest.main()
