#!/usr/bin/env python3
"""What a turn on a shared accelerator costs, through a real daemon: microseconds, and a share of a 10 ms minibatch.

- alone: one program takes and ends turns that nobody else wants: a round trip to the daemon;
- switch: two programs, a trainer and a server in processes of their own, work 2 ms in each turn. The cost of a
  switch is what is left of the wall time when the work is taken off it, for each turn.

Exits 0 whatever it measured: a slow machine is no error. Needs GEARSHIFT_BINARY or build/gearshift.
"""

import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bridge" / "python"))

try:
    import gearshift
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-zmq python3-msgpack")
    sys.exit(77)

MINIBATCH_US = 10_000.0
WORK_S = 0.002
ALONE_TURNS = 2000
SWITCH_TURNS = 1000
WARM_UP_TURNS = 100
DEADLINE_S = 30


def attach(endpoint, kind):
    client = gearshift.attach(f"turn-{kind}", kind, endpoint=endpoint)
    end = time.monotonic() + DEADLINE_S
    while not client.attached:
        if time.monotonic() > end:
            raise SystemExit("no daemon answered")
        time.sleep(0.01)
    return client


def alone(endpoint):
    client = attach(endpoint, "train")
    times_us = []
    for _ in range(WARM_UP_TURNS + ALONE_TURNS):
        began = time.perf_counter()
        with client.turn():
            pass
        times_us.append((time.perf_counter() - began) * 1e6)
    client.close()
    return times_us[WARM_UP_TURNS:]


def work(endpoint, kind, barrier, results):
    """Turns of fixed length for as long as the other one takes them too."""
    client = attach(endpoint, kind)
    barrier.wait(DEADLINE_S)
    spans = []
    for _ in range(SWITCH_TURNS):
        with client.turn():
            began = time.perf_counter()  # CLOCK_MONOTONIC: the same in both processes
            while time.perf_counter() - began < WORK_S:
                pass
            spans.append((began, time.perf_counter()))
    client.close()
    results.put((kind, spans))


def switch(endpoint):
    """Microseconds between the end of one program's work and the beginning of the other's."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    processes = [
        context.Process(target=work, args=(endpoint, kind, barrier, results)) for kind in ("train", "infer")
    ]
    for process in processes:
        process.start()
    spans = [
        (*span, kind) for kind, of_kind in (results.get(timeout=120) for _ in processes) for span in of_kind
    ]
    for process in processes:
        process.join(DEADLINE_S)
    spans.sort()
    overlaps = sum(before[1] > after[0] for before, after in zip(spans, spans[1:]))
    gaps_us = [
        (after[0] - before[1]) * 1e6
        for before, after in zip(spans, spans[1:])
        if before[2] != after[2]
    ]
    return gaps_us, overlaps


def line(name, times_us):
    times_us = sorted(times_us)
    median, p95 = statistics.median(times_us), times_us[len(times_us) * 95 // 100]
    share = 100 * median / MINIBATCH_US
    print(f"{name}: median {median:.0f} us, 95th percentile {p95:.0f} us, {len(times_us)} turns; "
          f"{share:.2f} % of a 10 ms minibatch")


def main():
    binary = os.environ.get("GEARSHIFT_BINARY", str(ROOT / "build" / "gearshift"))
    with tempfile.TemporaryDirectory() as folder:
        endpoint = f"ipc://{folder}/workloads.ipc"
        arguments = ["run", "--board", "host", "--policy", str(ROOT / "scripts" / "maxn.lua")]
        arguments += ["--listen", endpoint, "--control", f"ipc://{folder}/control.ipc"]
        arguments += ["--state", f"{folder}/state"]
        with open(f"{folder}/daemon.log", "w") as output:
            daemon = subprocess.Popen(
                [binary, *arguments], stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                env={**os.environ, "XDG_RUNTIME_DIR": folder},
            )
        try:
            line("alone", alone(endpoint))
            gaps_us, overlaps = switch(endpoint)
            line("switch", gaps_us)
            print(f"turns that overlapped: {overlaps}")
        finally:
            daemon.terminate()
            daemon.wait(DEADLINE_S)


if __name__ == "__main__":
    main()
