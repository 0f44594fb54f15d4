"""`gearshift evaluate --problem drift`: what changes in mid-run, row by row."""

import json
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, SOURCE, Program
from test_evaluate import profile_text

BINARY_SEARCH = SOURCE / "scripts/binary_search.lua"
FIELDS = ["policy", "change", "seed", "hours", "shift", "noticed", "measurements", "from_scratch", "excess",
          "false_alarms", "failure"]


def slower_text():
    """The same board with a network that takes half as long again."""
    header, *rows = profile_text(workload="other").splitlines()
    out = [header]
    for row in rows:
        cells = row.split(",")
        cells[9] = f"{1.5 * float(cells[9]):.4f}"
        out.append(",".join(cells))
    return "\n".join(out) + "\n"


class TwoTables(unittest.TestCase):
    """A folder with the tables of two training workloads, a.csv and b.csv."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "a.csv").write_text(profile_text())
        (self.folder / "b.csv").write_text(slower_text())


class EvaluateDrift(TwoTables):
    def command(self, *more, effects="jitter,noise"):
        return [Path(BINARY).resolve(), "evaluate", "--problem", "drift", "--profile", "a.csv", "--profile", "b.csv",
                "--caps", "25,18", "--effects", effects, *map(str, more)]  # fmt: skip

    def evaluate(self, *more, **words):
        return subprocess.run(self.command(*more, **words), cwd=self.folder, capture_output=True, text=True, timeout=120)

    def test_every_change_is_noticed_and_what_is_held_keeps_the_new_cap(self):
        done = self.evaluate("--policy", BINARY_SEARCH, "--seeds", 2, "--json", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((self.folder / "out.json").read_text())["rows"]
        self.assertEqual([(row["change"], row["seed"]) for row in rows],
                         [(change, seed) for change in ("throttle", "workload", "cap", "none") for seed in (1, 2)])
        for row in rows:
            self.assertEqual(list(row), FIELDS)
            self.assertEqual((row["failure"], row["false_alarms"]), ("", 0), row)
            self.assertIsNotNone(row["excess"], "what is held at the end is over the cap")
            self.assertAlmostEqual(row["hours"], 24 if row["change"] == "none" else 2, 2)
            if row["change"] == "workload":
                self.assertAlmostEqual(row["shift"], 0.5, 3)
                self.assertLessEqual(row["noticed"], 3)
            if row["change"] == "cap":
                self.assertEqual((row["noticed"], row["shift"]), (0, None))
        self.assertIn("8 rows in", done.stderr)

    def test_no_policy_sees_a_table_of_what_it_is_judged_on(self):
        (self.folder / "sees.lua").write_text('error("sees " .. #prior)')
        done = self.evaluate("--policy", "sees.lua", "--prior", "a.csv", "--prior", "b.csv", "--json", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = {row["change"]: row["failure"] for row in json.loads((self.folder / "out.json").read_text())["rows"]}
        other = len((self.folder / "b.csv").read_text().splitlines()) - 1
        self.assertIn(f"sees {other}\n", seen["throttle"], "b.csv is of another workload")
        self.assertIn("sees 0\n", seen["workload"], "which it becomes")

    def test_the_repeat_that_shows_a_change_is_none_of_the_measurements_after_it(self):
        # All settings take half as long again: what was held before is as near to the optimum as it was.
        (self.folder / "best.lua").write_text(
            "local best\nfor i = 1, #modes do\n  local answer = measure(modes[i])\n"
            "  if answer.within and (not best or answer.value < best.value) then best = answer end\nend\n"
            "return best and best.setting\n"
        )
        done = self.evaluate("--policy", "best.lua", "--json", "out.json", effects="jitter")
        self.assertEqual(done.returncode, 0, done.stderr)
        row = next(row for row in json.loads((self.folder / "out.json").read_text())["rows"] if row["change"] == "workload")
        self.assertLessEqual(row["excess"], 0.05)
        self.assertEqual(row["measurements"], 0)
        self.assertGreater(row["from_scratch"], 1)

    def test_any_number_of_threads_gives_equal_bytes(self):
        for threads in (1, 3):
            done = self.evaluate("--policy", BINARY_SEARCH, "--seeds", 3, "--threads", threads, "--json", f"{threads}.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"on {threads} threads", done.stderr)
        self.assertEqual((self.folder / "1.json").read_bytes(), (self.folder / "3.json").read_bytes())

    def test_a_script_that_fails_is_told(self):
        (self.folder / "fails.lua").write_text("measure(modes[1])\nerror('no idea')\n")
        done = self.evaluate("--policy", "fails.lua", "--json", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fails failed in 4 of 4 rows", done.stderr)
        self.assertIn("no idea", done.stderr)
        for row in json.loads((self.folder / "out.json").read_text())["rows"]:
            self.assertIn("no idea", row["failure"])

    def test_a_file_of_several_workloads_is_told_what_works(self):
        (self.folder / "a.csv").write_text(profile_text() + slower_text().split("\n", 1)[1])
        done = self.evaluate("--policy", BINARY_SEARCH, "--json", "out.json")
        self.assertIn(done.returncode, (1, 2))
        self.assertIn("--profile a.csv: has 2 train workloads (made-up, other)", done.stderr)
        self.assertIn("give each a file of its own", done.stderr)
        self.assertNotIn("--workload", done.stderr)
        self.assertFalse((self.folder / "out.json").exists())

    def test_scripts_may_transfer(self):
        (self.folder / "transfers.lua").write_text("remeasure(safe)\npredict.transfer()\n")
        done = self.evaluate("--policy", "transfers.lua", "--json", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        for row in json.loads((self.folder / "out.json").read_text())["rows"]:
            self.assertNotIn("without PowerTrain", row["failure"])

    def test_a_report_that_cannot_be_written_is_told_before_the_work(self):
        for flag in ("--json", "--csv"):
            done = subprocess.run(
                [Path(BINARY).resolve(), "evaluate", "--profile", "a.csv", "--policy", BINARY_SEARCH, "--seeds", "10000",
                 "--results", "kept.trials", flag, "no/out"],
                cwd=self.folder, capture_output=True, text=True, timeout=20)  # fmt: skip
            self.assertEqual(done.returncode, 1)
            self.assertIn("no/out: cannot be written: No such file or directory", done.stderr)
        done = self.evaluate("--policy", BINARY_SEARCH, "--seeds", 10000, "--json", ".")
        self.assertEqual(done.returncode, 1)
        self.assertIn(".: cannot be written: Is a directory", done.stderr)

    def test_tells_how_far_it_is_and_a_signal_ends_it_at_once(self):
        running = Program(self.command("--policy", BINARY_SEARCH, "--seeds", 10000, "--threads", 1, "--json", "out.json"),
                          "evaluate", cwd=self.folder)
        running.wait_for(lambda line: "/40000 rows, ETA" in line)
        self.assertEqual(running.finish(signal.SIGINT), -signal.SIGINT, running.tail())
        self.assertFalse((self.folder / "out.json").exists())


if __name__ == "__main__":
    unittest.main()
