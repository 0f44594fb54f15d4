"""`gearshift evaluate --problem concurrent` run again and stopped: what was run is kept, and is the right pair's."""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from harness import BINARY, Program
from test_evaluate import BINARY_SEARCH, MAXN, profile_text
from test_evaluate_drift import TwoTables

NOBODY = 65534


class EvaluateConcurrent(TwoTables):
    def setUp(self):
        super().setUp()
        (self.folder / "infer.csv").write_text(profile_text(workload="served", kind="infer", batches=(1, 4, 16)))

    def command(self, *more):
        return [Path(BINARY).resolve(), "evaluate", "--problem", "concurrent", "--profile", "a.csv", "--profile", "b.csv",
                "--infer-profile", "infer.csv", "--latency-ms", "600", "--policy", f"{BINARY_SEARCH},{MAXN}",
                *map(str, more)]  # fmt: skip

    def evaluate(self, *more):
        done = subprocess.run(self.command(*more), cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_two_training_tables_beside_one_inference_table_stay_apart(self):
        flags = ["--caps", "16:32:8", "--rate", "20", "--effects", "jitter", "--threads", 1, "--results", "kept.trials", "--json"]
        self.evaluate(*flags, "first.json")
        kept = (self.folder / "kept.trials").read_text()
        self.assertEqual(kept.count("\n"), 2 * 2 * 3)
        self.evaluate(*flags, "again.json")
        self.assertEqual((self.folder / "kept.trials").read_text(), kept)
        self.assertEqual((self.folder / "again.json").read_bytes(), (self.folder / "first.json").read_bytes())
        workloads = [row["workload"] for row in json.loads((self.folder / "again.json").read_text())["rows"]]
        self.assertEqual(set(workloads), {"made-up + served", "other + served"})

    def test_a_signal_stops_what_follows_the_searches_too(self):
        flags = ["--caps", "16:40:1", "--rate", "20:60:10", "--requests", "poisson", "--minutes", 1440, "--json", "out.json"]
        running = Program(self.command(*flags), "evaluate", cwd=self.folder)
        running.wait_for(lambda line: "choices held beside requests, ETA" in line)
        self.assertEqual(running.finish(signal.SIGTERM), 1, running.tail())
        self.assertIn("stopped after 500 of 500 rows; out.json.trials has them", running.tail())
        self.assertFalse((self.folder / "out.json").exists())
        self.assertEqual((self.folder / "out.json.trials").read_text().count("\n"), 500)

    def test_another_reference_for_transfers_is_another_evaluation(self):
        state = self.folder / "gearshift"
        state.mkdir()
        user = None
        if os.geteuid() == 0:  # whose reference is the machine's
            user = NOBODY
            os.chown(self.folder, NOBODY, NOBODY)
        grids = {"concurrent": self.command("--caps", "20", "--rate", "20"),
                 "train": [Path(BINARY).resolve(), "evaluate", "--profile", "a.csv", "--caps", "20", "--policy", MAXN]}  # fmt: skip
        for problem, command in grids.items():
            (state / "reference.model").unlink(missing_ok=True)
            kept, counts = self.folder / f"{problem}.trials", []
            for reference in (None, "one", "two", "two"):
                if reference is not None:
                    (state / "reference.model").write_text(reference)
                subprocess.run([*command, "--results", kept], cwd=self.folder, check=True, capture_output=True, timeout=120,
                               user=user, env={"XDG_STATE_HOME": str(self.folder)})  # fmt: skip
                counts.append(kept.read_text().count("\n"))
            self.assertEqual(counts, [counts[0] * times for times in (1, 2, 3, 3)], problem)


if __name__ == "__main__":
    unittest.main()
