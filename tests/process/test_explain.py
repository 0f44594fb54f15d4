"""`gearshift explain`: of a running daemon, and the same of its recording."""

import json
import signal
import unittest

from harness import Stack, wait_until

# Measures three settings, of which the first is over the cap, and holds the best that fits.
SEARCH = """
local best
for _, gpu in ipairs({9, 3, 1}) do
  local seen = measure({cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[gpu],
                        mem_mhz = knobs.mem_mhz[3]})
  if seen.within and (best == nil or seen.value < best.value) then best = seen end
end
return best and best.setting
"""


class Explain(unittest.TestCase):
    def test_a_daemon_and_its_recording_say_the_same(self):
        with Stack() as stack:
            recording = stack.folder / "run.db"
            daemon = stack.daemon(stack.script(SEARCH), "--record", recording, power="27W")
            empty = json.loads(
                stack.gearshift("explain", "--json", "--control", stack.control).stdout
            )
            self.assertEqual((empty["tried"], empty["holding"]), ([], "nothing"))
            stack.trainer()
            hold = daemon.note("hold")
            done = stack.gearshift("explain", "--json", "--control", stack.control)
            self.assertEqual(done.returncode, 0, done.stderr)
            live = json.loads(done.stdout)
            self.assertEqual(live["holding"], "choice")
            self.assertEqual(live["setting"], hold["setting"])
            self.assertEqual((live["cap_w"], live["cap_source"]), (27, "operator"))
            observations = daemon.notes("observation")
            self.assertEqual(len(live["tried"]), 3)
            for told, seen in zip(live["tried"], observations):
                self.assertEqual(told["setting"], seen["setting"])
                self.assertEqual(told["reason"], seen["reason"])
                self.assertAlmostEqual(told["power_w"], seen["power_w"], places=2)
                # An answer has no room for these, and no zeros instead.
                self.assertGreater(min(seen["power_max_w"], seen["duration_s"]), 0)
                for field in ("power_max_w", "duration_s", "confidence"):
                    self.assertIsNone(told[field])
                self.assertEqual("train" in told, "train" in seen)
                for field in ("minibatch_ms_stddev", "minibatch_ms_p99", "fetch_stall_ms", "compute_ms"):
                    self.assertIsNone(told.get("train", {field: None})[field])
                self.assert_predicted(told)
            text = stack.gearshift("explain", "--control", stack.control).stdout
            self.assertIn("27.0 W, set by operator", text)
            self.assertIn("the policy chose it", text)
            self.assertRegex(text, r"\nmodel +predicted [\d.]+ ms a minibatch \(time [+-]\d+ %\) and")
            self.assertRegex(text, r"over the cap.*; predicted [\d.]+ ms a minibatch and [\d.]+ W")
            self.assertIn("a cap below", text)

            stack.gearshift("cap", "26W", "--control", stack.control)
            self.assertEqual(daemon.note("goal")["cap_w"], 26)
            daemon.note("hold")
            after = json.loads(
                stack.gearshift("explain", "--json", "--control", stack.control).stdout
            )
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            done = stack.gearshift("explain", recording, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            recorded = json.loads(done.stdout)
            fields = ("holding", "setting", "why", "cap_w", "cap_source", "objective", "predicted")
            for field in fields:
                self.assertEqual(recorded[field], after[field], field)
            for entry in recorded["tried"]:
                self.assertGreater(entry["duration_s"], 0)
                self.assertGreater(entry.get("train", {"minibatch_ms_p99": 1})["minibatch_ms_p99"], 0)
            settings = [[entry["setting"] for entry in one["tried"]] for one in (recorded, after)]
            self.assertEqual(*settings)
            self.assertIn("tried", stack.gearshift("explain", recording).stdout)

    def test_a_status_tells_no_time_before_the_first_minibatch(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(SEARCH))
            stack.trainer("--batch-size", "65536", "--batch-sizes", "65536")
            daemon.note("attached")
            told = []

            def known():
                told.append(stack.gearshift("status", "--control", stack.control).stdout)
                return "batch size" in told[-1]

            wait_until(known)
            self.assertRegex(told[-1], r"\ntrain +batch size 65536\n")

    def assert_predicted(self, told):
        """The virtual board is the model with noise: measured is what was predicted, about."""
        predicted = told["predicted"]
        self.assertGreater(predicted["power_w"], 5)
        if told["ok"]:
            self.assertAlmostEqual(told["power_w"] / predicted["power_w"], 1, delta=0.1)
            self.assertAlmostEqual(
                told["train"]["minibatch_ms"] / predicted["minibatch_ms"], 1, delta=0.1
            )

    def test_a_recording_of_a_weighted_goal_is_explained_by_its_reference(self):
        with Stack(board=False) as stack:
            recording = stack.folder / "weighted.db"
            done = stack.gearshift(
                "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--objective",
                "weighted", "--power", "30W", "--policy", stack.script(SEARCH), "--record", recording,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            told = json.loads(stack.gearshift("explain", recording, "--json").stdout)
            self.assertEqual(told["holding"], "choice")
            self.assertEqual(told["best"]["observation"]["setting"], told["setting"])
            text = stack.gearshift("explain", recording).stdout
            self.assertNotIn("reference not measured yet", text)
            self.assertIn("the best first", text)

    def explained(self, stack, *words):
        """What explain says of the recording of a simulation, as text and as JSON."""
        recording = stack.folder / "limits.db"
        done = stack.gearshift("simulate", *words, "--record", recording, "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)
        return stack.gearshift("explain", recording).stdout, json.loads(stack.gearshift("explain", recording, "--json").stdout)

    def test_a_script_that_names_no_setting_is_told_why_the_safe_one_is_held(self):
        with Stack(board=False) as stack:
            # The field is `setting`.
            script = stack.script("return measure(modes[#modes // 2]).settings\n", "typo.lua")
            command = [
                "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "30W",
                "--policy", script,
            ]  # fmt: skip
            why = "the policy found no setting"
            told = stack.gearshift(*command).stdout
            self.assertRegex(told, rf"no choice: .*\n  why      {why}\n")
            self.assertEqual(json.loads(stack.gearshift(*command, "--json").stdout)["safe_why"], why)

    def test_what_stands_in_for_a_choice_is_not_told_as_the_safe_setting(self):
        with Stack(board=False) as stack:
            script = stack.script("measure(modes[#modes // 4])\nmeasure(modes[#modes])\nreturn modes[#modes]\n")
            text, told = self.explained(
                stack, "--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "30W", "--policy", script,
                "--duration", "700s",
            )  # fmt: skip
            self.assertEqual(told["holding"], "fallback")
            self.assertIn("it stands in for a choice: the policy's choice is known not to fit the cap", text)
            self.assertTrue(next(one for one in told["tried"] if one["setting"] == told["setting"])["ok"])

    def test_a_search_that_waits_is_told_with_what_is_in_force(self):
        with Stack(board=False) as stack:
            script = stack.script("measure(modes[#modes])\nreturn modes[#modes]\n")
            text, told = self.explained(
                stack, "--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "22W", "--policy", script,
                "--duration", "20s", "--effects", "lag,noise",
            )  # fmt: skip
            self.assertEqual((told["holding"], told["setting"]["cpu_cores"]), ("safe", 1))
            self.assertIn("why           the safe setting: the search waits: ", text)

    def test_the_limits_beside_the_cap_are_told_and_what_breaks_them(self):
        with Stack(board=False) as stack:
            board = ["--board", "jetson-agx-orin", "--power", "30W", "--policy", stack.script(SEARCH)]
            text, told = self.explained(stack, *board, "--workload", "resnet18", "--energy-per-sample", "0.1J")
            self.assertIn("\nlimits        at most 0.1 J a sample\n", text)
            self.assertRegex(text, r", 0\.\d+ J of 0\.1 J a sample")
            self.assertEqual(told["energy_limit_j"], 0.1)
            self.assertIn("energy", told["tried"][-1]["breaks"])
            text, told = self.explained(stack, *board, "--workload", "mobilenet_v3", "--problem", "infer", "--rate", "90", "--latency", "2ms")
            self.assertIn("\nlimits        90 requests/s, latency up to 2.0 ms\n", text)
            self.assertRegex(text, r", answers in [\d.]+ ms of 2 ms|, falls behind 90 requests/s")
            self.assertEqual((told["latency_ms"], told["arrivals_per_s"]), (2, 90))
            self.assertTrue(told["tried"])
            for one in told["tried"]:
                self.assertTrue(not one["ok"] or {"rate", "latency"} & set(one["breaks"]), one)

    def test_what_is_no_recording_and_nobody_are_said_so(self):
        with Stack(board=False) as stack:
            letter = stack.script("dear database, " * 20, "letter.db")
            done = stack.gearshift("explain", letter)
            self.assertEqual(done.returncode, 1)
            self.assertIn("letter.db", done.stderr)
            self.assertEqual(stack.gearshift("explain", "--control", stack.control).returncode, 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
