"""`gearshift evaluate --problem recurring`: rows against brute force, and what it refuses."""

import json
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, SOURCE, Program

THOMPSON = SOURCE / "scripts/thompson.lua"
LIMITS = (100, 150, 200)
EPOCHS = {8: [6, 6, 7], 16: [7, 8, 7], 32: [12, 14, 13], 64: ["nan", 40, "nan"]}


def epoch_s(batch, limit):
    return 10 * (1 + 16 / batch) * (150 / min(limit, 150)) ** 0.7


def power_w(limit):
    return min(limit, 150) * 0.95


class Recurring(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        rows = ["device,workload,kind,batch_size,power_limit_w,epoch_s,power_w"]
        rows += [f"gpu,d-n-o,train,{batch},{limit},{epoch_s(batch, limit)},{power_w(limit)}"
                 for batch in EPOCHS for limit in LIMITS]
        (self.folder / "gpu.csv").write_text("\n".join(rows) + "\n")
        rows = ["dataset,network,optimizer,batch_size,learning_rate,target_metric,runs,epochs"]
        rows += [f"d,n,o,{batch},0.1,0.6,{len(runs)},{' '.join(map(str, runs))}"
                 for batch, runs in EPOCHS.items()]
        (self.folder / "epochs.csv").write_text("\n".join(rows) + "\n")

    def evaluate(self, *more):
        return subprocess.run(
            [Path(BINARY).resolve(), "evaluate", "--problem", "recurring", "--profile", "gpu.csv",
             "--epochs", "epochs.csv", "--policy", THOMPSON, "--json", "out.json", *more],
            cwd=self.folder, capture_output=True, text=True, timeout=60)

    def test_rows_agree_with_brute_force(self):
        done = self.evaluate("--job", "d-n-o,0.6,32,30", "--eta", "0.5", "--beta", "2",
                             "--seeds", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([row["seed"] for row in out["rows"]], [1, 2, 3])
        best = min(sum(EPOCHS[batch]) / 3 * epoch_s(batch, limit) * (power_w(limit) + 200) / 2
                   for batch in (8, 16, 32) for limit in LIMITS)
        for row in out["rows"]:
            self.assertEqual(row["recurrences"], 2 * 4 * 3)
            self.assertEqual(row["runs"], 24 + row["runs_missed"] + row["runs_stopped"]
                             + row["runs_abandoned"])
            self.assertAlmostEqual(row["best_fixed_cost_j"] / best, 1, 6)
            self.assertAlmostEqual(row["best_fixed_total_j"], 24 * row["best_fixed_cost_j"], 3)
            self.assertAlmostEqual(row["cost_ratio"],
                                   row["cumulative_cost_j"] / row["best_fixed_total_j"], 9)
            self.assertGreaterEqual(row["last_expected_ratio"], 1 - 1e-9)
            self.assertLess(row["cost_ratio"], 1.5)
        self.assertIn("gpu", done.stdout)

    def test_equal_commands_give_equal_bytes(self):
        self.evaluate()
        first = (self.folder / "out.json").read_bytes()
        self.evaluate()
        self.assertEqual((self.folder / "out.json").read_bytes(), first)

    def test_any_number_of_threads_gives_equal_bytes(self):
        for threads in ("1", "3"):
            done = self.evaluate("--seeds", "5", "--threads", threads)
            self.assertIn("5 rows in", done.stderr)
            self.assertIn(f"on {threads} threads", done.stderr)
            (self.folder / "out.json").rename(self.folder / f"{threads}.json")
        self.assertEqual((self.folder / "1.json").read_bytes(), (self.folder / "3.json").read_bytes())

    def test_tells_how_far_it_is_and_a_signal_ends_it_at_once(self):
        running = Program([Path(BINARY).resolve(), "evaluate", "--problem", "recurring", "--profile", "gpu.csv",
                           "--epochs", "epochs.csv", "--policy", THOMPSON, "--seeds", "10000", "--json", "out.json"],
                          "evaluate", cwd=self.folder)
        running.wait_for(lambda line: "/10000 rows, ETA" in line)
        self.assertEqual(running.finish(signal.SIGINT), -signal.SIGINT, running.tail())
        self.assertFalse((self.folder / "out.json").exists())

    def test_scripts_of_one_file_name_stay_apart(self):
        for name in ("old", "new"):
            (self.folder / name).mkdir()
            (self.folder / name / "thompson.lua").write_text(THOMPSON.read_text())
        done = self.evaluate("--policy", "old/thompson.lua,new/thompson.lua")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([(one["policy"], one["seeds"]) for one in out["summary"]],
                         [("thompson", 1), ("thompson (old/thompson.lua)", 1),
                          ("thompson (new/thompson.lua)", 1)])

    def test_a_policy_that_fails_costs_no_rows_and_is_told(self):
        (self.folder / "fails.lua").write_text("remeasure(modes[1])\nerror('no idea')\n")
        (self.folder / "lost.lua").write_text("while true do remeasure({power_limit_w = 100, train_batch = 64}) end\n")
        done = self.evaluate("--job", "d-n-o,0.6,32,30", "--policy", f"fails.lua,lost.lua,{THOMPSON}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fails failed in 1 of 1 row;", done.stderr)
        rows = {row["policy"]: row for row in json.loads((self.folder / "out.json").read_text())["rows"]}
        self.assertIn("no idea", rows["fails"]["failure"])
        self.assertEqual(rows["fails"]["recurrences"], 24)  # as the safe setting does them
        self.assertGreater(rows["fails"]["cost_ratio"], 1)
        self.assertNotEqual(rows["lost"]["failure"], "")
        self.assertEqual((rows["lost"]["recurrences"], rows["lost"]["cost_ratio"], rows["lost"]["regret_j"]), (0, None, None))
        self.assertEqual((rows["thompson"]["failure"], rows["thompson"]["recurrences"]), ("", 24))

    def test_what_it_refuses_names_the_way_out(self):
        for flags, words in ((["--eta", "2"], "--eta 2: must be from 0 to 1"),
                             (["--beta", "0.5"], "--beta 0.5"),
                             (["--job", "d-n-o,0.6"], "WORKLOAD,TARGET,BATCH,MOST_EPOCHS"),
                             (["--csv", "a.csv"], "--csv")):
            done = self.evaluate(*flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
        job = ["--job", "d-n-o,0.6,32,30"]
        for flags, words in ((["--job", "other,0.6,32,30"], "--job 'other,0.6,32,30': no --profile has that workload; they have d-n-o"),
                             ([*job, "--job", "other,0.6,32,30"], "--job 'other,0.6,32,30': no --profile has that workload"),
                             ([*job, "--job", "d-n-o,0.6,16,30"], "--job 'd-n-o,0.6,16,30': another --job has that workload"),
                             (["--job", "d-n-o,0.6,7,30"], "no batch of 7 in --profile and --epochs, which have 8, 16, 32, 64")):
            done = self.evaluate(*flags)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    def test_a_job_whose_targets_are_seldom_reached_is_told(self):
        rows = ["dataset,network,optimizer,batch_size,learning_rate,target_metric,runs,epochs"]
        rows += [f"d,n,o,{batch},0.1,0.6,2,{'6 7' if batch == 8 else '6 nan'}" for batch in EPOCHS]
        (self.folder / "epochs.csv").write_text("\n".join(rows) + "\n")
        words = ("gpu d-n-o: no target is always reached by half of its batch sizes; "
                 "name it with --job d-n-o,TARGET,BATCH,MOST_EPOCHS")
        done = self.evaluate()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertNotIn("dataset-network-optimizer", done.stderr)
        profile = self.folder / "gpu.csv"
        profile.write_text(profile.read_text() + "gpu,d-m-o,train,8,100,20,90\n")
        rows += ["d,m,o,8,0.1,0.6,2,6 7"]
        (self.folder / "epochs.csv").write_text("\n".join(rows) + "\n")
        done = self.evaluate()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual([row["job"] for row in json.loads((self.folder / "out.json").read_text())["rows"]], ["d-m-o"])
        done = self.evaluate("--job", "d-n-o,0.6,8,10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("no target", done.stderr)


if __name__ == "__main__":
    unittest.main()
