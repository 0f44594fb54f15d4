"""Measured tables on the command line: one mode of two tables, one workload of several, what stands for a gap."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, SOURCE

ORIN = SOURCE / "boards/jetson-agx-orin.toml"
COLUMNS = "device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w"


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, *rows, columns=COLUMNS):
        path = self.folder / name
        path.write_text("\n".join([columns, *rows]) + "\n")
        return path

    def gearshift(self, *words, typed=""):
        return subprocess.run([BINARY, *map(str, words)], input=typed, capture_output=True, text=True, timeout=60,
                              cwd=self.folder)  # fmt: skip

    def requests(self, infer, train, *words):
        return self.gearshift("requests", "--arrivals", "poisson:10", "--batch-size", 4, "--minutes", 1, "--json",
                              "--infer-profile", infer, "--profile", train, *words)  # fmt: skip

    def test_both_kinds_are_held_in_one_mode_that_both_tables_know(self):
        infer = self.put("infer.csv", "orin,net,infer,4,300,20,10", "orin,net,infer,4,600,10,20")
        train = self.put("train.csv", "orin,net,train,16,300,80,10", "orin,net,train,16,900,20,30")
        done = self.requests(infer, train)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["train_minibatch_ms"], 80, "in the highest mode of both")
        done = self.requests(infer, train, "--mode", "gpu_mhz=600")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("'600' is no value of gpu_mhz, which has 300", done.stderr)

    def test_settings_without_a_cell_are_told_at_the_start_and_apart_from_measured_ones(self):
        two = "device,workload,kind,batch_size,cpu_mhz,gpu_mhz,minibatch_ms,power_w"
        cells = [(cpu, gpu) for cpu in (500, 1000, 2000) for gpu in (300, 600, 900)]
        rows = [f"bench,net,train,16,{cpu},{gpu},{40 - gpu / 50 - cpu / 200},{10 + gpu / 100}" for cpu, gpu in cells]
        evaluate = ["evaluate", "--caps", 18, "--policy", "binary_search", "--html", "page.html", "--profile"]
        done = self.gearshift(*evaluate, self.put("whole.csv", *rows, columns=two))
        self.assertNotIn("have a cell", done.stderr)
        holed = self.put("holed.csv", *rows[0:8:2], *rows[7:8], columns=two)
        done = self.gearshift(*evaluate, holed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{holed}: 5 of 9 settings of net have a cell; the others are refused, --missing nearest fills them\n",
                      done.stderr)  # fmt: skip
        page = (self.folder / "page.html").read_text()
        self.assertIn("bench, 5 measured settings<", page)
        for text in (done.stdout, page):
            self.assertIn("no measured cell; --missing nearest fills those that were refused", text)
        done = self.gearshift(*evaluate, holed, "--missing", "nearest")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("refused", done.stderr)
        page = (self.folder / "page.html").read_text()
        self.assertEqual(page.count("5 measured settings, 4 filled from the nearest cell"), 2)
        self.assertNotIn("9 measured", page)
        done = self.gearshift(*evaluate, holed, "--problem", "online", "--measurements", 2)
        self.assertIn("5 of 9 settings of net have a cell", done.stderr)

    def test_clocks_that_make_too_many_modes_are_told_with_the_way_out(self):
        rows = [f"bench,net,train,16,{100 + i}.5,{200 + i}.5,{50 - i / 100},{9 + i / 100}" for i in range(600)]
        many = self.put("many.csv", *rows, columns="device,workload,kind,batch_size,cpu_mhz,gpu_mhz,minibatch_ms,power_w")
        for words in (["simulate"], ["evaluate", "--caps", 12]):
            done = self.gearshift(*words, "--profile", many, "--policy", "binary_search")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"{many}: the knobs of net have more than 262144 modes together", done.stderr)
            self.assertIn("keep fewer values with --keep", done.stderr)
        kept = ",".join(f"{100 + i}.5" for i in range(10))
        done = self.gearshift("simulate", "--profile", many, "--policy", "binary_search", "--keep", f"cpu_mhz={kept}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_tables_of_two_devices_are_no_accelerator(self):
        infer = self.put("infer.csv", "orin,net,infer,4,300,20,10")
        train = self.put("train.csv", "nano,net,train,16,300,80,10")
        done = self.requests(infer, train)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("net and net cannot run on one board: nano and orin", done.stderr)

    def test_of_two_devices_the_boards_table_is_taken(self):
        table = self.put("two.csv", "jetson-agx-orin,net,train,16,300,40,10", "nano,net,train,16,300,80,10")
        simulate = ["simulate", "--profile", table, "--policy", "maxn", "--json"]
        done = self.gearshift(*simulate)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("net (train) on jetson-agx-orin, net (train) on nano", done.stderr)
        done = self.gearshift(*simulate, "--board", "jetson-nano")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["board"], "nano")

    def test_a_table_without_rows_is_told_so(self):
        table, other = self.put("header.csv"), self.put("net.csv", "orin,net,train,16,300,40,10")
        served = self.put("served.csv", "orin,net,infer,4,300,5,8")
        epochs = self.put("epochs.csv", "set,net,sgd,16,0.5,8", columns="dataset,network,optimizer,batch_size,target_metric,epochs")
        maxn = ["--policy", "maxn"]
        pair = [*maxn, "--caps", 60, "--latency-ms", 500, "--rate", 30]
        board = ["--board", "jetson-agx-orin", "--workload", "resnet18", "--policy", "maxn"]
        for words in (
            ["simulate", "--profile", table],
            ["simulate", *board, "--prior", table],
            ["evaluate", "--profile", other, "--policy", "maxn", "--caps", 60, "--prior", table],
            ["evaluate", "--profile", table, *maxn, "--caps", 60],
            ["evaluate", "--problem", "concurrent", "--profile", table, "--infer-profile", served, *pair],
            ["evaluate", "--problem", "concurrent", "--profile", other, "--infer-profile", table, *pair],
            ["evaluate", "--problem", "recurring", "--profile", table, "--epochs", epochs, *maxn],
            ["evaluate", "--problem", "drift", "--profile", table, "--policy", "maxn", "--caps", 60],
            ["pareto", table],
            ["model", "fit", table],
            ["model", "check", "--profile", table],
        ):
            done = self.gearshift(*words)
            self.assertEqual(done.returncode, 1, (words, done.stdout, done.stderr))
            self.assertIn(f"{table}: has no rows", done.stderr, words)

    def test_a_pair_of_each_training_is_made_of_a_pipe(self):
        table = self.put("two.csv", "orin,net,train,16,300,40,10", "orin,two,train,16,300,60,11")
        done = self.gearshift("evaluate", "--problem", "concurrent", "--profile", table, "--infer-profile", "/dev/stdin",
                              "--policy", "maxn", "--caps", 60, "--latency-ms", 500, "--rate", 30,
                              typed=f"{COLUMNS}\norin,net,infer,4,300,5,8\n")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("two + net: 1 settings", done.stderr)

    def test_a_prior_of_which_nothing_can_be_learnt_is_told(self):
        foreign = self.put("foreign.csv", "Jetson AGX Orin,resnet18,train,16,306,40,10")
        rows = ("jetson-agx-orin,lenet,train,16,306,40,10", "jetson-agx-orin,lenet,train,16,612,20,15")
        few = self.put("few.csv", *rows)
        other = self.put("other.csv", *rows, "jetson-agx-orin,lenet,train,16,1300,10,30")
        board = ["simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--policy", "maxn"]
        done = self.gearshift(*board, "--prior", foreign, "--prior", few, "--prior", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            done.stderr,
            f"gearshift simulate: --prior {foreign}: no table of train on jetson-agx-orin, or of another board that has"
            " a model; it has resnet18 (train) on Jetson AGX Orin\n"
            f"gearshift simulate: --prior {few}: lenet (train) on jetson-agx-orin has 2 settings that count, and bayes and"
            " thompson need 3; what counts has the time of a minibatch, and no power limit held it down\n",
        )

    def test_a_workload_becomes_the_one_of_its_table(self):
        one = self.put("one.csv", "orin,net,train,16,300,20,10", "orin,net,train,16,600,10,20")
        two = self.put("two.csv", "orin,net,train,16,300,40,10", "orin,other,train,16,300,50,10")
        served = self.put("served.csv", "orin,net,infer,16,300,40,10")
        simulate = ["simulate", "--profile", one, "--policy", "maxn", "--fault"]
        for table, named in ((two, "one train workload; it has net, other"), (served, "one train workload; it has none")):
            done = self.gearshift(*simulate, f"workload:{table}@20s")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(named, done.stderr)

    def test_what_stands_for_a_gap_is_suspect_where_its_source_is(self):
        table = self.put("holed.csv", "orin,net,train,16,300,40,10", "orin,net,train,16,600,10,12",
                         "orin,net,train,32,300,80,11")  # fmt: skip
        # A batch of 32 at 600 MHz was not measured: the nearest of that batch size stands in.
        suspects = self.put("suspects.csv", "net,train,32,300", columns="workload,kind,batch_size,gpu_mhz")
        done = self.gearshift("evaluate", "--profile", table, "--policy", "maxn", "--caps", 60, "--missing", "nearest",
                              "--suspect", suspects)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("net: 2 of 4 cells are suspect", done.stderr)

    def test_scripts_have_the_model_of_the_board_that_is_named(self):
        board = self.put("mine.toml", columns=ORIN.read_text().replace('"jetson-agx-orin"', '"mine"').replace("orin_agx", "my_board"))
        table = self.put("mine.csv", "mine,resnet18,train,16,306,80,10", "mine,resnet18,train,16,612,40,12")
        asks = self.put("asks.lua", columns="if not roofline.known then error('no model') end\nreturn modes[1]")
        mine = ["--policy", asks, "--missing", "model", "--board", board]
        for problem in ([], ["--problem", "drift"]):
            done = self.gearshift("evaluate", "--profile", table, "--caps", 60, *mine, *problem)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("no model", done.stderr + done.stdout)

    def test_what_a_server_drew_in_pauses_too_is_no_row_of_a_table(self):
        table = self.put("served.csv", "orin,net,infer,4,300,40,15", "orin,net,infer,4,600,20,27")
        recording = self.folder / "run.db"
        done = self.gearshift("simulate", "--problem", "infer", "--profile", table, "--arrivals", "poisson:60", "--latency",
                              "300ms", "--policy", "maxn", "--record", recording)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.gearshift("export", recording, "--profile")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("of a server whose requests come one by one", done.stderr)

    def test_a_cap_of_tenths_is_not_rounded_down(self):
        table = self.put("train.csv", "orin,net,train,16,300,80,32.3", "orin,net,train,16,600,70,40")
        done = self.gearshift("evaluate", "--problem", "drift", "--profile", table, "--policy", "binary_search", "--caps", "32.3",
                              "--effects", "none", "--json", "out.json")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((self.folder / "out.json").read_text())["rows"]
        self.assertEqual([row["excess"] for row in rows if row["change"] == "none"], [0])

    def test_effects_that_there_are_not_are_named_with_their_flag(self):
        table = self.put("train.csv", "orin,net,train,16,300,80,10")
        infer = self.put("infer.csv", "orin,net,infer,4,300,20,10")
        for words in ([], ["--problem", "concurrent", "--infer-profile", infer, "--latency-ms", 500, "--rate", 30]):
            done = self.gearshift("evaluate", "--profile", table, "--policy", "maxn", "--caps", 60, "--effects", "foo", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--effects: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
