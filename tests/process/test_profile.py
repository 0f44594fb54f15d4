"""A profile is taken live: measured, resumed, and what would not apply is listed."""

import csv
import signal
import unittest

from harness import BINARY, Daemon, Program, Stack, wait_until

GRID = ["--keep", "cpu_cores=8,12", "--keep", "cpu_mhz=1728", "--keep", "gpu_mhz=612,1300.5"]
FAN = "/sys/devices/platform/pwm-fan/hwmon"


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Profiles(unittest.TestCase):
    def profile(self, stack, out, *more):
        words = [BINARY, "profile", "--json", "--sysroot", stack.mount, "--listen", stack.endpoint]
        words += ["--control", stack.control, "--state", stack.state, "--minibatches", "3", *GRID]
        return stack.start(Daemon, words + ["-o", out, *more], "profile")

    def other_trainer(self, stack):
        words = [BINARY, "emulate", "--workload", "mobilenet_v3", "--sysroot", stack.mount]
        return stack.start(Program, words + ["--connect", stack.endpoint, "--warm-up", "0.5s"], "other")

    def fan(self, stack):
        (folder,) = (stack.mount / FAN.lstrip("/")).iterdir()
        return (folder / "pwm1").read_text(), (folder / "pwm1_enable").read_text()

    def test_it_measures_each_mode_resumes_and_leaves_the_board_as_it_was(self):
        with Stack() as stack:
            out = stack.folder / "resnet18.csv"
            knobs, fan = stack.knobs(), self.fan(stack)
            first = self.profile(stack, out, "--keep", "mem_mhz=3199")
            stack.trainer()
            first.note("measured")
            self.assertEqual(self.fan(stack)[0].strip(), "255")
            first.note("measured")
            self.assertEqual(first.finish(signal.SIGINT), 0)
            self.assertFalse(first.summary()["complete"])
            self.assertEqual(self.fan(stack), fan)
            known = rows(out)
            self.assertEqual(len(known), first.summary()["measured"])

            second = self.profile(stack, out, "--keep", "mem_mhz=3199")
            self.assertEqual(second.finish(), 0)
            summary = second.summary()
            self.assertTrue(summary["complete"])
            self.assertEqual(summary["known"], len(known))
            self.assertEqual(summary["measured"], 4 - len(known))
            self.assertEqual(summary["left_out"], [])
            self.assertGreater(summary["energy_j"], 0)
            table = rows(out)
            self.assertEqual(table[: len(known)], known)
            self.assertEqual(
                {(row["cpu_cores"], row["gpu_mhz"]) for row in table},
                {("8", "612"), ("8", "1300.5"), ("12", "612"), ("12", "1300.5")},
            )
            fastest = [row for row in table if row["cpu_cores"] == "12" and row["gpu_mhz"] == "1300.5"]
            slowest = [row for row in table if row["cpu_cores"] == "8" and row["gpu_mhz"] == "612"]
            self.assertLess(float(fastest[0]["minibatch_ms"]), float(slowest[0]["minibatch_ms"]))
            self.assertGreater(float(fastest[0]["power_w"]), float(slowest[0]["power_w"]))
            self.assertEqual(stack.knobs(), knobs)

    def test_restore_puts_the_fan_back_after_sigkill(self):
        with Stack() as stack:
            knobs, fan = stack.knobs(), self.fan(stack)
            daemon = self.profile(stack, stack.folder / "resnet18.csv")
            stack.trainer()
            daemon.note("measured")
            self.assertEqual(self.fan(stack)[0].strip(), "255")
            daemon.kill()
            self.assertEqual(self.fan(stack)[0].strip(), "255")
            done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("pwm1", done.stdout)
            self.assertEqual(self.fan(stack), fan)
            self.assertEqual(stack.knobs(), knobs)

    def test_a_profile_that_cannot_be_written_ends_with_the_board_as_it_was(self):
        with Stack() as stack:
            knobs, fan = stack.knobs(), self.fan(stack)
            folder = stack.folder / "unmounted"
            folder.mkdir()
            daemon = self.profile(stack, folder / "x.csv")
            wait_until(lambda: self.fan(stack)[0].strip() == "255")
            folder.rmdir()
            stack.trainer()
            self.assertEqual(daemon.finish(), 1)
            self.assertIn("x.csv: cannot be written: No such file or directory", daemon.tail())
            self.assertEqual(self.fan(stack), fan)
            self.assertEqual(stack.knobs(), knobs)

    def test_a_file_that_cannot_be_written_is_told_before_a_trainer_attaches(self):
        with Stack() as stack:
            daemon = self.profile(stack, stack.folder / "missing" / "x.csv")
            self.assertEqual(daemon.finish(), 1)
            self.assertIn("x.csv: cannot be written: No such file or directory", daemon.tail())

    def test_a_file_with_rows_of_other_knobs_is_refused_before_anything_is_measured(self):
        with Stack() as stack:
            knobs, out = stack.knobs(), stack.folder / "resnet18.csv"
            before = (
                "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,minibatch_ms,power_w\n"
                "jetson-agx-orin,resnet18,train,16,12,1728,1300.5,60,40\n"
            )
            out.write_text(before)
            daemon = self.profile(stack, out)
            stack.trainer()
            self.assertEqual(daemon.finish(), 1)
            self.assertIn(
                "has the knobs cpu_cores, cpu_mhz in MHz, gpu_mhz in MHz there, and cpu_cores, cpu_mhz in MHz, "
                "gpu_mhz in MHz, mem_mhz in MHz can be set here",
                daemon.tail(),
            )
            self.assertEqual(daemon.notes("measured"), [])
            self.assertEqual(out.read_text(), before)
            self.assertEqual(stack.knobs(), knobs)

    def test_a_mode_that_does_not_apply_is_left_out_with_its_reason(self):
        with Stack(faults=["ignore_gpu_clock=1"]) as stack:
            out = stack.folder / "resnet18.csv"
            daemon = self.profile(stack, out, "--keep", "mem_mhz=3199", "--keep", "cpu_cores=12")
            stack.trainer()
            self.assertEqual(daemon.finish(), 0)
            summary = daemon.summary()
            self.assertTrue(summary["complete"])
            self.assertEqual(summary["measured"] + len(summary["left_out"]), 2)
            self.assertTrue(summary["left_out"])
            for one in summary["left_out"]:
                self.assertIn("not_applied: gpu_mhz", one["reason"])

    def test_batch_sizes_that_the_workload_does_not_offer_are_named(self):
        with Stack() as stack:
            out = stack.folder / "resnet18.csv"
            words = ["--keep", "mem_mhz=3199", "--keep", "cpu_cores=12", "--batch"]
            stack.trainer()
            daemon = self.profile(stack, out, *words, "7,16,1000")
            self.assertEqual(daemon.finish(), 0)
            self.assertEqual(daemon.summary()["measured"], 2)
            self.assertEqual(daemon.summary()["batch_sizes_not_offered"], [7, 1000])
            daemon = self.profile(stack, stack.folder / "none.csv", *words, "7")
            self.assertEqual(daemon.finish(), 1)
            self.assertEqual(daemon.summary()["measured"], 0)

    def test_another_workload_is_not_measured_in_the_first_ones_place(self):
        with Stack() as stack:
            out = stack.folder / "resnet18.csv"
            daemon = self.profile(stack, out, "--keep", "mem_mhz=3199")
            trainer = stack.trainer()
            daemon.note("measured")
            trainer.finish(signal.SIGTERM)
            other = self.other_trainer(stack)
            daemon.note("policy_log", text="waits for resnet18; mobilenet_v3 is another workload")
            measured = len(daemon.notes("measured"))
            other.finish(signal.SIGTERM)
            stack.trainer()
            self.assertEqual(daemon.finish(), 0)
            self.assertTrue(daemon.summary()["complete"])
            self.assertLess(measured, 4)
            self.assertEqual({row["workload"] for row in rows(out)}, {"resnet18"})
            self.assertEqual(len(rows(out)), 4)

    def test_what_is_measured_beside_a_second_trainer_is_left_out(self):
        with Stack() as stack:
            out = stack.folder / "resnet18.csv"
            stack.trainer()
            daemon = self.profile(stack, out, "--keep", "mem_mhz=3199")
            daemon.note("measured")
            self.other_trainer(stack)
            daemon.note("measured", left_out="another workload ran beside it: the power is no one's own")
            daemon.finish(signal.SIGINT)
            summary = daemon.summary()
            self.assertEqual(len(rows(out)), summary["measured"])
            self.assertTrue(summary["left_out"])

    def test_a_value_the_knob_has_not_is_refused(self):
        with Stack() as stack:
            daemon = self.profile(stack, stack.folder / "x.csv", "--keep", "mem_mhz=1")
            self.assertEqual(daemon.finish(), 2)
            self.assertIn("mem_mhz", daemon.tail())


if __name__ == "__main__":
    unittest.main(verbosity=2)
