"""A board that lies, fails and is written by others, and scripts that misbehave: live."""

import json
import os
import shutil
import signal
import unittest

from harness import BINARY, HOLD, Program, Stack

MAX = """
local top = {}
for _, name in ipairs(knobs.names) do top[name] = knobs[name][#knobs[name]] end
log(measure(top).reason)
return nil
"""
MEMORY_LOCK = "/sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked"
GPU_MAX = "/sys/class/devfreq/17000000.gpu/max_freq"


class Faults(unittest.TestCase):
    def test_an_outside_writer_is_reported_once_with_both_values_and_undone(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            held = stack.read(GPU_MAX)
            stack.write("/sys/class/devfreq/17000000.gpu/min_freq", "306000000")
            stack.write(GPU_MAX, "306000000")
            note = daemon.note("outside_writer")
            self.assertIn("gpu_mhz", note["text"])
            self.assertIn("306", note["text"])
            self.assertIn("510", note["text"])
            daemon.note("status")
            self.assertEqual(stack.read(GPU_MAX), held)
            self.assertEqual(len(daemon.notes("outside_writer")), 1)

    def test_an_ignored_clock_is_an_answer_and_not_a_cost(self):
        for fault, knob, wanted in (
            ("ignore_gpu_clock=1", "gpu_mhz", "1300.5"),
            ("ignore_cpu_clock=1", "cpu_mhz", "2201.6"),
        ):
            with self.subTest(fault), Stack(faults=[fault]) as stack:
                daemon = stack.daemon(stack.script(MAX), power=None)
                stack.trainer()
                failed = daemon.note("knob_failed")
                self.assertIn(f"{knob}: wrote {wanted}, still ", failed["text"])
                self.assertEqual(daemon.note("observation")["reason"], "not_applied")
                daemon.note("safe")
                daemon.note("status")
                daemon.note("status")
                self.assertEqual(daemon.notes("outside_writer"), [], "the clock does not move")

    def test_a_measurement_over_the_cap_is_cut_and_the_safe_setting_taken(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(MAX), power="25W")
            stack.trainer()
            over = daemon.note("over_cap")
            self.assertGreater(over["power_w"], 25)
            self.assertEqual(daemon.note("observation")["reason"], "over_limit")
            # The search first waits until what it drew over the cap is made up for: on a busy machine, long.
            daemon.note("safe", 180)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_dead_channel_does_not_stop_it(self):
        with Stack(faults=["dead_channel=VDD_CPU_CV"]) as stack:
            # The dead rail is counted at the most it may draw: no cap, so that this can be held.
            daemon = stack.daemon(stack.script(HOLD), power=None)
            stack.trainer()
            daemon.note("hold")
            self.assertTrue(daemon.note("status")["power_is_estimate"])

    def test_a_channel_that_dies_later_is_danger(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            stack.fault("dead_channel", "VDD_GPU_SOC")
            self.assertIn("VDD_GPU_SOC", daemon.note("power_unknown")["text"])
            daemon.note("status", phase="safe")
            stack.fault("dead_channel", "none")
            daemon.note("hold")

    def test_absurd_readings_are_danger(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            stack.fault("sensor_absurd", "2000000")
            self.assertIn("absurd", daemon.note("power_unknown")["text"])

    def test_an_unwritable_knob_is_absent_with_its_reason_and_the_rest_is_used(self):
        with Stack(faults=["eacces=/sys/kernel/debug"]) as stack:
            script = stack.script(
                "return {cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3]}"
            )
            daemon = stack.daemon(script)
            daemon.wait_for(lambda line: "gearshift run: knob mem_mhz: absent: " in line)
            stack.trainer()
            self.assertNotIn("mem_mhz", daemon.note("hold")["setting"])

    def test_a_knob_that_cannot_be_read_before_the_first_write_keeps_no_other_from_being_set(self):
        with Stack() as stack:
            before = stack.knobs()
            daemon = stack.daemon(stack.script(HOLD))
            daemon.note("status")
            stack.fault("eio", MEMORY_LOCK)
            stack.trainer()
            failed = daemon.note("knob_failed")
            self.assertIn("mem_mhz: ", failed["text"])
            self.assertIn("mrq_rate_locked", failed["text"])
            daemon.wait_for(lambda _: stack.read(GPU_MAX) != before[GPU_MAX.lstrip("/")])
            self.assertEqual(daemon.finish(signal.SIGINT), 0, daemon.tail())
            self.assertFalse((stack.state / "knobs.journal").exists())
            stack.fault("eio", "none")
            self.assertEqual(stack.knobs(), before)

    def test_knobs_that_were_never_written_are_nobodys_to_put_back(self):
        with Stack() as stack:
            stack.state.mkdir()
            daemon = stack.daemon(stack.script(HOLD))
            daemon.note("status")
            (stack.state / "knobs.journal.new").mkdir()  # as a full disk: no journal can be written
            stack.trainer()
            self.assertIn("knob journal", daemon.note("knob_failed")["text"])
            wish = "816000000"
            self.assertNotEqual(stack.read(GPU_MAX), wish)
            stack.write(GPU_MAX, wish)
            self.assertEqual(daemon.finish(signal.SIGINT), 0, daemon.tail())
            self.assertEqual(stack.read(GPU_MAX), wish)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to start the daemon as somebody else")
    def test_without_root_it_attaches_measures_and_says_what_it_may_not_write(self):
        with Stack(plain=True) as stack:
            nobody = 65534
            binary = shutil.copy(BINARY, stack.folder / "gearshift")
            os.chown(stack.folder, nobody, nobody)
            script = stack.script("return measure({train_batch = 16}).setting")
            words = [binary, "run", "--policy", script, "--sysroot", stack.mount, "--power", "60W"]
            words += ["--listen", stack.endpoint, "--control", stack.control, "--state", stack.state]
            daemon = stack.start(Program, words, "run", user=nobody, group=nobody)
            for knob in ("cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz"):
                daemon.wait_for(lambda line: f"knob {knob}: absent" in line)
            daemon.wait_for(lambda line: "measuring and advising only" in line)
            stack.trainer()
            daemon.wait_for(lambda line: "measured" in line and "a minibatch" in line)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_plain_directory_serves_where_fuse_is_missing(self):
        with Stack(plain=True) as stack:
            before = stack.knobs()
            daemon = stack.daemon(stack.script("return nil"))
            stack.trainer()
            daemon.note("attached")
            daemon.note("status", phase="safe")
            daemon.note("status", phase="safe")
            stack.script(HOLD)
            daemon.note("hold")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(stack.knobs(), before)


HOSTILE = {
    "a loop": "while true do end",
    "a memory hog": 'local t = {} while true do t[#t + 1] = ("x"):upper() .. #t end',
    "nonsense": 'return {cpu_cores = 8, cpu_mhz = 1, gpu_mhz = "fast", mem_mhz = -1}',
    "an error": 'error("on purpose")',
    "known answers for ever": "while true do measure(modes[#modes // 2]) end",
}
# A few instructions of these take as long as all that a script may use.
SLOW = {
    "a chain of a table": """
local t, k, step = {}, 0, 2047 * 1024
for _ = 1, 2048 do t[k], k = true, k + step end
while true do
  t[k - 2048 * step] = nil
  t[k], k = true, k + step
end""",
    "strings of many parts": """
local z = "\\0"
for _ = 1, 9 do z = z .. z end
local a, b = z .. "a", z .. "b"
while true do if a > b then a = b end end""",
}


class HostileScripts(unittest.TestCase):
    def test_each_is_reported_once_the_safe_setting_held_and_training_goes_on(self):
        for name, text in HOSTILE.items():
            with self.subTest(name), Stack() as stack:
                daemon = stack.daemon(stack.script(text))
                trainer = stack.trainer()
                error = daemon.note("policy_error")
                self.assertIn("policy.lua:1", error["text"])
                daemon.note("status", phase="safe")
                self.assertEqual(stack.read("/sys/devices/system/cpu/online"), "0-1")
                self.assertIsNone(trainer.process.poll())
                self.assertEqual(len(daemon.notes("policy_error")), 1)

    def test_one_of_slow_instructions_is_ended_and_replays_so(self):
        for name, text in SLOW.items():
            with self.subTest(name), Stack() as stack:
                recording = stack.folder / "run.db"
                daemon = stack.daemon(stack.script(text), "--record", recording)
                stack.trainer()
                error = daemon.note("policy_error")
                self.assertIn("took all the processor time", error["text"])
                daemon.note("status", phase="safe")
                self.assertEqual(daemon.finish(signal.SIGINT), 0)
                replayed = stack.gearshift("replay", recording, "--json")
                self.assertEqual(replayed.returncode, 0, replayed.stdout)
                self.assertTrue(json.loads(replayed.stdout)["equal"])

    def test_an_edit_replaces_the_script_and_a_broken_edit_does_not(self):
        with Stack() as stack:
            script = stack.script('error("not yet")')
            daemon = stack.daemon(script)
            stack.trainer()
            daemon.note("policy_error")
            script.write_text(HOLD)
            self.assertEqual(daemon.note("policy_reload")["text"], "reloaded")
            daemon.note("hold")
            script.write_text("return +")
            self.assertIn("kept the old script", daemon.note("policy_reload")["text"])
            self.assertEqual(daemon.note("status")["phase"], "holding")


if __name__ == "__main__":
    unittest.main(verbosity=2)
