"""What is minimised changes while a run goes on: measured against the highest setting, and replayed."""

import json
import signal
import unittest

from harness import Stack

SEARCH = """
local best
local function look_at(answer)
  if answer.within and (not best or answer.value < best.value) then best = answer end
end
local function highest(name) return knobs[name][#knobs[name]] end
for i = 1, #observations do look_at(observations[i]) end
for _, gpu_mhz in ipairs({knobs.gpu_mhz[3], knobs.gpu_mhz[#knobs.gpu_mhz // 2]}) do
  look_at(measure({cpu_cores = highest("cpu_cores"), cpu_mhz = highest("cpu_mhz"), gpu_mhz = gpu_mhz,
                   mem_mhz = highest("mem_mhz")}))
end
log(string.format("%s, energy weight %g, value %.3f", goal.objective, goal.energy_weight, best.value))
return best.setting
"""


class Goals(unittest.TestCase):
    def goal(self, stack, *words):
        return stack.gearshift("goal", *words, "--control", stack.control)

    def status(self, stack):
        done = stack.gearshift("status", "--json", "--control", stack.control)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_weight_that_turns_from_time_to_energy_changes_the_setting(self):
        with Stack(noise="0%") as stack:
            path = stack.folder / "run.db"
            daemon = stack.daemon(
                stack.script(SEARCH), "--record", path,
                "--objective", "weighted", "--energy-weight", "0", power=None,
            )  # fmt: skip
            stack.trainer("--jitter", "0%")
            reference = daemon.note("reference")
            fast = daemon.note("hold")
            before = len(daemon.notes("observation"))
            self.assertEqual(fast["setting"], reference["setting"])
            self.assertEqual(daemon.notes("observation")[0]["setting"], reference["setting"])
            status = self.status(stack)
            self.assertEqual((status["objective"], status["energy_weight"]), ("weighted", 0))
            self.assertGreater(status["reference_ms"], 0)
            self.assertGreater(status["reference_j"], 0)

            done = self.goal(stack, "--energy-weight", "1")
            self.assertEqual((done.returncode, done.stdout), (0, "energy weight 1\n"), done.stderr)
            self.assertEqual(daemon.note("objective")["text"], "weighted, energy weight 1")
            thrifty = daemon.note("hold")
            self.assertEqual(self.status(stack)["energy_weight"], 1)
            self.refuses_what_lacks_a_number(stack)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

            measured = daemon.notes("observation")
            self.assertEqual(len(measured), before, "nothing is measured again")
            cost = {json.dumps(one["setting"]): one["train"] for one in measured}
            fast_cost = cost[json.dumps(fast["setting"])]
            thrifty_cost = cost[json.dumps(thrifty["setting"])]
            self.assertNotEqual(thrifty["setting"], fast["setting"])
            self.assertLess(thrifty_cost["energy_j"], fast_cost["energy_j"])
            self.assertGreater(thrifty_cost["sample_ms"], fast_cost["sample_ms"])
            choices = daemon.summary()["choices"]
            self.assertEqual([choice["energy_weight"] for choice in choices], [0, 1])

            done = stack.gearshift("replay", path, "--json")
            result = json.loads(done.stdout)
            self.assertEqual((done.returncode, result["equal"]), (0, True), result)

    def refuses_what_lacks_a_number(self, stack):
        for words, says in (
            (("--objective", "latency"), "rate"),
            (("--objective", "target", "--energy-weight", "0.5"), "power that prices a second"),
            (("--objective", "time", "--energy-weight", "0.5"), "objective weighted or target"),
        ):
            done = self.goal(stack, *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(says, done.stderr)
        for words in ((), ("--energy-weight", "2"), ("--objective", "speed")):
            self.assertEqual(self.goal(stack, *words).returncode, 2, words)

    def test_a_cap_that_forbids_the_highest_setting_gives_a_lower_reference(self):
        with Stack(noise="0%") as stack:
            daemon = stack.daemon(
                stack.script(SEARCH), "--objective", "weighted", "--energy-weight", "0.5",
                power="25W",
            )  # fmt: skip
            stack.trainer("--jitter", "0%")
            reference = daemon.note("reference")
            self.assertIn("the highest setting cannot be measured under this cap", reference["text"])
            tried = daemon.notes("observation")
            self.assertEqual(tried[0]["reason"], "over_limit")
            self.assertLessEqual(len(tried), 7)
            cost = [one for one in tried if one["setting"] == reference["setting"]][-1]
            self.assertLessEqual(cost["power_w"], 25)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)


if __name__ == "__main__":
    unittest.main()
