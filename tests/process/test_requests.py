"""`gearshift requests` and `gearshift simulate --arrivals`: requests one by one, in virtual time."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.path.abspath(os.environ.get("GEARSHIFT_BINARY", "build/gearshift"))
TIMES = ["--infer-time", "4=18ms", "--infer-time", "16=50ms", "--train-time", "40ms"]


def gearshift(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def requests(*arguments):
    done = gearshift("requests", "--batch-size", 16, "--latency", "500ms", "--json", *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Requests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_minutes_add_up_and_equal_commands_print_equal_bytes(self):
        found = requests("--arrivals", "poisson:60", *TIMES, "--minutes", 10)
        self.assertEqual(len(found["minutes"]), 10)
        for name in ("arrived", "served", "late", "train_minibatches", "infer_minibatches"):
            self.assertEqual(found[name], sum(minute[name] for minute in found["minutes"]), name)
        self.assertEqual(found["share_in_time"], 1)
        self.assertLessEqual(found["latency_p50_ms"], found["latency_p99_ms"])
        self.assertLessEqual(found["latency_max_ms"], 500)
        # What inference leaves of a second: 60 / 16 minibatches of 50 ms are not training's.
        self.assertAlmostEqual(found["train_minibatches_per_s"], (1 - 60 / 16 * 0.05) / 0.04, delta=0.4)
        one, two = (gearshift("requests", "--arrivals", "mmpp:10,90,5s", "--batch-size", 16, *TIMES, "--jitter", "5%").stdout
                    for _ in range(2))  # fmt: skip
        self.assertEqual(one, two)
        self.assertIn("training minibatches a second", one)

    def test_a_trace_comes_scaled_and_bursts_come_on_top(self):
        trace = self.folder / "trace.csv"
        trace.write_text("t_s,tokens\n" + "".join(f"{i * 0.5},1\n" for i in range(100)))
        plain = requests("--arrivals", f"trace:{trace},20", *TIMES, "--minutes", 4)
        self.assertAlmostEqual(plain["arrived"], 4800, delta=20)
        burst = requests("--arrivals", f"trace:{trace},20,x3@1m+30s", *TIMES, "--minutes", 4)
        minutes = [minute["arrived"] for minute in burst["minutes"]]
        self.assertAlmostEqual(minutes[1], 2400, delta=20)
        self.assertAlmostEqual(minutes[0], 1200, delta=20)

    def test_what_is_not_answered_is_late_for_ever(self):
        found = requests("--arrivals", "poisson:700", *TIMES, "--minutes", 2)
        self.assertIsNone(found["latency_p99_ms"])
        self.assertEqual(found["share_in_time"], 0)
        self.assertGreaterEqual(found["late"], found["refused"] + found["dropped"])
        self.assertGreater(found["refused"], 0)

    def test_errors_name_the_option_and_the_way_out(self):
        for arguments, words in (
            (["--arrivals", "uniform:60", *TIMES], "poisson:RATE"),
            (["--arrivals", "poisson:0", *TIMES], "--arrivals 'poisson:0': no requests come; give a rate above 0"),
            (["--arrivals", "mmpp:0,0,5s", *TIMES], "--arrivals 'mmpp:0,0,5s': no requests come"),
            (["--arrivals", "poisson:60,x0@0s+2h", *TIMES], "no requests come in 60 minutes"),
            (["--arrivals", "poisson:60"], "--infer-profile"),
            (["--arrivals", "poisson:60", "--infer-time", "4=18ms"], "--batch-size 16"),
            (["--arrivals", "poisson:60", "--infer-time", "sixteen"], "16=50ms"),
            (["--arrivals", "poisson:60,x200@0s+1h", *TIMES], "4.32e+07 requests at this rate, bursts included"),
            (["--arrivals", "poisson:60,x1000000@0s+1h", *TIMES], "6e+07 requests a second come, above a million"),
        ):
            done = gearshift("requests", "--batch-size", 16, *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
        missing = gearshift("requests", "--batch-size", 16, "--arrivals", "trace:/nowhere.csv,60", *TIMES)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("/nowhere.csv", missing.stderr)

    def test_a_table_of_the_other_kind_is_refused(self):
        tables = {}
        for workload, kind in (("resnet18", "train"), ("mobilenet_v3-infer", "infer")):
            tables[kind] = self.folder / f"{kind}.csv"
            made = gearshift("model", "profile", "--board", "jetson-agx-orin", "--workload", workload, "--kind", kind,
                             "--batch", 16, "--keep", "cpu_cores=12", "--keep", "cpu_mhz=2201.6", "-o", tables[kind])  # fmt: skip
            self.assertEqual(made.returncode, 0, made.stderr)
        infer, train = tables["infer"], tables["train"]
        for infer, train, told in (
            (train, infer, f"--infer-profile {train}: has no infer workload; it has resnet18 (train)"),
            (infer, infer, f"--profile {infer}: has no train workload; it has mobilenet_v3 (infer)"),
            (infer, train, ""),
        ):
            done = gearshift("requests", "--arrivals", "poisson:60", "--batch-size", 16, "--minutes", 1,
                             "--infer-profile", infer, "--profile", train)  # fmt: skip
            self.assertEqual(done.returncode, 2 if told else 0, done.stderr)
            self.assertIn(told, done.stderr)

    def test_the_controller_serves_requests_that_come_one_by_one(self):
        done = gearshift("simulate", "--board", "jetson-agx-orin", "--workload", "mobilenet_v3-infer", "--problem", "infer",
                         "--keep", "cpu_cores=4,8,12", "--keep", "gpu_mhz=306,612,918,1300.5", "--json",
                         "--arrivals", "poisson:40", "--latency", "500ms", "--hold", "60s")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["arrivals_per_s"], 40)
        fared = found["requests"]
        self.assertGreater(fared["arrived"], 40 * 60)
        self.assertGreaterEqual(found["duration_s"], 60)
        self.assertLess(fared["late"], 0.01 * fared["arrived"])
        self.assertEqual(found["ending"], "held")
        self.assertTrue(found["solved"])

    def test_a_batch_size_that_is_given_twice_counts_once(self):
        told = [gearshift("simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "resnet18",
                          "--infer-workload", "mobilenet_v3", "--rate", 60, "--policy", "maxn", "--keep", "cpu_cores=4,12",
                          "--keep", "gpu_mhz=306,1300.5", "--batch-sizes", sizes)
                for sizes in ("16", "16,16")]  # fmt: skip
        self.assertEqual([done.returncode for done in told], [0, 0], told[1].stderr)
        self.assertEqual(told[0].stdout, told[1].stdout)

    def test_an_evaluation_holds_its_choices_beside_requests(self):
        grid = ["--keep", "cpu_cores=4,12", "--keep", "cpu_mhz=729.6,2201.6", "--keep", "gpu_mhz=306,1300.5",
                "--keep", "mem_mhz=3199"]  # fmt: skip
        for workload, batches, kind in (("resnet18", "16", "train"), ("mobilenet_v3-infer", "1,4,16", "infer")):
            made = gearshift("model", "profile", "--board", "jetson-agx-orin", "--workload", workload, "--batch", batches,
                             "--kind", kind, *grid, "-o", self.folder / f"{kind}.csv")  # fmt: skip
            self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn(",mobilenet_v3,infer,", (self.folder / "infer.csv").read_text(), "as a server calls itself")
        trace = self.folder / "trace.csv"
        trace.write_text("t_s\n" + "".join(f"{i * 0.5}\n" for i in range(100)))
        report = self.folder / "report.json"
        command = ["evaluate", "--problem", "concurrent", "--profile", self.folder / "train.csv", "--infer-profile",
                   self.folder / "infer.csv", "--caps", "40", "--latency-ms", "500", "--rate", "30,60", "--policy", "bayes",
                   "--requests", f"poisson,trace:{trace}", "--minutes", "5", "--json", report]  # fmt: skip
        done = gearshift(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Held beside requests that come one by one", done.stdout)
        rows = json.loads(report.read_text())["rows"]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertTrue(row["solved"])
            self.assertEqual([one["arrivals"] for one in row["requests"]], ["poisson", "trace"])
            for one in row["requests"]:
                self.assertEqual(one["share_in_time"], 1)
                # Whole minibatches between two of inference are at most what the time left allows.
                self.assertGreater(one["train_minibatches_per_s"], 0.9 * row["minibatches_per_s"]["chosen"])
        wrong = gearshift(*[{f"poisson,trace:{trace}": "uniform"}.get(word, word) for word in command])
        self.assertEqual(wrong.returncode, 2, wrong.stderr)
        self.assertIn("poisson or trace:FILE", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
