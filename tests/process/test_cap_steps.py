"""Shipped scripts in a simulated search whose cap moves: what the old cap cut or allowed is not the last word."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from harness import BINARY, DEADLINE_S

COLUMNS = "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,minibatch_ms,power_w"
# One row a clock of the GPU: of these 522.75 MHz is the best within 25 W, and over 20 W.
CLOCKS = ((114.75, 300, 12), (216.75, 200, 15), (318.75, 140, 18), (522.75, 100, 20.6), (930.75, 70, 30),
          (1300.5, 60, 40))
STEP_S = 300


class Steps(unittest.TestCase):
    def after_step(self, policy, first, then):
        """The notes of a search under `first` from the moment on at which the cap is `then`."""
        with tempfile.TemporaryDirectory() as folder:
            profile, log = pathlib.Path(folder, "few.csv"), pathlib.Path(folder, "log.jsonl")
            rows = [f"jetson-agx-orin,few,train,16,8,1344,{mhz},3199,{ms},{watts}" for mhz, ms, watts in CLOCKS]
            profile.write_text("\n".join([COLUMNS, *rows, ""]))
            arguments = [BINARY, "simulate", "--profile", profile, "--board", "jetson-agx-orin", "--policy", policy]
            arguments += ["--power", first, "--fault", f"cap_steps:{then}@{STEP_S}s", "--hold", "600s"]
            arguments += ["--duration", "900s", "--log", log]
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            notes = [json.loads(line) for line in log.read_text().splitlines()]
        return [note for note in notes if note["time_s"] > STEP_S]

    def test_a_stepped_cap_is_the_schedules_and_the_one_before_the_operators(self):
        with tempfile.TemporaryDirectory() as folder:
            log, recording = pathlib.Path(folder, "log.jsonl"), pathlib.Path(folder, "run.recording")
            arguments = [BINARY, "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "30W"]
            arguments += ["--policy", "maxn", "--fault", "cap_steps:40W@5s..10s", "--fault", "cap_steps:20W@15s"]
            arguments += ["--duration", "30s", "--hold", "30s", "--log", log, "--record", recording]
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            notes = [note for note in map(json.loads, log.read_text().splitlines()) if note["note"] == "goal"]
            told = [(note["cap_w"], note["text"]) for note in notes]
            self.assertEqual(told, [(30, "operator"), (40, "schedule"), (30, "operator"), (20, "schedule")])
            replay = subprocess.run([BINARY, "replay", recording], capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)

    def test_what_a_lower_cap_cut_is_tried_again(self):
        for policy in ("bayes", "roofline", "powertrain", "thompson", "ogd", "gradient", "binary_search"):
            with self.subTest(policy):
                told = [note for note in self.after_step(policy, "20W", "25W") if note["note"] == "observation"]
                self.assertIn(522.75, {note["setting"]["gpu_mhz"] for note in told if note["ok"]})

    def test_a_script_asks_for_nothing_that_memory_answers(self):
        arguments = [BINARY, "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "resnet18"]
        arguments += ["--infer-workload", "mobilenet_v3", "--latency", "500ms", "--arrivals", "poisson:80"]
        arguments += ["--policy", "binary_search", "--power", "30W", "--effects", "all", "--duration", "1500s"]
        for i, watts in enumerate((25, 20, 15, 40, 10, 30)):
            arguments += ["--fault", f"cap_steps:{watts}W@{200 * (i + 1)}s"]
        done = subprocess.run([*arguments, "--hold", "1400s", "--json"], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["policy_errors"], 0)

    def test_a_price_on_time_needs_no_job(self):
        many = ["--board", "jetson-agx-orin", "--workload", "resnet18"]
        few = [*many, *(f"--keep={knob}" for knob in ("cpu_cores=4,12", "cpu_mhz=729.6,2201.6", "gpu_mhz=306,1300.5"))]
        for flags in (many, [*few, "--keep=mem_mhz=3199", "--batch-sizes", "8,16,32"]):
            with self.subTest(flags=len(flags)):
                arguments = [BINARY, "simulate", *flags, "--policy", "thompson", "--objective", "target"]
                arguments += ["--priced-power", "60W", "--duration", "300s", "--json"]
                done = subprocess.run(arguments, capture_output=True, text=True, timeout=DEADLINE_S)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(done.stdout)
                self.assertEqual(told["policy_errors"], 0, told)

    def test_what_a_higher_cap_allowed_is_not_the_end_of_a_walk_down(self):
        arguments = [BINARY, "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "40W"]
        arguments += ["--policy", "linear_inverse", "--fault", f"cap_steps:16W@{STEP_S}s", "--hold", "600s"]
        done = subprocess.run(
            [*arguments, "--duration", "1500s", "--json"], capture_output=True, text=True, timeout=DEADLINE_S
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["ending"], "held")


if __name__ == "__main__":
    unittest.main()
