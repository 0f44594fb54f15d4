"""gearshift simulate: equal commands print equal bytes, and it agrees with a live run on the virtual
board."""

import json
import signal
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, SOURCE, Daemon, Program, Stack

BATCHES = "8,16,32,64"


def setting_of(note):
    return {name: value for name, value in note["setting"].items() if name != "run"}


class Simulate(unittest.TestCase):
    def simulate(self, stack, *more, policy=SOURCE / "scripts/binary_search.lua", power="30W"):
        done = stack.gearshift(
            "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--batch-sizes",
            BATCHES, "--policy", policy, "--power", power, "--json", *more,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_two_processes_decide_the_same_byte_by_byte_and_another_seed_does_not(self):
        with Stack(board=False) as stack:
            stack.folder.mkdir(exist_ok=True)
            logs = []
            for name, seed in (("a", 7), ("b", 7), ("c", 8)):
                path = stack.folder / name
                self.simulate(stack, "--effects", "all", "--seed", seed, "--log", path)
                logs.append(path.read_bytes())
            self.assertGreater(logs[0].count(b'"note":"observation"'), 5)
            self.assertEqual(logs[0], logs[1])
            self.assertNotEqual(logs[0], logs[2])

    def test_a_profile_is_searched_and_compared_with_its_own_optimum(self):
        rows = ["device,workload,kind,batch_size,cpu_mhz,gpu_mhz,minibatch_ms,power_w"]
        for cpu in (500, 1000, 2000):
            for gpu in (300, 600, 900):
                rows.append(f"toy,net,train,16,{cpu},{gpu},{4e4 / cpu + 2e4 / gpu},{5 + cpu / 200 + gpu / 60}")
        with Stack(board=False) as stack:
            profile = stack.folder / "toy.csv"
            profile.write_text("\n".join(rows) + "\n")
            policy = SOURCE / "scripts/full_sweep.lua"
            done = stack.gearshift(
                "simulate", "--profile", profile, "--policy", policy, "--power", "21W", "--json"
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual(result["ending"], "held")
            self.assertEqual(result["excess"], 0)
            self.assertEqual(result["chosen"]["setting"], result["optimum"]["setting"])
            self.assertLessEqual(result["chosen"]["power_w"], 21)
            kept = stack.gearshift(
                "simulate", "--profile", profile, "--policy", policy, "--power", "21W", "--json",
                "--keep", "cpu_mhz=500",
            )  # fmt: skip
            self.assertEqual(json.loads(kept.stdout)["chosen"]["setting"]["cpu_mhz"], 500)

    def test_a_recorded_simulation_replays_and_is_a_profile_itself(self):
        with Stack(board=False) as stack:
            recording = stack.folder / "run.recording"
            self.simulate(stack, "--effects", "all", "--record", recording)
            replay = stack.gearshift("replay", recording)
            self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)
            done = stack.gearshift(
                "simulate", "--trace", recording, "--missing", "nearest", "--policy",
                SOURCE / "scripts/full_sweep.lua", "--probes", "20", "--json",
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual(result["ending"], "held")
            self.assertGreater(result["filled_nearest"], 0)

    def test_what_cannot_be_used_is_named_with_the_way_out(self):
        with Stack(board=False) as stack:
            policy = stack.script("return nil")
            board = ["--board", "jetson-agx-orin"]
            for words, named, code in (
                ([*board, "--workload", "resnet"], "resnet18", 1),
                ([*board, "--workload", "resnet18", "--keep", "gpu_mhz=5"], "1300.5", 2),
                ([*board, "--workload", "resnet18", "--keep", "fan=5"], "cpu_cores", 2),
                ([*board, "--workload", "resnet18", "--effects", "all,jitter"], "unapplied", 2),
                (["--profile", "/nowhere.csv"], "/nowhere.csv", 1),
                ([], "--profile", 1),
            ):
                done = stack.gearshift("simulate", "--policy", policy, *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(named, done.stderr)


class Agreement(unittest.TestCase):
    """The same problem live on the virtual board and simulated on its model. The script measures a
    handful of settings at different places and takes the best that fits."""

    SCRIPT = """
local best
local function try(cores, cpu, gpu, mem, batch)
  local seen = measure({cpu_cores = cores, cpu_mhz = knobs.cpu_mhz[cpu], gpu_mhz = knobs.gpu_mhz[gpu],
                        mem_mhz = knobs.mem_mhz[mem], train_batch = batch})
  if seen.within and (best == nil or seen.value < best.value) then best = seen end
end
try(8, 12, 5, 3, 32)
try(8, 15, 6, 4, 32)
try(6, 15, 7, 4, 64)
try(10, 20, 7, 3, 64)
return best.setting
"""

    def live(self, noise, jitter):
        with Stack(board=False) as stack:
            stack.folder.mkdir(exist_ok=True)
            board = stack.start(
                Program,
                [BINARY, "board", "--virtual", "jetson-agx-orin", "--mount", stack.mount,
                 "--noise", noise],
                "board",
            )  # fmt: skip
            board.wait_for(lambda line: line.startswith("ready"))
            daemon = stack.daemon(stack.script(self.SCRIPT))
            daemon.note("status")
            trainer = stack.trainer("--jitter", jitter, "--batch-sizes", BATCHES)
            hold = daemon.note("hold")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            trainer.kill()
            board.finish(signal.SIGTERM)
            return hold, daemon.notes("observation")

    def simulated(self, *more):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "policy.lua"
            script.write_text(self.SCRIPT)
            log = Path(folder) / "log"
            with Stack(board=False) as stack:
                done = stack.gearshift(
                    "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18",
                    "--batch-sizes", BATCHES, "--policy", script, "--power", "30W", "--log", log,
                    *more,
                )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            notes = [json.loads(line) for line in log.read_text().splitlines()]
            holds = [note for note in notes if note["note"] == "hold"]
            return holds[-1], [note for note in notes if note["note"] == "observation"]

    def test_without_noise_the_same_setting_is_chosen_and_with_it_the_objective_is_as_good(self):
        live_hold, live = self.live("0%", "0%")
        hold, simulated = self.simulated("--effects", "lag,hotplug")
        self.assertEqual(setting_of(live_hold), setting_of(hold))
        by_setting = {json.dumps(setting_of(note), sort_keys=True): note for note in simulated}
        for note in live:
            twin = by_setting[json.dumps(setting_of(note), sort_keys=True)]
            self.assertEqual(note["ok"], twin["ok"], (note, twin))
            if note["ok"]:
                # The live board shows its power in steps of 0.4 W a rail.
                self.assertLess(abs(note["power_w"] - twin["power_w"]), 0.8)
                live_ms, twin_ms = note["train"]["sample_ms"], twin["train"]["sample_ms"]
                self.assertLess(abs(live_ms / twin_ms - 1), 0.02)
        noisy_hold, noisy = self.live("2%", "3%")
        chosen = [n for n in noisy if n["setting"] == noisy_hold["setting"] and n["ok"]][-1]
        _, seen = self.simulated("--effects", "all", "--seed", "3")
        held = [n for n in seen if setting_of(n) == setting_of(hold) and n["ok"]]
        best = min(n["train"]["sample_ms"] for n in seen if n["ok"])
        self.assertTrue(held)
        self.assertLess(abs(chosen["train"]["sample_ms"] / best - 1), 0.03)


if __name__ == "__main__":
    unittest.main()
