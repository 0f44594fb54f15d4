#!/usr/bin/env python3
"""What reporting to gearshift costs a Python trainer: must be under 0.5 % of a 10 ms minibatch.

Three measurements, each with a daemon that listens and with none:

- call: wall time of what the client does between two minibatches, after 10 ms of work each, so that caches
  and threads are as in training. Reports are sent some at a time, so the median may miss the dear ones;
- CPU: processor time a minibatch, of those calls and of the threads beside (the client's own and
  libzmq's), as if all had to share the trainer's one core. The limit is held against this one, since
  what else the machine does is not in it;
- loop: wall time that reporting adds to a minibatch of a whole loop, one block with and one without in
  turn, and the 95 % interval of that median, which tells how far this machine resolves it.

The work is a fixed number of steps, not a fixed time, so that what the client's other threads take shows.
The daemon is a bare ROUTER in another process, or GEARSHIFT_BINARY where that is set.
"""

import argparse
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bridge" / "python"), str(ROOT / "tests" / "fakes")]

try:
    import gearshift
    from fake_daemon import FakeDaemon
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-zmq python3-msgpack")
    sys.exit(77)

MINIBATCH_SECONDS = 0.010
LIMIT_US = 50.0  # 0.5 % of a minibatch


def listen(endpoint, ready):
    """A daemon that welcomes, sends heartbeats, and reads what comes."""
    with FakeDaemon(endpoint, silent_after_ns=5 * 10**9) as daemon:
        ready.set()
        heartbeat_due = None
        while True:
            message = daemon.take(200)
            daemon.received.clear()
            if message and message["type"] == "hello":
                daemon.welcome()
                heartbeat_due = time.monotonic() + 1
            if heartbeat_due and time.monotonic() >= heartbeat_due:
                daemon.send("heartbeat")
                heartbeat_due += 1


def start_daemon(endpoint, folder):
    """Returns a function that ends it."""
    binary = os.environ.get("GEARSHIFT_BINARY")
    if binary:
        arguments = ["run", "--board", "host", "--policy", str(ROOT / "scripts" / "maxn.lua")]
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        with open(f"{folder}/daemon.log", "w") as output:
            process = subprocess.Popen(
                [binary, *arguments, "--listen", endpoint],
                stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment,
            )
        return lambda: (process.terminate(), process.wait(30))
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=listen, args=(endpoint, ready), daemon=True)
    process.start()
    ready.wait(30)
    return lambda: (process.terminate(), process.join(30))


def work(steps):
    total = 0
    for step in range(steps):
        total += step * step
    return total


def steps_of_a_minibatch():
    steps, best = 50_000, float("inf")
    for _ in range(20):
        began = time.perf_counter()
        work(steps)
        best = min(best, time.perf_counter() - began)
    return int(steps * MINIBATCH_SECONDS / best)


def cpu_ns_of_other_threads():
    own = str(threading.get_native_id())
    tasks = pathlib.Path("/proc/self/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks if task.name != own)


def call_costs_us(client, calls, steps):
    """Sorted wall times of all that one minibatch calls, and its mean CPU time with all threads."""
    costs = []
    loader = iter(client.batches([[0] * 16] * (calls + 1)))
    next(loader)
    cpu_ns, others_ns = 0, cpu_ns_of_other_threads()
    for _ in range(calls):
        work(steps)
        cpu_began, began = time.thread_time_ns(), time.perf_counter_ns()
        next(loader)
        costs.append((time.perf_counter_ns() - began) / 1000)
        cpu_ns += time.thread_time_ns() - cpu_began
    cpu_ns += cpu_ns_of_other_threads() - others_ns
    return sorted(costs), cpu_ns / calls / 1000


def block_seconds(batches, steps):
    began = time.perf_counter()
    for _ in batches:
        work(steps)
    return time.perf_counter() - began


def loop_costs_us(client, blocks, minibatches, steps):
    """What reporting added to a minibatch, one value for each pair of blocks, in microseconds."""
    loader = [[0] * 16] * minibatches
    added = []
    for pair in range(blocks):
        timed = {}
        for reporting in (pair % 2 == 0, pair % 2 == 1):  # in turn, so that no order wins
            timed[reporting] = block_seconds(client.batches(loader) if reporting else loader, steps)
        added.append((timed[True] - timed[False]) / minibatches * 1e6)
    return added


def wait_for(condition, what):
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what} within 30 s; see the daemon's own log")
        time.sleep(0.01)


def measure(chosen, steps, with_daemon):
    with tempfile.TemporaryDirectory() as folder:
        endpoint = f"ipc://{folder}/workloads.ipc"
        stop = start_daemon(endpoint, folder) if with_daemon else lambda: None
        try:
            with gearshift.attach("cost", batch_size=16, endpoint=endpoint) as client:
                if with_daemon:
                    wait_for(lambda: client.attached, "no daemon took the trainer")
                calls, cpu_us = call_costs_us(client, chosen.calls, steps)
                added = loop_costs_us(client, chosen.blocks, chosen.minibatches, steps)
                if with_daemon and not client.attached:
                    sys.exit("the daemon let the trainer go in mid-run: the numbers mean nothing")
                dropped = client.dropped_reports
        finally:
            stop()
    return calls, cpu_us, added, dropped


def main():
    parser = argparse.ArgumentParser(description="Cost of reporting to a Python trainer.")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--blocks", type=int, default=30, help="pairs of blocks of the loop")
    parser.add_argument("--minibatches", type=int, default=20, help="in a block")
    chosen = parser.parse_args()
    steps = steps_of_a_minibatch()
    who = os.environ.get("GEARSHIFT_BINARY", "a bare ROUTER")
    print(f"daemon: {who}; a minibatch: {steps} steps, {MINIBATCH_SECONDS * 1000:.0f} ms of CPU work")
    print(f"{'':12}{'call p50':>12}{'call p99':>12}{'CPU':>12}{'of 10 ms':>10}{'loop median':>13}"
          f"{'loop 95 %':>18}{'dropped':>9}")
    within = True
    for with_daemon in (True, False):
        calls, cpu_us, added, dropped = measure(chosen, steps, with_daemon)
        p50, p99 = calls[len(calls) // 2], calls[len(calls) * 99 // 100]
        middle = statistics.median(added)
        half = 1.96 * 1.253 * statistics.stdev(added) / len(added) ** 0.5  # of a median
        within = within and cpu_us < LIMIT_US
        print(f"{'listening' if with_daemon else 'no daemon':12}{p50:9.1f} us{p99:9.1f} us{cpu_us:9.1f} us"
              f"{cpu_us / MINIBATCH_SECONDS / 1e4:8.3f} %{middle:10.1f} us"
              f"{middle - half:8.0f} to {middle + half:3.0f} us{dropped:9}")
    print(f"limit: {LIMIT_US:.0f} us of CPU time (0.5 %): {'met' if within else 'NOT MET'}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
