"""gearshift simulate: equal commands print equal bytes, and a course of events ends as it should."""

import json
import unittest

from harness import SOURCE, Stack

BATCHES = "8,16,32,64"
SEARCH = SOURCE / "scripts/binary_search.lua"


class Simulate(unittest.TestCase):
    def simulate(self, stack, *more, policy=SEARCH, power="30W"):
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

    def test_a_shipped_script_goes_by_its_name_and_bayes_is_the_default(self):
        with Stack(board=False) as stack:
            board = ["--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "30W", "--json"]
            texts = [
                stack.gearshift("simulate", *board, *policy).stdout
                for policy in ([], ["--policy", "bayes"], ["--policy", SOURCE / "scripts/bayes.lua"])
            ]
            self.assertEqual(json.loads(texts[0])["ending"], "held")
            self.assertEqual(texts[0], texts[1])
            self.assertEqual(texts[0], texts[2])

    def test_a_cap_that_falls_is_searched_anew_on_a_whole_noisy_board(self):
        # Of 61,248 settings those that look fastest are all too unlikely to keep the lower cap.
        with Stack(board=False) as stack:
            for seed in range(1, 4):
                result = self.simulate(
                    stack, "--effects", "jitter,lag,noise,quantised,hotplug", "--fault",
                    "cap_steps:20W@60s", "--seed", seed, policy="bayes",
                )  # fmt: skip
                self.assertEqual(result["ending"], "held", result)
                self.assertLess(result["excess"], 0.25, result)

    def concurrent(self, stack, *more, served="mobilenet_v3"):
        return stack.gearshift(
            "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "resnet18",
            "--infer-workload", served, "--power", "30W", "--latency", "500ms", *more,
        )  # fmt: skip

    def test_training_beside_requests_is_judged_from_change_to_change(self):
        course = (
            "--arrivals", "poisson:60,x3@60s+20s", "--fault", "cap_steps:24W@100s", "--effects", "lag,quantised,jitter",
            "--hold", "220s", "--duration", "220s",
        )  # fmt: skip
        with Stack(board=False) as stack:
            one, two = (self.concurrent(stack, *course, "--json") for _ in range(2))
            self.assertEqual(one.returncode, 0, one.stderr)
            self.assertEqual(one.stdout, two.stdout)
            result = json.loads(one.stdout)
            phases = result["phases"]
            self.assertEqual([phase["begin_s"] for phase in phases], [0, 60, 80, 100])
            self.assertEqual([phase["arrivals_per_s"] for phase in phases], [60, 180, 60, 60])
            self.assertEqual([phase["cap_w"] for phase in phases], [30, 30, 30, 24])
            self.assertAlmostEqual(phases[0]["optimum"], phases[2]["optimum"])
            self.assertLess(phases[1]["optimum"], phases[0]["optimum"])
            trained = sum(phase["minibatches_per_s"] * (phase["end_s"] - phase["begin_s"]) for phase in phases)
            self.assertAlmostEqual(16 * trained, result["train_samples"], delta=64)
            # Whole minibatches alone counted before, and nearly nothing was trained under a low cap.
            for phase in phases:
                self.assertGreater(phase["minibatches_per_s"], 0.6 * phase["optimum"], phases)
            text = self.concurrent(stack, *course).stdout
            self.assertIn("the whole", text)
            self.assertIn("180.0 requests/s", text)

    def test_requests_that_come_and_go_are_no_drift(self):
        # With these seeds the end of the burst, which leaves more time to train, was taken for one.
        course = (
            "--arrivals", "poisson:60,x3@120s+30s", "--fault", "cap_steps:20W@180s", "--effects",
            "lag,noise,quantised,jitter,hotplug", "--hold", "190s", "--duration", "190s",
        )  # fmt: skip
        with Stack(board=False) as stack:
            for seed in ("16", "18"):
                log = stack.folder / f"{seed}.log"
                done = self.concurrent(stack, *course, "--seed", seed, "--log", log)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([line for line in log.read_text().splitlines() if '"drift"' in line], [])

    def test_a_burst_that_ends_is_noticed_and_a_cap_that_falls_makes_few_requests_late(self):
        course = (
            "--arrivals", "poisson:60,x3@120s+30s", "--fault", "cap_steps:20W@180s", "--effects",
            "lag,noise,quantised,jitter,hotplug", "--json",
        )  # fmt: skip
        with Stack(board=False) as stack:
            for seed in ("3", "4"):
                late = []
                for lasts in ("180s", "190s"):
                    log = stack.folder / f"{seed}-{lasts}.log"
                    times = ("--hold", lasts, "--duration", lasts)
                    done = self.concurrent(stack, *course, *times, "--seed", seed, "--log", log)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    late.append(json.loads(done.stdout)["requests"]["late"])
                notes = [json.loads(line) for line in log.read_text().splitlines()]
                rates = [note["time_s"] for note in notes if note["note"] == "arrivals"]
                self.assertTrue(any(150 < time_s < 152.5 for time_s in rates), rates)
                # The lowest mode refused 60 a second, for a second or two.
                self.assertLessEqual(late[1] - late[0], 25, late)
                after = [n["setting"] for n in notes if n["note"] == "setting" and n["time_s"] >= 180]
                self.assertEqual(after[0]["run"], "infer", after)

    def test_training_between_batches_like_clockwork_counts_whole_minibatches(self):
        with Stack(board=False) as stack:
            done = self.concurrent(stack, "--rate", "60", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertTrue(result["solved"], result)
            self.assertNotIn("phases", result)
            for setting in (result["chosen"], result["optimum"]):
                window_s = setting["setting"]["infer_batch"] / 60
                whole = setting["minibatches_per_s"] * window_s
                self.assertAlmostEqual(whole, round(whole), places=6)
                self.assertLessEqual(setting["power_w"], 30)
            self.assertAlmostEqual(
                result["loss"],
                1 - result["chosen"]["minibatches_per_s"] / result["optimum"]["minibatches_per_s"],
            )
            tables = [stack.folder / "train.csv", stack.folder / "infer.csv"]
            for table, kind, name, batch in zip(
                tables, ("train", "infer"), ("resnet18", "mobilenet_v3"), ("16", "1,4,16,32,64")
            ):
                made = stack.gearshift(
                    "model", "profile", "--board", "jetson-agx-orin", "--workload", name, "--kind", kind, "--batch",
                    batch, "-o", table,
                )  # fmt: skip
                self.assertEqual(made.returncode, 0, made.stderr)
            measured = stack.gearshift(
                "simulate", "--problem", "concurrent", "--profile", tables[0], "--infer-profile", tables[1], "--rate", "60",
                "--latency", "500ms", "--power", "30W", "--json",
            )  # fmt: skip
            self.assertEqual(measured.returncode, 0, measured.stderr)
            best = json.loads(measured.stdout)["optimum"]
            self.assertAlmostEqual(
                best["minibatches_per_s"], result["optimum"]["minibatches_per_s"], places=3
            )

    def test_a_pair_that_cannot_be_simulated_is_refused_with_the_flag_to_give(self):
        with Stack(board=False) as stack:
            for served, flags, word in (
                ("mobilenet_v3", (), "--rate"),
                ("mobilenet_v3", ("--rate", "60", "--objective", "energy"), "--objective"),
                ("alexnet", ("--rate", "60"), "mobilenet_v3-infer"),
            ):
                done = self.concurrent(stack, *flags, served=served)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(word, done.stderr)

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

    def test_a_search_behind_coarse_readings_keeps_away_from_the_cap_after_a_cut(self):
        steps = [f"cap_steps:{cap}@{time}s" for cap, time in (("21W", 30), ("34W", 60), ("21W", 90))]
        with Stack(board=False) as stack:
            done = stack.gearshift(
                "simulate", "--board", "jetson-agx-orin", "--workload", "mobilenet_v3", "--power", "34W", "--policy",
                SOURCE / "scripts/roofline.lua", "--effects", "hotplug,lag,quantised", "--duration", "120s",
                "--hold", "1h", "--seed", "4", "--json", *(word for step in steps for word in ("--fault", step)),
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            # One after the other is cut at the cap otherwise: 21 steps down, 9,800 samples, and not 13 and 10,512.
            self.assertLessEqual(result["guard_steps"], 14, result)
            self.assertGreater(result["train_samples"], 10200, result)
            self.assertEqual(result["infer_samples"], 0)
            self.assertLessEqual(result["longest_over_cap_s"], 0.3)

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

    def test_what_was_exported_yesterday_spares_a_search_its_measurements(self):
        with Stack(board=False) as stack:
            board = ["--board", "jetson-agx-orin", "--workload", "resnet18"]
            board += ["--effects", "jitter,noise,quantised"]
            for keep in ("cpu_cores=4,8,12", "cpu_mhz=422.4,1036.8,1651.2,2201.6", "mem_mhz=665.6,2133,3199"):
                board += ["--keep", keep]
            sweep, table = stack.folder / "sweep.db", stack.folder / "resnet18.csv"
            stack.gearshift("simulate", *board, "--policy", "full_sweep", "--power", "35W", "--record", sweep)
            done = stack.gearshift("export", sweep, "--profile", "-o", table)
            self.assertEqual(done.returncode, 0, done.stderr)
            measured = []
            for prior in ([], ["--prior", table]):
                done = stack.gearshift("simulate", *board, "--power", "30W", "--seed", 2, "--json", *prior)
                result = json.loads(done.stdout)
                measured.append(result["measurements"])
                self.assertLessEqual(result["chosen"]["power_w"], 30)
            self.assertLess(2 * measured[1], measured[0])
            excess = result["chosen"]["minibatch_ms"] / result["optimum"]["minibatch_ms"] - 1
            self.assertLess(excess, 0.1)

    def test_faults_change_what_a_search_comes_to_and_it_replays(self):
        with Stack(board=False) as stack:
            throttled = self.simulate(stack, "--fault", "board_throttles:gpu_mhz=612@8s..60s")
            self.assertEqual(throttled["ending"], "held")
            self.assertLessEqual(throttled["chosen"]["setting"]["gpu_mhz"], 612)
            self.assertGreater(throttled["not_applied"], 0)
            blind = self.simulate(stack, "--fault", "reading_missing@3s")
            self.assertEqual(blind["ending"], "safe")
            recording = stack.folder / "run.recording"
            capped = self.simulate(
                stack, "--fault", "cap_steps:20W@30s", "--fault", "reading_stuck@5s..15s",
                "--fault", "trainer_vanishes@18s..22s", "--fault", "helper_vanishes@24s..26s",
                "--record", recording,
            )  # fmt: skip
            self.assertEqual((capped["cap_w"], capped["solved"]), (20, True))
            self.assertGreater(capped["duration_s"], 30)
            replay = stack.gearshift("replay", recording)
            self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)

    def test_what_cannot_be_used_is_named_with_the_way_out(self):
        with Stack(board=False) as stack:
            policy = stack.script("return nil")
            board = ["--board", "jetson-agx-orin"]
            for words, named, code in (
                ([*board, "--workload", "resnet50"], "resnet18", 2),
                ([*board, "--workload", "resnet18", "--keep", "gpu_mhz=5"], "1300.5", 2),
                ([*board, "--workload", "resnet18", "--keep", "fan=5"], "cpu_cores", 2),
                ([*board, "--workload", "resnet18", "--effects", "all,jitter"], "unapplied", 2),
                ([*board, "--workload", "resnet18", "--fault", "knob_lie"], "knob_lies:KNOB", 2),
                ([*board, "--workload", "resnet18", "--fault", "knob_lies:fan"], "cpu_cores", 2),
                (["--profile", "/nowhere.csv"], "/nowhere.csv", 1),
                ([], "--profile", 2),
            ):
                done = stack.gearshift("simulate", "--policy", policy, *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(named, done.stderr)
            done = stack.gearshift("simulate", *board, "--workload", "resnet18", "--policy", "beyes")
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("there are bayes, ", done.stderr)


if __name__ == "__main__":
    unittest.main()
