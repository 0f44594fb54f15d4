"""`gearshift pareto`: fronts, the choice for a cap and the picture, of a profile made by the board model."""

import csv
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BINARY = os.path.abspath(os.environ.get("GEARSHIFT_BINARY", "build/gearshift"))
MODULE = Path(BINARY).resolve().parent / "gearshift_powertrain.so"


def gearshift(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)


class Pareto(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.profile = self.folder / "lstm.csv"
        grid = ["--keep", "cpu_cores=4,12", "--keep", "cpu_mhz=729.6,1344,2201.6", "--keep", "mem_mhz=2133,3199"]
        made = gearshift("model", "profile", "--board", "jetson-agx-orin", "--workload", "lstm", "--batch", "16,32",
                         *grid, "-o", self.profile)  # fmt: skip
        self.assertEqual(made.returncode, 0, made.stderr)

    def cells(self):
        with open(self.profile) as file:
            rows = list(csv.DictReader(file))
        return [(float(r["power_w"]), float(r["minibatch_ms"]) * 16 / float(r["batch_size"])) for r in rows]

    def test_the_fronts_and_the_choice_are_those_of_a_plain_search(self):
        found = json.loads(gearshift("pareto", self.profile, "--cap", "20W", "--json").stdout)
        cells = self.cells()
        self.assertEqual([found["samples"], found["measured"]["settings"]], [16, len(cells)])
        front = [c for c in set(cells) if not any(o[0] <= c[0] and o[1] <= c[1] and o != c for o in cells)]
        told = [(p["power_w"], p["time_ms"]) for p in found["measured"]["power_and_time"]]
        self.assertEqual(len(told), len(front))
        self.assertEqual(told, sorted(told))
        for (power, time), (other_power, other_time) in zip(told, sorted(front)):
            self.assertAlmostEqual(power, other_power)
            self.assertAlmostEqual(time, other_time)
        choice = found["measured"]["choice"]
        self.assertAlmostEqual(choice["time_ms"], min(time for power, time in cells if power <= 20))
        self.assertLessEqual(choice["power_w"], 20)
        self.assertIn(choice["cpu_mhz"], (729.6, 1344, 2201.6))
        self.assertAlmostEqual(choice["energy_j"], choice["power_w"] * choice["time_ms"] / 1000)

    def test_text_says_where_nothing_fits(self):
        text = gearshift("pareto", self.profile, "--cap", "5W").stdout
        self.assertIn("time and energy are of 16 samples", text)
        self.assertIn("The fastest at 5 W or less\n  measured : no setting draws so little", text)

    def test_the_picture_is_a_file_of_its_own(self):
        picture = self.folder / "p.svg"
        self.assertEqual(gearshift("pareto", self.profile, "--cap", "20W", "--plot", picture).returncode, 0)
        root = ElementTree.parse(picture).getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("front, measured", "the choice for 20 W, measured", "264 settings, measured", "jetson-agx-orin lstm"):
            self.assertIn(text, texts)
        self.assertNotIn("http", picture.read_text().replace("http://www.w3.org/2000/svg", ""))

    def test_a_picture_of_like_settings_has_numbers_at_its_axes(self):
        narrow, picture = self.folder / "narrow.csv", self.folder / "narrow.svg"
        # Times between two round numbers, and powers that differ by less than a tenth of a watt.
        rows = [f"bench,net,train,16,{300 + i},{39 - i},{10.06 + i / 35}" for i in range(8)]
        narrow.write_text("device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\n" + "\n".join(rows) + "\n")
        self.assertEqual(gearshift("pareto", narrow, "--plot", picture).returncode, 0)
        texts = [e for e in ElementTree.parse(picture).iter() if e.tag.endswith("text")]
        for kind in ("tick end", "tick mid"):
            numbers = [e.text for e in texts if e.get("class") == kind]
            self.assertGreater(len(numbers), 1, kind)
            self.assertEqual(len(set(numbers)), len(numbers), kind)

    def test_what_it_cannot_use_is_told(self):
        twice = gearshift("pareto", self.profile, self.profile)
        self.assertNotEqual(twice.returncode, 0)
        self.assertIn("a second profile; give one profile, one model, or one of each", twice.stderr)
        missing = gearshift("pareto", self.folder / "none.csv")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("none.csv: cannot be read", missing.stderr)
        board = gearshift("pareto", self.profile, "--board", "jetson-agx-orin")
        self.assertIn("--board is for a model alone", board.stderr)

    @unittest.skipUnless(MODULE.exists(), f"{MODULE} is not there: libtorch was not found, or is not wanted")
    def test_a_prediction_is_held_against_what_was_measured(self):
        model = self.folder / "lstm.model"
        train = gearshift("powertrain", "train", self.profile, "--epochs", 20, "-o", model)
        self.assertEqual(train.returncode, 0, train.stderr)
        found = json.loads(gearshift("pareto", model, self.profile, "--cap", "20W", "--json").stdout)
        choice = found["predicted"]["choice"]
        self.assertLessEqual(choice["power_w"], 20)
        self.assertIn((round(choice["measured"]["power_w"], 6), round(choice["measured"]["time_ms"], 6)),
                      [(round(power, 6), round(time, 6)) for power, time in self.cells()])  # fmt: skip
        alone = json.loads(gearshift("pareto", model, "--json").stdout)
        self.assertEqual(alone["predicted"]["settings"], 2 * 3 * 11 * 2 * 2)
        self.assertNotIn("measured", alone)

    @unittest.skipUnless(MODULE.exists(), f"{MODULE} is not there: libtorch was not found, or is not wanted")
    def test_a_model_of_something_else_is_named_or_refused(self):
        model, eight = self.folder / "lstm.model", self.folder / "eight.csv"
        grid = ["--keep", "cpu_cores=4,12", "--keep", "cpu_mhz=729.6,2201.6", "--keep", "mem_mhz=3199"]
        one = ["model", "profile", "--board", "jetson-agx-orin", "--workload"]
        for workload, kind, batch, path in (("lstm", "train", "16", "sixteen.csv"), ("lstm", "train", "8", eight),
                                            ("resnet18", "train", "16", "other.csv"),
                                            ("resnet18", "infer", "16", "infer.csv")):  # fmt: skip
            made = gearshift(*one, workload, "--kind", kind, "--batch", batch, *grid, "-o", self.folder / path)
            self.assertEqual(made.returncode, 0, made.stderr)
        train = gearshift("powertrain", "train", self.folder / "sixteen.csv", "--epochs", 1, "-o", model)
        self.assertEqual(train.returncode, 0, train.stderr)
        for words in (["pareto", model, eight], ["powertrain", "predict", model, "--profile", eight, "-o", self.folder / "q.csv"]):
            refused = gearshift(*words)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("batch size 8, and the model of jetson-agx-orin lstm knows 16 alone", refused.stderr)
        self.assertFalse((self.folder / "q.csv").exists())
        named = gearshift("pareto", model, self.folder / "other.csv")
        self.assertEqual(named.returncode, 0, named.stderr)
        self.assertIn("what is predicted is by a model of jetson-agx-orin lstm, another workload\n", named.stdout)
        kind = gearshift("pareto", model, self.folder / "infer.csv")
        self.assertEqual(kind.returncode, 1, kind.stdout)
        self.assertIn("a profile of inference, and the model of jetson-agx-orin lstm is of training", kind.stderr)
        settings = gearshift("powertrain", "predict", model, "--profile", self.folder / "infer.csv", "-o", self.folder / "q.csv")
        self.assertEqual(settings.returncode, 0, "a profile that gives the settings alone: " + settings.stderr)
        nano = gearshift("powertrain", "predict", model, "--board", "jetson-orin-nano", "-o", self.folder / "n.csv")
        self.assertIn("by a model of another board: jetson-agx-orin\n", nano.stdout)
        # The same board by another of its names.
        alias = self.folder / "alias.csv"
        alias.write_text((self.folder / "sixteen.csv").read_text().replace("jetson-agx-orin,", "orin_agx,"))
        same = gearshift("pareto", model, alias)
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertNotIn("another board", same.stdout)
        same = gearshift("powertrain", "predict", model, "--profile", alias, "-o", self.folder / "s.csv")
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertNotIn("another board", same.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
