"""`gearshift powertrain`: a profile in, models out, predictions back; and what it says of a model that
is broken. Most of it needs the module with libtorch, and is skipped where that was not built."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.path.abspath(os.environ.get("GEARSHIFT_BINARY", "build/gearshift"))
MODULE = Path(BINARY).resolve().parent / "gearshift_powertrain.so"
GRID = ["--keep", "cpu_cores=4,8,12", "--keep", "cpu_mhz=729.6,1344,2201.6", "--keep", "mem_mhz=2133,3199"]


def gearshift(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)


class WithoutTheModule(unittest.TestCase):
    def test_it_is_told_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(BINARY, folder)
            profile = ["model", "profile", "--board", "jetson-orin-nano", "--workload", "resnet18", "-o", f"{folder}/p.csv"]
            subprocess.run([alone, *profile], check=True, capture_output=True, timeout=60)
            train = [alone, "powertrain", "train", f"{folder}/p.csv", "-o", f"{folder}/m"]
            refused = subprocess.run(train, capture_output=True, text=True, timeout=60)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("PowerTrain's module cannot be loaded: gearshift_powertrain.so", refused.stderr)
            self.assertIn("install libtorch-dev, configure with -DGEARSHIFT_TORCH=ON and build", refused.stderr)


@unittest.skipUnless(MODULE.exists(), f"{MODULE} is not there: libtorch was not found, or is not wanted")
class PowerTrain(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.state = ["--state", self.folder / "state"]

    def run_well(self, *arguments):
        done = gearshift(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def profile(self, workload, name):
        path = self.folder / name
        made = self.run_well("model", "profile", "--board", "jetson-agx-orin", "--workload", workload, *GRID, "-o", path)
        self.assertEqual(made["settings"], 3 * 3 * 11 * 2)
        return path

    def test_a_model_is_trained_transferred_and_asked_for_every_mode(self):
        resnet, lstm = self.profile("resnet18", "resnet.csv"), self.profile("lstm", "lstm.csv")
        model, moved = self.folder / "resnet.model", self.folder / "lstm.model"
        trained = self.run_well("powertrain", "train", resnet, "-o", model, "--batch-rows", 8)
        self.assertEqual([trained["settings"], trained["reference"]], [198, ""])
        self.assertLess(trained["profile"]["power_mape_percent"], 5)
        transfer = ["powertrain", "transfer", lstm, "--reference", model, "--modes", 20, "-o", moved]
        transferred = self.run_well(*transfer)
        self.assertEqual(transferred["reference"], "jetson-agx-orin resnet18")
        self.assertEqual(transferred["reference_source"], str(model))
        self.assertLess(transferred["profile"]["power_mape_percent"], 10)
        first = moved.read_bytes()
        self.run_well(*transfer)
        self.assertEqual(moved.read_bytes(), first, "the same every time")
        predicted = self.folder / "predicted.csv"
        self.run_well("powertrain", "predict", moved, "--profile", lstm, "-o", predicted)
        lines = predicted.read_text().splitlines()
        self.assertEqual(len(lines), 1 + 198)
        self.assertTrue(all(line.startswith("jetson-agx-orin,lstm,train,16,") for line in lines[1:]), lines[1])

    def test_progress_has_the_losses_of_both_networks(self):
        done = gearshift("powertrain", "train", self.profile("lstm", "l.csv"), "--epochs", 4, "-o", self.folder / "m")
        for network in ("time ", "power"):
            self.assertRegex(done.stderr, network + r" \[=+\] 4/4 epochs, loss [0-9.e-]+, validation [0-9.e-]+")

    def test_a_reference_of_ones_own_takes_the_place_of_the_shipped_one(self):
        lstm, out = self.profile("lstm", "lstm.csv"), self.folder / "out.model"
        transfer = ["powertrain", "transfer", lstm, "--epochs", 1, "-o", out, *self.state]
        self.assertEqual(self.run_well(*transfer)["reference_source"], "gearshift's own")
        own = self.run_well("powertrain", "train", lstm, "--epochs", 1, *self.state)
        self.assertEqual(own["model"], str(self.folder / "state/reference.model"))
        self.assertEqual(self.run_well(*transfer)["reference_source"], own["model"])

    def test_a_workload_may_have_any_name_that_a_profile_may(self):
        named, out = self.profile("lstm", "lstm.csv"), self.folder / "out.model"
        named.write_text(named.read_text().replace(",lstm,", ",r\u00e9snet,"))
        trained = self.run_well("powertrain", "train", named, "--epochs", 1, *self.state)
        self.assertEqual(trained["model"], str(self.folder / "state/reference.model"))
        moved = self.run_well("powertrain", "transfer", named, "--epochs", 1, "-o", out, *self.state)
        self.assertEqual(moved["reference"], "jetson-agx-orin r\u00e9snet")
        predicted = self.folder / "p.csv"
        self.run_well("powertrain", "predict", out, "--profile", named, "-o", predicted)
        self.assertIn(",r\u00e9snet,", predicted.read_text())

    def test_a_broken_model_is_refused_with_the_reason(self):
        lstm, model = self.profile("lstm", "lstm.csv"), self.folder / "lstm.model"
        self.run_well("powertrain", "train", lstm, "--epochs", 1, "-o", model)
        whole = model.read_bytes()
        bad = self.folder / "bad.model"
        for broken, reason in (
            (whole[:-1], "weights"),
            (whole.replace(b'"version":1', b'"version":9'), "version"),
            (b"device,workload\n" + whole, "header"),
            (whole.replace(b'"mean":', b'"nean":', 1), "mean"),
            (whole[:-4] + b"\x00\x00\xc0\x7f", "weight"),
        ):
            bad.write_bytes(broken)
            refused = gearshift("powertrain", "predict", bad, "--profile", lstm, "-o", self.folder / "p.csv")
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("bad.model", refused.stderr)
            self.assertIn(reason, refused.stderr)
            self.assertFalse((self.folder / "p.csv").exists())

    def test_a_model_takes_the_place_of_a_file_alone(self):
        train = ["powertrain", "train", self.profile("lstm", "lstm.csv"), "--epochs", 1, "-o"]
        model, link, victim = (self.folder / name for name in ("m.model", "l.model", "victim"))
        model.write_text("old")
        model.chmod(0o600)
        link.symlink_to(model)
        victim.write_text("untouched")
        for name in ("m.model", "l.model"):  # where a file was once made that becomes the model
            (self.folder / f"{name}.part").symlink_to(victim)
        self.run_well(*train, link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(stat.S_IMODE(model.stat().st_mode), 0o600)
        self.assertEqual(victim.read_text(), "untouched")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.DEVNULL)
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)
        self.run_well(*train, pipe)
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))

    def test_where_a_model_cannot_be_written_is_told_before_it_is_trained(self):
        done = gearshift("powertrain", "train", self.profile("lstm", "lstm.csv"), "-o", self.folder / "no" / "m.model")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no/m.model: cannot be written: No such file", done.stderr)
        self.assertNotIn("epochs", done.stderr)

    def test_evaluate_prints_published_figures_beside_its_own(self):
        lstm = self.profile("lstm", "lstm.csv")
        rows = self.run_well("powertrain", "evaluate", "--reference", lstm, "--target", lstm, "--modes", 50,
                             "--repeats", 2, "--epochs", 2)["rows"]  # fmt: skip
        self.assertEqual([row["method"] for row in rows], ["all", "all", "NN", "PowerTrain"])
        self.assertEqual(rows[3]["time"]["published_percent"], 12.5)
        self.assertLessEqual(rows[3]["time"]["first_quartile_percent"], rows[3]["time"]["median_percent"])

    def test_choices_by_prediction_are_judged_by_the_profile(self):
        lstm = self.profile("lstm", "lstm.csv")
        told = self.run_well("powertrain", "optimize", "--target", lstm, "--caps", "10,20,30", "--modes", 20,
                             "--repeats", 3, "--epochs", 20, *self.state)  # fmt: skip
        self.assertEqual(told["reference_source"], "gearshift's own")
        rows = {row["method"]: row for row in told["rows"]}
        self.assertEqual(list(rows), ["MAXN", "RND", "NN", "PowerTrain"])
        # No mode of this profile keeps 10 W; what was measured is known not to be over.
        self.assertEqual([rows["MAXN"]["solutions"], rows["NN"]["solutions"]], [2, 6])
        self.assertEqual(rows["MAXN"]["over_percent"], 100)
        self.assertLessEqual(rows["RND"]["over_by_most_w"], rows["MAXN"]["over_by_most_w"])
        self.assertGreaterEqual(rows["RND"]["penalty_median_percent"], 0)
        self.assertLess(rows["PowerTrain"]["area_w"], rows["MAXN"]["area_w"])
        refused = gearshift("powertrain", "optimize", "--target", lstm, "--caps", "1:5:1", *self.state)
        self.assertNotIn("10 draws", refused.stderr, "nothing is trained where nothing can be judged")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--caps '1:5:1': no measured mode draws so little", refused.stderr)

    def test_targets_that_cannot_be_used_are_refused_before_the_first_training(self):
        lstm, other = self.profile("lstm", "lstm.csv"), self.folder / "other.csv"
        rows = "".join(f"bench,net,train,16,{mhz},{9000 / mhz},{5 + mhz / 100}\n" for mhz in range(300, 1300, 50))
        other.write_text("device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\n" + rows)
        for words in (["optimize", "--caps", "20,30", *self.state], ["evaluate", "--reference", lstm, "--modes", 10]):
            refused = gearshift("powertrain", *words, "--target", lstm, "--target", other, "--repeats", 1, "--epochs", 1)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertRegex(refused.stderr, "bench net: PowerTrain's reference .* needs cpu_cores, which is no knob here")
            self.assertNotIn("1/", refused.stderr, "trained before")

    def test_a_highest_mode_that_was_not_measured_is_told(self):
        lstm = self.profile("lstm", "lstm.csv")
        lines = lstm.read_text().splitlines()
        highest = [line for line in lines if ",12,2201.6,1300.5,3199," in line]
        self.assertEqual(len(highest), 1)
        lstm.write_text("\n".join(line for line in lines if line not in highest) + "\n")
        done = gearshift("powertrain", "optimize", "--target", lstm, "--caps", "20,30", "--modes", 10, "--repeats", 1,
                         "--epochs", 1, *self.state)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("MAXN", done.stdout)
        self.assertRegex(done.stderr, r"jetson-agx-orin lstm: no row MAXN: the highest mode \(.*gpu_mhz=1300.5.* batch=16\) was not measured")


if __name__ == "__main__":
    unittest.main(verbosity=2)
