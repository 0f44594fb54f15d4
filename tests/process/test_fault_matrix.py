"""One test a row of docs/reliability.md that no other process test shows: stopped, killed, lied to."""

import signal
import subprocess
import sys
import threading
import time
import unittest

from harness import DEADLINE_S, HOLD, SOURCE, Stack, skip_all, wait_until

try:
    from liar import Liar
except ImportError:
    skip_all("pyzmq or msgpack is missing")
sys.path.insert(0, str(SOURCE / "bridge/python"))
import gearshift  # noqa: E402

# Never rests: every answer is followed by a move of every knob.
RESTLESS = """
while true do
  for _, gpu in ipairs({1, 3, 5}) do
    remeasure({cpu_cores = 4 + gpu, cpu_mhz = knobs.cpu_mhz[10 + gpu], gpu_mhz = knobs.gpu_mhz[gpu],
               mem_mhz = knobs.mem_mhz[2 + gpu % 2]})
  end
end
"""
MEASURE = """
return measure({cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[14], gpu_mhz = knobs.gpu_mhz[%d],
                mem_mhz = knobs.mem_mhz[3]}).setting
"""
GPU = "/sys/class/devfreq/17000000.gpu"
CPU_LIMIT = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"


class Killed(unittest.TestCase):
    def test_a_daemon_that_is_killed_while_it_writes_is_undone_by_restore(self):
        with Stack() as stack:
            before = stack.knobs()
            stack.trainer()
            for writes in (1, 7, 20, 33, 46):
                begun = int(stack.read("/.virtual/writes"))
                daemon = stack.daemon(stack.script(RESTLESS))
                end = time.monotonic() + DEADLINE_S
                while int(stack.read("/.virtual/writes")) < begun + writes:
                    self.assertLess(time.monotonic(), end, daemon.tail())
                daemon.kill()
                done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(stack.knobs(), before, f"killed after {writes} writes")


class SleepingCores(unittest.TestCase):
    def test_a_kernel_that_shows_what_a_sleeping_cluster_last_held_is_no_obstacle(self):
        with Stack() as stack:
            asleep = "/sys/devices/system/cpu/cpufreq/policy8/scaling_max_freq"
            stack.fault("stale_cpufreq", "1")
            found = stack.read(asleep)
            before = stack.knobs()
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            self.assertEqual(stack.read(asleep), found)
            stack.script(HOLD.replace("cpu_cores = 8", "cpu_cores = 12"))
            daemon.wait_for(lambda _: stack.read(asleep) != found)
            stack.script(HOLD)
            daemon.note("hold")
            self.assertEqual(daemon.notes("knob_failed"), [])
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(stack.knobs(), before)
            for core in (8, 9, 10, 11):
                stack.write(f"/sys/devices/system/cpu/cpu{core}/online", "1")
            self.assertEqual(stack.read(asleep), found)


class Stopped(unittest.TestCase):
    def test_a_daemon_that_was_stopped_goes_on_with_its_trainer(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            trainer = stack.trainer()
            daemon.note("hold")
            held = stack.knobs()
            watcher = gearshift.attach("watcher", "train", endpoint=stack.endpoint)
            self.addCleanup(watcher.close)
            daemon.note("attached", text="watcher")
            wait_until(lambda: watcher.attached)
            daemon.send(signal.SIGSTOP)
            # As long as a client waits for a sign of life. The trainer gives up about then, before or behind
            # it; who watched must be gone, or it may attach first and be the one that is tuned.
            wait_until(lambda: not watcher.attached)
            watcher.close()
            self.assertIsNone(trainer.process.poll())
            daemon.send(signal.SIGCONT)
            while "train_minibatch_ms" not in daemon.note("status", phase="holding", workloads=1):
                pass
            wait_until(lambda: stack.knobs() == held)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_trainer_that_was_stopped_is_detached_and_comes_back(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            trainer = stack.trainer()
            daemon.note("hold")
            trainer.send(signal.SIGSTOP)
            self.assertIn("silent", daemon.note("detached")["text"])
            trainer.send(signal.SIGCONT)
            daemon.note("attached")
            daemon.note("hold")


class Lies(unittest.TestCase):
    def test_values_that_cannot_be_are_dropped_and_told(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(MEASURE % 3))
            # Each over a connection of its own, since one error a second is told.
            for lie in (
                {"elapsed_ns": -1},
                {"elapsed_ns": float("nan")},
                {"elapsed_ns": float("inf")},
                {"elapsed_ns": 2**63},
                {"elapsed_ns": 3_600_000_000_001},
                {"elapsed_ns": 0},
                {"fetch_stall_ns": -5},
                {"batch_size": -16},
                {"batch_size": 2**40},
                {"set": 4_000_000_000},
                {"sequence": 0},
                {"sequence": -3},
            ):
                with self.subTest(lie), Liar(stack.endpoint) as liar:
                    liar.wait_for("welcome")
                    liar.report(**lie)
                    said = liar.wait_for("error", "invalid")["message"]
                    self.assertIn(next(iter(lie)), said)
            for second in (100, 50):
                with self.subTest(second), Liar(stack.endpoint) as liar:
                    liar.wait_for("welcome")
                    liar.report(sequence=100)
                    liar.report(sequence=second)
                    self.assertIn("sequence", liar.wait_for("error", "invalid")["message"])
            with Liar(stack.endpoint) as liar:
                liar.wait_for("welcome")
                liar.say(b"\xc1\xff not a message")
                liar.wait_for("error", "malformed")
            daemon.note("status")
            self.assertEqual([n for n in daemon.notes("observation") if n["ok"]], [])
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_flood_is_told_and_leaves_the_trainer_its_place(self):
        for count in (1, 8):
            with self.subTest(count), Stack() as stack:
                self.flood(stack, count)

    def flood(self, stack, count):
        daemon = stack.daemon(stack.script(MEASURE % 3))
        stack.trainer()
        trainer = daemon.note("attached", text="resnet18")["workload"]
        stop = threading.Event()
        floods = [Liar(stack.endpoint, f"flood{i}") for i in range(count)]

        def run(liar):
            while not stop.is_set():
                for _ in range(500):
                    liar.report()

        threads = [threading.Thread(target=run, args=(liar,)) for liar in floods]
        for thread in threads:
            thread.start()
        try:
            daemon.note("observation", ok=True)
            daemon.note("hold")
            for _ in range(2):
                daemon.note("status", phase="holding")
            done = stack.gearshift("cap", "25W", "--control", stack.control)
            self.assertEqual(done.returncode, 0, done.stderr)
            daemon.note("goal")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if count == 1:  # more of them share what the loop takes, so that none has too much of it
            floods[0].wait_for("error", "too_many")
        for liar in floods:
            liar.__exit__()
        self.assertNotIn(trainer, [note["workload"] for note in daemon.notes("detached")])

    def test_a_trainer_that_comes_back_as_another_connection_replaces_itself(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            for _ in range(3):
                # Gone without a word, and back at once under another identity.
                with Liar(stack.endpoint, "resnet18") as liar:
                    self.assertTrue(liar.wait_for("welcome")["managed"])
                    self.assertTrue(daemon.note("attached")["managed"])
                self.assertIn("connection", daemon.note("detached")["text"])


class Board(unittest.TestCase):
    def test_a_sensor_that_fails_blocks_or_reads_garbage_is_danger(self):
        monitor = "/sys/bus/i2c/drivers/ina3221/1-0040"
        # A board whose reads are known to block reads them in a thread.
        blocking = ("--board", "jetson-agx-orin-jetpack5")
        for fault, value, off, more in (
            ("eio", monitor, "none", ()),
            ("sensor_garbage", "1", "0", ()),
            ("block_read_ms", "5000", "0", blocking),
        ):
            with self.subTest(fault), Stack() as stack:
                daemon = stack.daemon(stack.script(HOLD), *more)
                stack.trainer()
                daemon.note("hold")
                stack.fault(fault, value)
                daemon.note("power_unknown")
                daemon.note("status", phase="safe")
                self.assertEqual(stack.read("/sys/devices/system/cpu/online"), "0-1")
                stack.fault(fault, off)
                daemon.note("hold")
                self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_knob_that_refuses_later_is_an_answer_and_the_rest_goes_on(self):
        for fault, words, limit, knob in (
            ("eacces", "denied", f"{GPU}/max_freq", "gpu_mhz"),
            ("eio", "error", f"{GPU}/max_freq", "gpu_mhz"),
            ("ebusy", "busy", f"{GPU}/max_freq", "gpu_mhz"),
            ("ebusy", "busy", CPU_LIMIT, "cpu_mhz"),
        ):
            with self.subTest(fault, knob=knob), Stack() as stack:
                before = stack.knobs()
                script = stack.script(HOLD)
                daemon = stack.daemon(script, power=None)
                stack.trainer()
                daemon.note("hold")
                stack.fault(fault, limit)
                script.write_text(MEASURE % 5)
                daemon.note("policy_reload")
                failed = daemon.note("knob_failed")
                self.assertIn(knob, failed["text"])
                self.assertIn(words, failed["text"].lower())
                self.assertFalse(daemon.note("observation")["ok"])
                daemon.note("status")
                stack.fault(fault, "none")
                self.assertEqual(daemon.finish(signal.SIGINT), 0)
                self.assertEqual(stack.knobs(), before)

    def test_a_board_that_is_unmounted_is_told_and_its_journal_kept(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            subprocess.run(["umount", "-l", stack.mount], check=True, timeout=DEADLINE_S)
            stack.board.kill()
            daemon.note("power_unknown")
            daemon.note("status")
            code = daemon.finish(signal.SIGINT)
            self.assertEqual(code, 1, daemon.tail())
            self.assertTrue((stack.state / "knobs.journal").exists())


class Files(unittest.TestCase):
    def test_a_config_that_is_rewritten_with_nonsense_changes_nothing(self):
        with Stack() as stack:
            config = stack.script('[[schedule]]\nafter = "2s"\npower = "28W"\n', "run.toml")
            daemon = stack.daemon(stack.script(HOLD), "--config", config)
            stack.trainer()
            self.assertEqual(daemon.note("goal")["cap_w"], 30)
            config.write_text("[[schedule\npower = -1W \0 nonsense")
            self.assertEqual(daemon.note("goal")["cap_w"], 28)
            daemon.send(signal.SIGHUP)
            daemon.note("hold")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            done = stack.gearshift("run", "--config", config, "--sysroot", stack.mount)
            self.assertEqual(done.returncode, 2)
            self.assertIn("run.toml", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
