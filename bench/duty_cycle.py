#!/usr/bin/env python3
"""A cap below the lowest mode, live: what is drawn and trained where all that is left is to wait part of the time.

A pretended GPU (the fake NVML library of the tests) that may not be set and draws 188 W with the smallest batch, 60 W
without work. The first row is without a cap, which is also what the smallest batch draws and trains where nobody waits.
Trained is the share of that; a cap leaves (cap - 60 W) / (188 W - 60 W) of it.
"""

import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("GEARSHIFT_BINARY", str(ROOT / "build" / "gearshift"))
os.environ.setdefault("FAKE_NVML", str(ROOT / "build" / "fake_nvml.so"))
sys.path.insert(0, str(ROOT / "tests" / "process"))
from fake_gpu import BATCHES, IDLE_W, FakeGpu  # noqa: E402
from harness import Stack  # noqa: E402

CAPS_W = (170, 140, 100)
SETTLES_S, SPAN_S = 12, 30
_, BUSY_W = BATCHES[min(BATCHES)]


def measure(cap_w):
    """Mean W, minibatches a second, and the highest window that the daemon saw. None: without a cap."""
    with Stack(board=False) as stack, FakeGpu(stack.folder / "gpus") as gpu:
        gpu.cannot_be_set()
        gpu.train_batches(stack.endpoint)
        smallest = stack.script(f"return {{train_batch = {min(BATCHES)}}}")
        power = f"{cap_w}W" if cap_w else None
        daemon = stack.daemon(smallest, "--board", "nvidia-gpu", power=power, sysroot=False)
        daemon.note("attached")
        time.sleep(SETTLES_S)
        energy_mj, trained, began = gpu.energy_mj, gpu.minibatches, time.monotonic()
        time.sleep(SPAN_S)
        span = time.monotonic() - began
        power_w, rate = (gpu.energy_mj - energy_mj) / 1000 / span, (gpu.minibatches - trained) / span
        daemon.finish(signal.SIGINT)
        windows = [note["power_w"] for note in daemon.notes("status") if note["time_s"] > SETTLES_S]
        return power_w, rate, max(windows)


def main():
    free_w, free, window_w = measure(None)
    print(f"{'cap':>6}  {'mean power':>10}  {'highest window':>14}  {'trained':>8}  {'cap leaves':>10}")
    print(f"{'none':>6}  {free_w:8.1f} W  {window_w:12.1f} W  {1:8.0%}", flush=True)
    for cap_w in CAPS_W:
        power_w, rate, window_w = measure(cap_w)
        left = (cap_w - IDLE_W) / (BUSY_W - IDLE_W)
        print(f"{cap_w:4} W  {power_w:8.1f} W  {window_w:12.1f} W  {rate / free:8.0%}  {left:10.0%}", flush=True)


if __name__ == "__main__":
    main()
