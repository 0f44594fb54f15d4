"""`gearshift evaluate`: rows against brute force, resuming, priors, and the report in a browser."""

import csv
import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, SOURCE, Program

COLUMNS = "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,power_limit_w,minibatch_ms,epoch_s,power_w"
FIELDS = ["policy", "workload", "problem", "objective", "energy_weight", "energy_limit_j", "cap_w", "latency_ms", "arrivals_per_s", "seed", "solvable",
          "solved", "optimum", "chosen", "excess", "power_w", "modes_profiled", "probes_over_cap",
          "over_cap_j", "infeasible", "failure"]
BINARY_SEARCH = SOURCE / "scripts/binary_search.lua"
EVERY_MODE = """local best
for i = 1, #modes do
  local seen = measure(modes[i])
  if seen.within and (not best or seen.value < best.value) then best = seen end
end
return best and best.setting
"""
MAXN = SOURCE / "scripts/maxn.lua"
CHROMIUM = shutil.which("chromium")


def profile_text(workload="made-up", kind="train", batches=(16,), device="made-up-board"):
    """A made-up board: more is faster and draws more, with bumps."""
    lines = [COLUMNS]
    bump = 0.0
    for batch in batches:
        for cores in (2, 4, 8):
            for cpu in (500, 1000, 2000):
                for gpu in (300, 600, 900, 1300):
                    bump = (bump + 0.618) % 1
                    scale = (4 + batch) / 20
                    time_ms = scale * (10 + 30000 / gpu + 20000 / (cpu * cores**0.5)) + bump
                    power_w = 8 + cores * cpu / 1500 + 14 * gpu / 1000 + bump
                    lines.append(f"{device},{workload},{kind},{batch},{cores},{cpu},{gpu},,,"
                                 f"{time_ms:.4f},,{power_w:.4f}")
    return "\n".join(lines) + "\n"


def optimum_ms(cells, row):
    """By definition; None where no cell keeps the limits."""
    values = []
    for cell in cells:
        time_ms = float(cell["minibatch_ms"])
        if float(cell["power_w"]) > row["cap_w"]:
            continue
        if row["problem"] == "train":
            values.append(time_ms)
            continue
        fill_ms = 1000 * int(cell["batch_size"]) / row["arrivals_per_s"]
        if time_ms <= fill_ms and fill_ms + time_ms <= row["latency_ms"]:
            values.append(fill_ms + time_ms)
    return min(values, default=None)


class Evaluate(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gearshift-evaluate-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.train = self.put("train.csv", profile_text())

    def put(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def evaluate(self, *arguments, code=0):
        done = subprocess.run([BINARY, "evaluate", *map(str, arguments)], capture_output=True,
                              text=True, timeout=120, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def result(self, name="out.json"):
        return json.loads((self.folder / name).read_text())

    def check_rows(self, profile):
        cells = list(csv.DictReader(profile.read_text().splitlines()))
        rows = self.result()["rows"]
        solvable = 0
        for row in rows:
            self.assertEqual(list(row), FIELDS)
            best = optimum_ms(cells, row)
            self.assertEqual(row["solvable"], best is not None, row)
            if best is None:
                self.assertIsNone(row["excess"])
                self.assertFalse(row["solved"])
                continue
            solvable += 1
            self.assertAlmostEqual(row["optimum"], best, places=9)
            self.assertAlmostEqual(row["excess"], row["chosen"] / row["optimum"] - 1, places=12)
            self.assertLessEqual(row["probes_over_cap"], row["modes_profiled"])
            if row["solved"]:
                self.assertLessEqual(row["power_w"], row["cap_w"])
                self.assertGreaterEqual(row["excess"], -1e-12)
        self.assertGreater(solvable, 0)
        self.assertLess(solvable, len(rows))
        return rows

    def test_train_rows_agree_with_brute_force(self):
        done = self.evaluate("--profile", self.train, "--policy", f"{BINARY_SEARCH},{MAXN}", "--caps",
                             "8:44:4", "--json", "out.json", "--csv", "out.csv")
        rows = self.check_rows(self.train)
        self.assertEqual(len(rows), 2 * 10)
        self.assertTrue(all(r["solved"] for r in rows if r["policy"] == "binary_search" and r["solvable"]))
        self.assertIn("All solvable problems", done.stdout)
        with open(self.folder / "out.csv", newline="") as file:
            lines = list(csv.DictReader(file))
        self.assertEqual([float(line["excess"]) if line["excess"] else None for line in lines],
                         [r["excess"] for r in rows])
        self.assertEqual([float(line["cap_w"]) for line in lines], [r["cap_w"] for r in rows])

    def test_infer_rows_agree_with_brute_force(self):
        infer = self.put("infer.csv", profile_text(kind="infer", batches=(1, 4, 16)))
        self.evaluate("--profile", infer, "--problem", "infer", "--latency-ms", "40:400:120", "--rate",
                      "20,60", "--policy", BINARY_SEARCH, "--caps", "8:44:6", "--json", "out.json")
        self.assertEqual(len(self.check_rows(infer)), 7 * 4 * 2)

    def test_online_rows_agree_with_brute_force(self):
        """A script that learns for ever, and one that makes up its mind."""
        walk = self.put("walk.lua", "for i = 1, 30 do remeasure(modes[1 + 7 * i % #modes]) end\n"
                        "while true do remeasure(modes[#modes]) end\n")
        infer = self.put("infer.csv", profile_text(kind="infer", batches=(1, 4)))
        flags = ["--problem", "online", "--profile", self.train, "--profile", infer, "--policy",
                 f"{walk},{MAXN}", "--weights", "0,0.5,1", "--seeds", "2", "--measurements", "150"]
        self.evaluate(*flags, "--json", "out.json", "--csv", "out.csv")
        rows = self.result()["rows"]
        self.assertEqual(len(rows), 2 * 2 * 3 * 2)
        for row in rows:
            self.assertEqual(row["problem"], "online")
            path = self.train if row["workload"] == "made-up train" else infer
            cells = list(csv.DictReader(path.read_text().splitlines()))
            cost = self.weighted_costs(cells, row["energy_weight"])
            self.assertAlmostEqual(row["optimum_cost"], min(cost), 9)
            self.assertEqual(row["measurements"], 150)
            self.assertEqual(row["failure"], "")
            if row["policy"] == "maxn":
                regret = cost[-1] / min(cost) - 1  # the batch size is left as it is: the largest
                self.assertEqual(row["measurements_made"], 1)
                self.assertAlmostEqual(row["late_regret"], regret, 9)
                self.assertAlmostEqual(row["cumulative_regret"], 150 * regret, 6)
                self.assertEqual(row["reached"], 1 if regret <= 0.03 else None)
            else:
                self.assertEqual(row["measurements_made"], 150)
        self.evaluate(*flags, "--json", "again.json", "--threads", "1")
        self.assertEqual((self.folder / "again.json").read_bytes(),
                         (self.folder / "out.json").read_bytes())
        with open(self.folder / "out.csv", newline="") as file:
            self.assertEqual([float(line["cumulative_regret"]) for line in csv.DictReader(file)],
                             [row["cumulative_regret"] for row in rows])

    @staticmethod
    def weighted_costs(cells, weight):
        """The highest setting is the last row of profile_text."""
        times = [float(cell["minibatch_ms"]) / int(cell["batch_size"]) for cell in cells]
        energies = [time * float(cell["power_w"]) for time, cell in zip(times, cells)]
        return [weight * energy / energies[-1] + (1 - weight) * time / times[-1]
                for time, energy in zip(times, energies)]

    def test_online_keeps_a_cap_and_counts_what_went_over_it(self):
        highest = self.put("highest.lua", "measure(modes[#modes])\n"
                           "while true do remeasure(modes[2]) end\n")
        self.evaluate("--problem", "online", "--profile", self.train, "--policy", highest, "--caps",
                      "20", "--weights", "0", "--measurements", "30", "--json", "out.json")
        [row] = self.result()["rows"]
        self.assertEqual((row["cap_w"], row["probes_over_cap"]), (20.0, 1))
        self.assertIsNone(row["late_regret"])

    def test_the_published_heuristic_trains_beside_inference_too(self):
        infer = self.put("infer.csv", profile_text(workload="served", kind="infer", batches=(1, 4, 16)))
        self.evaluate("--problem", "concurrent", "--profile", self.train, "--infer-profile", infer, "--caps", "16:32:8",
                      "--latency-ms", "300:900:300", "--rate", "20,60", "--policy", SOURCE / "scripts/gradient.lua",
                      "--json", "out.json")
        rows = self.result("out.json")["rows"]
        for row in rows:
            self.assertEqual((row["failure"], row["solved"], row["late"], row["over_w"]), ("", True, False, 0))
            # Batches of 4 leave no time to train where requests come fast and the cap is low.
            if row["cap_w"] == 16 and row["arrivals_per_s"] == 60 and row["latency_ms"] >= 600:
                self.assertEqual(row["infer_batch"], 16)
        self.assertLess(sum(row["minibatches_per_s"]["loss"] for row in rows), 0.1 * len(rows))

    def test_concurrent_rows_agree_with_brute_force(self):
        infer = self.put("infer.csv", profile_text(workload="served", kind="infer", batches=(1, 4, 16)))
        cells = {}
        for path, kind in ((self.train, "train"), (infer, "infer")):
            for cell in csv.DictReader(path.read_text().splitlines()):
                mode = (cell["cpu_cores"], cell["cpu_mhz"], cell["gpu_mhz"])
                cells[kind, mode, int(cell["batch_size"])] = (float(cell["minibatch_ms"]), float(cell["power_w"]))
        both = {(mode, batch): (cells["train", mode, 16], cells["infer", mode, batch])
                for kind, mode, batch in cells if kind == "infer"}
        suspect = self.put("suspect.csv", "workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz\n"
                           "made-up,train,16,8,2000,1300\n")
        flags = ["--problem", "concurrent", "--profile", self.train, "--infer-profile", infer, "--caps",
                 "8:32:8", "--latency-ms", "300:900:300", "--rate", "20,60", "--policy",
                 SOURCE / "scripts/bayes.lua", "--suspect", suspect, "--probes", "12", "--switch-ms", "2,40"]
        done = self.evaluate(*flags, "--json", "out.json", "--csv", "out.csv", "--html", "out.html")
        self.assertRegex(done.stdout, "(?s)loss/window %.*if it gains %")
        self.assertIn("108 settings, 3 of them suspect", done.stderr)
        rows = self.result("out.json")["rows"]
        self.assertEqual(len(rows), 4 * 3 * 2)
        for row in rows:
            values = {"trusted": [], "all": []}
            self.assertGreaterEqual(*(one["minibatches_per_s"] or 0 for one in row["separate_clocks"]))
            for (mode, batch), ((train_ms, train_w), (infer_ms, infer_w)) in both.items():
                fill_ms = 1000 * batch / row["arrivals_per_s"]
                late = infer_ms > fill_ms or fill_ms + infer_ms > row["latency_ms"]
                if late or max(train_w, infer_w) > row["cap_w"]:
                    continue
                value = math.floor((fill_ms - infer_ms) / train_ms) * 1000 / fill_ms
                values["all"].append(value)
                if mode != ("8", "2000", "1300"):
                    values["trusted"].append(value)
            self.assertEqual(row["solvable"], bool(values["trusted"]))
            self.assertEqual(row["all_cells"]["solvable"], bool(values["all"]))
            if row["solvable"]:
                self.assertAlmostEqual(row["minibatches_per_s"]["optimum"], max(values["trusted"]))
                self.assertAlmostEqual(row["all_cells"]["minibatches_per_s"]["optimum"], max(values["all"]))
            if row["solved"]:
                self.assertLessEqual(row["power_w"], row["cap_w"])
                self.assertFalse(row["late"])
            self.assertLessEqual(row["modes_profiled"], 12)
        self.assertGreater(sum(row["solved"] for row in rows), 6)
        self.evaluate(*flags, "--json", "again.json", "--threads", "1")
        self.assertEqual((self.folder / "out.json").read_bytes(), (self.folder / "again.json").read_bytes())

    def test_missing_cells_are_refused_or_filled_and_counted(self):
        lines = profile_text(device="jetson-agx-orin", workload="resnet18").splitlines()
        gaps = lines[1:][4::7]
        holed = self.put("holed.csv", "\n".join(line for line in lines if line not in gaps) + "\n")
        flags = ["--profile", holed, "--policy", self.put("every.lua", EVERY_MODE), "--caps", "60",
                 "--json", "holed.json"]
        board = ["--board", "jetson-agx-orin"]
        for missing, field in ((["refuse"], "refused"), (["nearest"], "filled_nearest"),
                               (["model", *board], "filled_model")):
            with self.subTest(missing=missing):
                self.evaluate(*flags, "--missing", *missing)
                counts = self.result("holed.json")["summary"]["policies"][0]
                counted = {f: counts[f] for f in ("refused", "filled_nearest", "filled_model")}
                self.assertEqual(counted, {f: len(gaps) if f == field else 0 for f in counted})
                self.assertEqual(self.result("holed.json")["rows"][0]["excess"], 0)
        # Only the fastest setting is missing: its neighbour stands in for it.
        cells = [line.split(",") for line in lines[1:]]
        fastest = min(cells, key=lambda cell: float(cell[9]))
        rest = [",".join(cell) for cell in cells if cell != fastest]
        self.put("holed.csv", "\n".join([COLUMNS, *rest]) + "\n")
        self.evaluate(*flags, "--missing", "nearest")
        near = min((cell for cell in cells if cell != fastest), key=lambda cell: sum(
            math.log(float(cell[i]) / float(fastest[i])) ** 2 for i in (4, 5, 6)))
        row = self.result("holed.json")["rows"][0]
        least = min(float(line.split(",")[9]) for line in rest)
        self.assertEqual(row["optimum"], min(least, float(near[9])))

    def test_a_spec_says_what_flags_say_on_any_number_of_threads(self):
        flags = ["--profile", self.train, "--policy", f"{BINARY_SEARCH},{MAXN}", "--caps", "10:40:10",
                 "--keep", "gpu_mhz=300,1300", "--seeds", "3", "--effects", "jitter,lag"]
        self.evaluate(*flags, "--threads", "1", "--json", "flags.json")
        self.put("grid.toml", f"""
profile = "{self.train}"
policy = ["{BINARY_SEARCH}", "{MAXN}"]
caps = "10,20,30,40"
keep = ["gpu_mhz=300,1300"]
seeds = 3
effects = "jitter,lag"
json = "spec.json"
threads = 7
""")
        self.evaluate("grid.toml")
        self.assertEqual((self.folder / "flags.json").read_text(), (self.folder / "spec.json").read_text())
        self.assertLess(max(r["modes_profiled"] for r in self.result("spec.json")["rows"]), 19)

    def test_goes_on_where_it_was_stopped(self):
        flags = ["--profile", self.train, "--policy", SOURCE / "scripts/full_sweep.lua", "--caps", "20",
                 "--effects", "jitter", "--results", "kept.trials"]
        running = Program([BINARY, "evaluate", *flags, "--seeds", "10000", "--threads", "1"], "evaluate",
                          cwd=self.folder)
        running.wait_for(lambda line: "rows, ETA" in line)
        self.assertEqual(running.finish(signal.SIGINT), 1, running.tail())
        stopped = re.search(r"stopped after (\d+) of 10000 rows; kept.trials has them", running.tail())
        self.assertTrue(stopped, running.tail())
        self.assertGreater(int(stopped[1]), 0)
        kept = (self.folder / "kept.trials").read_text().count("\n")
        self.assertEqual(kept, int(stopped[1]))
        with open(self.folder / "kept.trials", "a") as file:
            file.write('{"key": "00')  # what a kill may leave
        self.evaluate(*flags, "--seeds", kept + 5, "--json", "out.json")
        self.assertEqual((self.folder / "kept.trials").read_text().count("\n"), kept + 5 + 1)
        self.evaluate(*flags[:-2], "--seeds", kept + 5, "--json", "fresh.json")
        self.assertEqual((self.folder / "out.json").read_text(), (self.folder / "fresh.json").read_text())

    def test_a_policy_reads_priors_but_not_of_the_workload_it_is_judged_on(self):
        counts = self.put("counts.lua", "return #prior == 0 and modes[1] or modes[2]\n")
        other = self.put("other.csv", profile_text(workload="other"))
        flags = ["--profile", self.train, "--policy", counts, "--caps", "40", "--json", "out.json"]
        chosen = []
        own = ["--own-prior", self.train], ["--own-prior", other]
        for prior in ([], ["--prior", self.train], ["--prior", other], *own):
            self.evaluate(*flags, *prior)
            chosen.append(self.result()["rows"][0]["chosen"])
        self.assertEqual([one == chosen[0] for one in chosen], [True, True, False, False, True])

    def test_a_bound_on_probes_ends_a_search_with_the_best_it_has(self):
        self.evaluate("--profile", self.train, "--policy", self.put("every.lua", EVERY_MODE), "--caps",
                      "30", "--probes", "7", "--json", "out.json")
        row = self.result()["rows"][0]
        self.assertLessEqual(row["modes_profiled"], 8)
        self.assertTrue(row["solved"])

    def test_a_script_knows_its_own_file_name(self):
        text = "return script == 'first.lua' and modes[1] or modes[2]\n"
        first, second = self.put("first.lua", text), self.put("second.lua", text)
        self.evaluate("--profile", self.train, "--policy", f"{first},{second}", "--caps", "40", "--json",
                      "out.json")
        rows = self.result()["rows"]
        self.assertEqual([row["policy"] for row in rows], ["first", "second"])
        self.assertNotEqual(rows[0]["chosen"], rows[1]["chosen"])

    def test_a_script_that_fails_is_told_with_its_rows(self):
        fails = self.put("fails.lua", "measure(safe)\nif goal.power_w > 25 then error('too bright') end\n"
                         "return safe\n")
        done = self.evaluate("--profile", self.train, "--policy", fails, "--caps", "20,30,40")
        self.assertIn("fails failed in 2 of 3 rows; the first time:", done.stderr)
        self.assertIn("too bright", done.stderr)

    def test_errors_name_the_value_and_the_way_out(self):
        policy = ["--policy", BINARY_SEARCH]
        profile = ["--profile", self.train]
        bad = self.put("bad.lua", "local x =")
        cases = [
            (2, [*policy], "--profile is missing"),
            (2, [*profile], "--policy is missing"),
            (2, [*profile, *policy, "--caps", "50:10:1"], "--caps '50:10:1': it ends before it begins"),
            (2, [*profile, *policy, "--problem", "infer"], "needs --latency-ms and --rate"),
            (2, [*profile, *policy, "--missing", "guess"], "allowed are refuse, nearest and model"),
            (2, [*profile, *policy, "--missing", "model"], "--board"),
            (2, [*profile, *policy, "--missing", "model", "--board", "jetson-agx-orin"], "made-up"),
            (2, [*profile, *policy, "--keep", "gpu_mhz=301"], "'301' is no value of gpu_mhz"),
            (2, [*profile, *policy, "--effects", "storm"], "storm"),
            (2, ["absent.toml"], "absent.toml: cannot be read"),
            (5, [*profile, "--policy", bad], "bad.lua"),
            (5, [*profile, "--policy", "absent.lua"], "absent.lua"),
            (1, ["--profile", "absent.csv", *policy], "absent.csv"),
            (1, [*profile, *policy, "--problem", "infer", "--latency-ms", "50", "--rate", "30"],
             "has no infer workload; it has made-up (train)"),
            (1, [*profile, *policy, "--json", "/no/such/folder/out.json"], "/no/such/folder"),
        ]
        for code, arguments, message in cases:
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.evaluate(*arguments, code=code).stderr)

    @unittest.skipUnless(CHROMIUM, "chromium is not installed: nothing to open the report with")
    def test_the_report_fits_a_telephone_and_a_desk(self):
        other = self.put("other.csv", profile_text(workload="other"))
        self.evaluate("--profile", self.train, "--profile", other, "--policy", f"{BINARY_SEARCH},{MAXN}",
                      "--caps", "10:50:2", "--html", "out.html")
        text = (self.folder / "out.html").read_text()
        self.assertNotRegex(text, r"https?:|<script|<link|@import|url\(")
        for width in (390, 1280):
            dom = self.opened(text, width)
            inside, outside = map(int, re.search(r'data-widths="(\d+) (\d+)"', dom).groups())
            self.assertLessEqual(inside, outside, f"the page scrolls sideways at {width} px")
            self.assertEqual(outside, width)
            figures = re.findall(r'data-figure="(\d+) (\d+)"', dom)
            self.assertEqual(len(figures), 8)
            for figure_width, height in figures:
                self.assertGreater(int(figure_width), 300)
                self.assertGreater(int(height), 80)

    def opened(self, text, width):
        """The page as a browser lays it out in a frame of that width, with the sizes it measured."""
        measure = """<script>addEventListener('load', () => {
          const page = document.documentElement;
          document.querySelector('h1').dataset.widths = page.scrollWidth + ' ' + page.clientWidth;
          for (const svg of document.querySelectorAll('figure svg')) {
            const box = svg.getBoundingClientRect();
            svg.dataset.figure = Math.round(box.width) + ' ' + Math.round(box.height);
          }
          parent.postMessage(page.outerHTML, '*');
        });</script>"""
        self.put("inner.html", text.replace("</body>", measure + "</body>"))
        outer = self.put("outer.html", f"""<!DOCTYPE html><meta charset="utf-8"><script>
          addEventListener('message', event => {{ document.body.innerHTML = event.data; }});
        </script><body><iframe src="inner.html" style="border:0;width:{width}px;height:800px"></iframe>""")
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={self.folder}/browser", "--virtual-time-budget=5000", "--dump-dom",
             outer.as_uri()],
            capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(self.folder)})
        return done.stdout


if __name__ == "__main__":
    unittest.main()
