"""Plays a GPU of a server: the files behind the fake NVML library, and a training that uses it.

A lock sets the clock, the power limit lowers it until the draw fits, and time follows the clock:

    power_w = 60 + 240 (mhz / 1410)^2.5 while training, IDLE_W else     minibatch_ms = 8 + 22 * 1410 / mhz
"""

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "bridge/python"))
import gearshift  # noqa: E402

LIBRARY = os.environ.get("FAKE_NVML", "build/fake_nvml.so")
UUID = "GPU-00000000-aaaa"
CLOCKS = (300, 600, 900, 1200, 1410)
STEP_S = 0.01
IDLE_W = 60
ANSWERS = {
    "uuid": UUID,
    "name": "Fake A100",
    "capability": "8 0",
    "limit_mw": "250000",
    "limit_default_mw": "250000",
    "limit_range_mw": "100000 300000",
    "memory_clocks": "1593",
    "graphics_clocks": " ".join(map(str, CLOCKS)),
    "gpu_lock": "",
    "reasons": "1",
    "power_instant": "60000",
    "energy_mj": "1000",
}
# ms of a minibatch and W by batch size: a ResNet-18 on an H200.
BATCHES = {16: (9.8, 188), 64: (9.8, 357), 128: (11.9, 519), 256: (20.3, 589)}


def power_w(mhz):
    return IDLE_W + 240 * (mhz / 1410) ** 2.5


def minibatch_ms(mhz):
    return 8 + 22 * 1410 / mhz


def clock_mhz(limit_w, lock_mhz):
    """The clock that a training gets, and whether the limit holds it below its lock."""
    most = 1410 * max((limit_w - IDLE_W) / 240, 0.0) ** 0.4
    return (most, True) if most < lock_mhz else (lock_mhz, False)


class FakeGpu:
    """A thread moves its counters; train() starts another one."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.gpu = self.folder / "gpu0"
        self.gpu.mkdir(parents=True)
        self.training = False
        self.draw_w = None  # of what runs, where no clock says it
        self.minibatches = 0
        self.stopped = False
        self.threads = []
        self.energy_mj = 1000.0
        for name, text in ANSWERS.items():
            self.put(name, text)
        self.put("gpu_clock", "300")
        os.environ["GEARSHIFT_NVML"] = str(LIBRARY)
        os.environ["GEARSHIFT_FAKE_NVML"] = str(self.folder)
        self.start(self.move)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        for name in ("GEARSHIFT_NVML", "GEARSHIFT_FAKE_NVML"):
            os.environ.pop(name, None)

    def start(self, target, *arguments):
        self.threads.append(threading.Thread(target=target, args=arguments))
        self.threads[-1].start()

    def put(self, name, text):
        """In one step, as the library writes: no reader sees half of it."""
        fresh = self.gpu / (name + ".fresh")
        fresh.write_text(text)
        fresh.replace(self.gpu / name)

    def get(self, name):
        return (self.gpu / name).read_text().strip()

    def clock(self):
        lock = self.get("gpu_lock").split()
        return clock_mhz(int(self.get("limit_mw")) / 1000, int(lock[1]) if lock else CLOCKS[-1])

    def move(self):
        before, drawn_w = time.monotonic(), IDLE_W
        while not self.stopped:
            time.sleep(STEP_S)
            now = time.monotonic()
            mhz, held = self.clock()
            draw_w = self.draw_w or (power_w(mhz) if self.training else IDLE_W)
            self.energy_mj += 1000 * drawn_w * (now - before)
            before, drawn_w = now, draw_w
            self.put("gpu_clock", str(round(mhz)))
            self.put("reasons", "4" if held and self.training else "0" if self.training else "1")
            self.put("power_instant", str(round(1000 * draw_w)))
            # The library counts on from there, however late the next step is.
            self.put("energy_mj", f"{self.energy_mj:.0f} {1e9 * now:.0f} {1000 * draw_w:.0f}")

    def hang(self):
        """Calls do not return before go_on()."""
        os.mkfifo(self.gpu / "hang")

    def go_on(self):
        released = (self.gpu / "hang").rename(self.gpu / "released")
        with contextlib.suppress(OSError):  # nobody waits
            os.close(os.open(released, os.O_WRONLY | os.O_NONBLOCK))

    def train(self, endpoint):
        self.start(self.run, endpoint)

    def run(self, endpoint):
        client = gearshift.attach("fake-net", kind="train", batch_size=32, endpoint=endpoint)
        self.training = True
        while not self.stopped:
            with client.minibatch(0, batch_size=32):
                time.sleep(minibatch_ms(self.clock()[0]) / 1000)
        client.close()

    def cannot_be_set(self):
        """As a user without rights sees it: nothing but what it draws."""
        for name in ("limit_mw", "limit_range_mw", "memory_clocks", "graphics_clocks"):
            (self.gpu / name).unlink()
        self.clock = lambda: (CLOCKS[-1], False)

    def train_batches(self, endpoint):
        self.start(self.run_batches, endpoint)

    def run_batches(self, endpoint):
        """Starts with the batch size that draws the most."""
        client = gearshift.attach(
            "resnet18", kind="train", batch_size=256, batch_sizes=sorted(BATCHES), endpoint=endpoint
        )
        while not self.stopped:
            size = client.wanted_batch_size
            minibatch_ms, draw_w = BATCHES[size]
            if not client.should_run():
                self.draw_w = IDLE_W
                client.wait_while_paused()
            with client.minibatch(0, batch_size=size):
                self.draw_w = draw_w
                time.sleep(minibatch_ms / 1000)
            self.minibatches += 1
        client.close()
