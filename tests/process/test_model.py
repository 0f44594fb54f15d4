"""`gearshift model`: fits and checks of files as a person gives them, and what it says of bad ones."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.path.abspath(os.environ.get("GEARSHIFT_BINARY", "build/gearshift"))
PROFILE = "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,minibatch_ms,power_w\n"
TARGETS = (
    "id,device,workload,kind,batch_size,num_workers,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,mode_label,"
    "metric,value,unit,tolerance_suggested,source\n"
)


def model(*arguments):
    return subprocess.run([BINARY, "model", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def work_of_the_gpu():
    """A made-up workload on the modes of an AGX Orin: all of its time goes with the GPU clock."""
    rows = [PROFILE.rstrip("\n")]
    for cores in (4, 8, 12):
        for cpu in (729.6, 1344, 2201.6):
            for gpu in (306, 612, 918, 1300.5):
                power = 12 + 0.3 * cores * cpu / 1000 + 20 * (gpu / 1000) ** 2
                rows.append(f"jetson-agx-orin,made-up,train,16,{cores},{cpu},{gpu},3199,{90000 / gpu},{power}")
    return "\n".join(rows) + "\n"


class Model(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_a_fit_is_judged_by_cells_it_did_not_see_and_can_be_pasted(self):
        profile = self.file("made-up.csv", work_of_the_gpu())
        fitted = model("fit", profile, "--cells", 12, "--json")
        self.assertEqual(fitted.returncode, 0, fitted.stderr)
        fit = json.loads(fitted.stdout)["fits"][0]
        self.assertEqual(fit["fitted"]["cells"], 12)
        self.assertEqual(fit["held_out"]["cells"], 24)
        self.assertLess(fit["held_out"]["time"]["mean_percent"], 5)
        self.assertNotIn("board_file", fit)
        text = model("fit", profile, "--cells", 12).stdout
        self.assertIn("[workload.made-up]\nkind = \"train\"\n", text)
        self.assertEqual(text, model("fit", profile, "--cells", 12).stdout, "the same every time")
        board = self.file("board.toml", (Path(__file__).parents[2] / "boards/jetson-agx-orin.toml").read_text() + text)
        listed = subprocess.run([BINARY, "boards", "--explain", "--board", board], capture_output=True, text=True)
        self.assertEqual(listed.returncode, 0, listed.stderr)

    def test_a_check_tells_met_from_missed_from_not_expressed(self):
        targets = self.file(
            "targets.csv",
            TARGETS + "met,orin_agx,resnet,train,16,4,12,2201.6,1300.5,3199,MAXN,power_w,50.6,W,0.05,x\n"
            "missed,orin_agx,resnet,train,16,4,12,2201.6,1300.5,3199,MAXN,power_w,30,W,0.05,x\n"
            "other,orin_agx,bert,train,16,4,12,2201.6,1300.5,3199,MAXN,power_w,30,W,0.05,x\n"
            "zero,orin_agx,resnet,train,16,4,12,2201.6,1300.5,3199,MAXN,power_w,0,W,0.05,x\n",
        )
        checked = json.loads(model("check", "--targets", targets, "--json").stdout)
        self.assertEqual([checked["expressible"], checked["within"]], [3, 1])
        self.assertEqual([row.get("within") for row in checked["targets"]], [True, False, None, False])
        self.assertIn("no parameters of 'bert'", checked["targets"][2]["reason"])
        text = model("check", "--targets", targets, "--profile", self.file("p.csv", work_of_the_gpu())).stdout
        self.assertIn("MISSED", text)
        self.assertIn("expresses 3, and 1 of them (33.3 %)", text)
        self.assertRegex(text, r"zero +0 +[0-9.]+ +none +5.0%  MISSED")
        self.assertNotIn("inf", text)
        self.assertIn("36 cells: no parameters of 'made-up' on jetson-agx-orin", text)

    def test_a_board_file_of_ones_own_is_fitted_to_and_checked(self):
        text = (Path(__file__).parents[2] / "boards/jetson-agx-orin.toml").read_text()
        mine = self.file("mine.toml", text.replace('id = "jetson-agx-orin"', 'id = "mine"', 1))
        profile = self.file("mine.csv", work_of_the_gpu().replace("jetson-agx-orin", "mine"))
        unknown = model("fit", profile)
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("'mine' is no board with a model; name one, or its board file, with --board", unknown.stderr)
        fitted = model("fit", profile, "--cells", 12, "--board", mine, "--json")
        self.assertEqual(fitted.returncode, 0, fitted.stderr)
        fit = json.loads(fitted.stdout)["fits"][0]
        self.assertEqual([fit["board"], fit["held_out"]["cells"]], ["mine", 24])
        by_alias = json.loads(model("fit", profile, "--cells", 12, "--board", "orin_agx", "--json").stdout)["fits"][0]
        self.assertEqual(dict(by_alias, board="mine"), fit, "the same parameters under the built-in board's alias")
        chosen = model("fit", profile, "--cells", 8, "--board", mine, "--choose", "roofline", "--repeats", 1,
                       "--start", "mine/lstm")  # fmt: skip
        self.assertEqual(chosen.returncode, 0, chosen.stderr)
        self.assertIn("from mine/lstm", chosen.stdout)
        self.assertIn("--board '" + str(self.folder), model("fit", profile, "--board", self.folder / "no.toml").stderr)
        known = self.file("known.csv", work_of_the_gpu().replace("jetson-agx-orin,made-up", "mine,resnet18"))
        targets = self.file("targets.csv", TARGETS + "t,mine,resnet,train,16,4,12,2201.6,1300.5,3199,MAXN,power_w,50.6,W,0.05,x\n")
        check = ["check", "--profile", known, "--targets", targets, "--json"]
        without = json.loads(model(*check).stdout)
        self.assertIn("no board with a model is called 'mine'", without["profiles"][0]["reason"])
        self.assertEqual(without["expressible"], 0)
        checked = json.loads(model(*check, "--board", mine).stdout)
        self.assertEqual([checked["expressible"], checked["within"]], [1, 1])
        self.assertGreater(checked["profiles"][0]["error"]["time"]["mean_percent"], 0)

    def test_bad_files_are_told_by_line_column_and_value(self):
        bad = model("fit", self.file("bad.csv", PROFILE + "jetson-agx-orin,x,train,16,4,1000,306,3199,-5,20\n"))
        self.assertEqual(bad.returncode, 1)
        self.assertIn("bad.csv:2: minibatch_ms = '-5': must be a number above 0", bad.stderr)
        few = model("fit", self.file("few.csv", PROFILE + "jetson-agx-orin,x,train,16,4,1000,306,3199,5,20\n"))
        self.assertEqual(few.returncode, 1)
        self.assertIn("1 cells with a time of a minibatch, and --cells 20 would leave none", few.stderr)
        self.assertIn("cannot be read", model("check", "--targets", self.folder / "none.csv").stderr)
        self.assertEqual(model("check").returncode, 2)
        self.assertEqual(model("fit").returncode, 2)
        self.assertIn("Example: gearshift model fit", model("fit", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
