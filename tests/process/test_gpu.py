"""A server GPU through a fake NVML library: a search under a cap, SIGKILL, a GPU that is lost."""

import contextlib
import importlib.util
import json
import signal
import time
import unittest

from harness import BINARY, SOURCE, Program, Stack, skip_all, wait_until

for module in ("zmq", "msgpack"):
    if importlib.util.find_spec(module) is None:
        skip_all(f"python3-{module} is not installed")

from fake_gpu import CLOCKS, UUID, FakeGpu, clock_mhz, minibatch_ms, power_w  # noqa: E402

CAP_W = 180
HOLD = "return {power_limit_w = 125, gpu_mhz = 900}"


def cost(setting):
    mhz, _ = clock_mhz(setting["power_limit_w"], setting["gpu_mhz"])
    return power_w(mhz), minibatch_ms(mhz)


class Gpu(unittest.TestCase):
    def setUp(self):
        cleanup = contextlib.ExitStack()
        self.addCleanup(cleanup.close)
        self.stack = cleanup.enter_context(Stack(board=False))
        self.gpu = cleanup.enter_context(FakeGpu(self.stack.folder / "gpus"))

    def daemon(self, script, *more, power=f"{CAP_W}W"):
        return self.stack.daemon(script, "--board", "nvidia-gpu", *more, power=power, sysroot=False)

    def test_a_search_under_a_cap_ends_near_the_best_setting_and_puts_the_gpu_back(self):
        daemon = self.daemon(SOURCE / "scripts/binary_search.lua")
        self.gpu.train(self.stack.endpoint)
        held = daemon.note("hold")["setting"]
        limits = [100, 125, 150, 175, 200, 225, 250, 275, 300]
        modes = [{"power_limit_w": w, "gpu_mhz": c} for w in limits for c in CLOCKS]
        fitting = [cost(mode)[1] for mode in modes if cost(mode)[0] <= CAP_W]
        power, time_ms = cost(held)
        self.assertLessEqual(power, CAP_W, held)
        self.assertLessEqual(time_ms, 1.2 * min(fitting), held)
        self.assertEqual(self.gpu.get("limit_mw"), str(1000 * int(held["power_limit_w"])))
        for seen in daemon.notes("observation"):
            if seen["ok"]:
                self.assertAlmostEqual(seen["power_w"], cost(seen["setting"])[0], delta=20)
                self.assertFalse(seen["power_is_estimate"])
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(self.gpu.get("limit_mw"), "250000")
        self.assertEqual(self.gpu.get("gpu_lock"), "")

    def test_where_the_clock_cannot_be_locked_the_power_limits_are_searched(self):
        self.gpu.put("set_clocks", "error 3")
        daemon = self.daemon("full_sweep")
        self.gpu.train(self.stack.endpoint)
        held = daemon.note("hold")["setting"]
        self.assertEqual(held["gpu_mhz"], CLOCKS[-1])
        self.assertGreater(held["power_limit_w"], 100)
        self.assertIn("NOT_SUPPORTED", json.dumps(daemon.notes("knob_failed")))
        self.assertEqual(self.gpu.get("limit_mw"), str(1000 * int(held["power_limit_w"])))
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(self.gpu.get("limit_mw"), "250000")

    def test_a_killed_daemon_is_put_back_by_restore(self):
        daemon = self.daemon(self.stack.script(HOLD), "--gpu", UUID, power=None)
        self.gpu.train(self.stack.endpoint)
        daemon.note("hold")
        self.assertEqual(self.gpu.get("limit_mw"), "125000")
        self.assertEqual(self.gpu.get("gpu_lock"), "900 900")
        daemon.kill()
        self.assertEqual(self.gpu.get("limit_mw"), "125000")
        restored = self.stack.gearshift("restore", "--state", self.stack.state)
        self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)
        self.assertIn(f"/nvml/{UUID}/power_limit: 250000 mW (was 125000 mW)", restored.stdout)
        self.assertEqual(self.gpu.get("limit_mw"), "250000")
        self.assertEqual(self.gpu.get("gpu_lock"), "")

    def test_a_lost_gpu_is_told_and_one_that_comes_back_is_set_again(self):
        daemon = self.daemon(self.stack.script(HOLD))
        self.gpu.train(self.stack.endpoint)
        daemon.note("hold")
        self.gpu.put("lost", "error 15")
        told = daemon.note("power_unknown")
        self.assertIn("GPU_IS_LOST", json.dumps(told))
        # A reset puts the driver's defaults back.
        self.gpu.put("limit_mw", "250000")
        self.gpu.put("gpu_lock", "")
        (self.gpu.gpu / "lost").unlink()
        daemon.note("hold")
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(self.gpu.get("limit_mw"), "250000")

    def test_a_driver_that_hangs_keeps_no_daemon_from_ending_at_the_second_signal(self):
        daemon = self.daemon(self.stack.script(HOLD))
        self.gpu.train(self.stack.endpoint)
        daemon.note("hold")
        self.gpu.hang()

        def ended():
            daemon.send(signal.SIGINT)
            return daemon.process.poll() is not None

        wait_until(ended)
        self.assertEqual(daemon.process.returncode, -signal.SIGINT)
        self.assertTrue((self.stack.state / "knobs.journal").exists())
        self.gpu.go_on()
        wait_until(lambda: self.gpu.get("limit_mw") == "250000", "the guardian has not put it back")
        wait_until(lambda: self.gpu.get("gpu_lock") == "", "the guardian has not unlocked it")

    def test_a_driver_that_hangs_is_told_by_a_daemon_with_a_helper(self):
        socket = self.stack.folder / "helper.sock"
        arguments = [BINARY, "helper", "--board", "nvidia-gpu", "--socket", socket]
        helper = self.stack.start(Program, arguments + ["--state", self.stack.folder / "helper"], "helper")
        helper.wait_for(lambda line: line.startswith("ready"))
        daemon = self.daemon(self.stack.script(HOLD), "--helper", socket)
        self.gpu.train(self.stack.endpoint)
        daemon.note("hold")
        self.gpu.hang()
        daemon.note("power_unknown")
        asked = self.stack.gearshift("status", "--control", self.stack.control)
        self.gpu.go_on()
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertIn("unknown", asked.stdout)
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(self.gpu.get("limit_mw"), "250000")

    def test_where_nothing_can_be_set_the_batch_size_is_chosen_under_the_cap(self):
        self.gpu.cannot_be_set()
        self.gpu.train_batches(self.stack.endpoint)  # 589 W, before there is a daemon
        daemon = self.daemon("bayes", power="420W")
        held = daemon.note("hold")
        self.assertEqual(held["setting"]["train_batch"], 64, daemon.notes("observation"))
        measured = [seen["setting"]["train_batch"] for seen in daemon.notes("observation")]
        # On a busy machine one may be looked at again, or the last one not any more.
        self.assertEqual(measured, sorted(measured), "from below")
        self.assertLessEqual({16, 64}, set(measured))
        self.assertLessEqual(set(measured), {16, 64, 128}, "no further than the first over the cap")
        asked = [one["setting"]["train_batch"] for one in daemon.notes("setting") if "train_batch" in one["setting"]]
        self.assertEqual(asked[0], 16)
        self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_where_nothing_can_be_set_mean_power_keeps_a_cap_below_the_smallest_batch(self):
        self.gpu.cannot_be_set()
        self.gpu.train_batches(self.stack.endpoint)  # 188 W at least, 60 W while it waits
        daemon = self.daemon("bayes", power="140W")
        daemon.note("status", phase="resting")
        trained = self.gpu.minibatches
        wait_until(lambda: self.gpu.minibatches > trained + 100, "it went on training")  # first it makes up for 589 W
        energy_mj, trained, began = self.gpu.energy_mj, self.gpu.minibatches, time.monotonic()
        wait_until(lambda: self.gpu.minibatches > trained + 800, "it went on training")
        power = (self.gpu.energy_mj - energy_mj) / 1000 / (time.monotonic() - began)
        self.assertLess(power, 1.05 * 140)
        self.assertEqual(daemon.finish(signal.SIGINT), 0)
        self.assertEqual(daemon.notes("status")[-1]["phase"], "resting")

    def test_boards_tells_the_gpu_with_its_range(self):
        listed = self.stack.gearshift("boards")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("* nvidia-gpu", listed.stdout)
        self.assertIn(f"GPU 0: Fake A100, {UUID}, limit 100 to 300 W (default 250 W)", listed.stdout)
        explained = json.loads(self.stack.gearshift("boards", "--explain", "--json").stdout)["machine"]
        self.assertEqual(explained["gpus"][0]["limit_most_w"], 300)
        knobs = {knob["name"]: knob for knob in explained["knobs"]}
        self.assertEqual(knobs["power_limit_w"]["values"][:2], [100, 125])
        self.assertEqual(knobs["gpu_mhz"]["values"], list(CLOCKS))
        self.assertIn("nothing to choose", knobs["mem_mhz"]["reason"])

    def test_a_gpu_that_is_not_there_and_a_board_without_one_are_told(self):
        unknown = self.stack.gearshift("boards", "--explain", "--board", "nvidia-gpu", "--gpu", "7")
        self.assertEqual(unknown.returncode, 0, unknown.stderr)
        self.assertIn(f"GPU '7': no such GPU; there are 0 (Fake A100, {UUID})", unknown.stdout)
        refused = self.stack.gearshift("boards", "--board", "host", "--gpu", "0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("board host has no knob or sensor of NVML", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
