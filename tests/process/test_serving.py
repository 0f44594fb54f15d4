"""A program that trains and serves by turns on the mounted virtual board, under a real daemon: requests
are answered in time, and a setting that cannot is left before the policy is asked."""

import json
import os
import signal
import unittest

from harness import Stack, skip_all

FAST = "{cpu_cores = 8, cpu_mhz = 1344, gpu_mhz = 918, mem_mhz = 3199, train_batch = 16, infer_batch = %d}"
SLOW = "{cpu_cores = 4, cpu_mhz = 729.6, gpu_mhz = 306, mem_mhz = 2133, train_batch = 16, infer_batch = %d}"
SERVE = ["--serve", "mobilenet_v3", "--serve-batch-size", "4", "--arrivals", "poisson:60", "--latency", "500ms",
         "--batch-sizes", "16", "--json"]  # fmt: skip

if not os.path.exists("/dev/fuse") or os.geteuid() != 0:
    skip_all("needs root and /dev/fuse")


class Serving(unittest.TestCase):
    def run_script(self, stack, text):
        daemon = stack.daemon(stack.script(text), "--objective", "throughput", power="45W")
        daemon.note("status")
        return daemon, stack.trainer(*SERVE)

    def test_trains_beside_requests_that_are_answered_in_time(self):
        with Stack() as stack:
            before = stack.knobs()
            setting = FAST % 4
            daemon, program = self.run_script(stack, f"measure({setting}) return {setting}")
            self.assertIn("requests a second", daemon.note("arrivals")["text"])
            measured = daemon.note("observation", ok=True)
            self.assertGreater(measured["train"]["count"], 0)
            self.assertGreater(measured["infer"]["count"], 0)
            daemon.note("hold")
            # Training attaches a moment before serving, and a policy that asks in between finds no inference
            # batch: how late requests are is looked at from the choice on.
            daemon.note("status")
            late = arrived = 0
            for _ in range(5):
                status = daemon.note("status")
                late += status["requests"]["late"]
                arrived += status["requests"]["arrived"]
            self.assertGreater(arrived, 100)
            self.assertLessEqual(late, 0.05 * arrived)
            self.assertEqual(status["latency_ms"], 500)
            self.assertGreater(status["requests"]["served"], 0)
            shown = stack.gearshift("status", "--control", stack.control)
            self.assertIn("a second are planned for", shown.stdout)
            program.finish(signal.SIGINT)
            done = json.loads(program.lines[-1])
            self.assertGreater(done["train_minibatches"], 20)
            self.assertGreater(done["served"], 100)
            daemon.finish(signal.SIGINT)
            self.assertGreater(daemon.summary()["requests"]["arrived"], arrived)
            self.assertEqual(stack.knobs(), before)

    def test_where_no_objective_is_given_the_batch_of_requests_is_tuned_beside_training(self):
        with Stack() as stack:
            recording = stack.folder / "run.db"
            daemon = stack.daemon("bayes", "--record", recording)
            daemon.note("status")
            program = stack.trainer("--serve", "mobilenet_v3", "--arrivals", "poisson:60", "--latency", "500ms")
            self.assertEqual(daemon.note("objective")["text"], "throughput, the default beside requests")
            held = daemon.note("hold")["setting"]
            self.assertGreater(held["infer_batch"], 1)
            self.assertEqual(held["run"], "both")
            shown = stack.gearshift("status", "--control", stack.control).stdout
            self.assertIn("throughput, the default beside requests", shown)
            program.finish(signal.SIGINT)
            self.assertEqual(daemon.note("objective")["text"], "time")
            daemon.finish(signal.SIGINT)
            self.assertTrue(json.loads(stack.gearshift("replay", recording, "--json").stdout.splitlines()[-1])["equal"])

    def test_a_setting_that_answers_late_is_left_for_one_that_does_not(self):
        with Stack() as stack:
            # One request at a time in a slow mode: more arrive than it can answer.
            good, bad = FAST % 4, SLOW % 1
            daemon, _ = self.run_script(
                stack, f"measure({good}) local slow = measure({bad}) log(slow.reason) return {good}"
            )
            self.assertEqual(daemon.note("observation", ok=True)["setting"]["infer_batch"], 4)
            daemon.note("late")
            # Before the policy is asked: the next setting is the one that is known to serve.
            self.assertEqual(daemon.note("setting")["setting"]["gpu_mhz"], 918)
            self.assertEqual(daemon.note("policy_log")["text"], "late")
            self.assertEqual(daemon.note("hold")["setting"]["infer_batch"], 4)


if __name__ == "__main__":
    unittest.main()
