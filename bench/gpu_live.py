#!/usr/bin/env python3
"""gearshift on this machine's NVIDIA GPU, live: what is measured, what is chosen under a cap, and serving beside training.

1. `gearshift profile` of a ResNet-18's training batch sizes.
2. `gearshift run` under caps between two of them: the batch size held, of the fastest that the profile has below; and the
   mean power, beside what `nvidia-smi` says is drawn meanwhile. Then under a cap below all of them.
3. Training and serving in one program under gearshift, beside two programs left to the driver.

Nothing of the GPU is set: run it as a user who may not. Batch sizes are what is chosen.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("GEARSHIFT_BINARY", str(ROOT / "build" / "gearshift"))
RESNET = ROOT / "bridge/python/examples/resnet_interleaved.py"
sys.path.insert(0, str(ROOT / "cli" / "demo"))
from interleaving_optimum import cells, optimum  # noqa: E402
from programs import Daemon, Program  # noqa: E402

WINDOW_S = 1.0  # window_ms of boards/nvidia-gpu.toml
START_S = 120  # until a trainer has loaded CUDA and run each batch size once


class Witness:
    """The power that nvidia-smi shows: its readings of an instant, added up."""

    def __init__(self):
        self.mean_w, self.readings = 0.0, 0
        self._sum_ws, self._since, self._last = 0.0, None, None
        self._process = subprocess.Popen(
            ["nvidia-smi", "-i", "0", "--query-gpu=power.draw.instant", "--format=csv,noheader,nounits", "-lms", "50"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            now, power_w = time.monotonic(), float(line)
            if self._last is not None:
                self._sum_ws += power_w * (now - self._last)
                self.mean_w = self._sum_ws / (now - self._since)
            else:
                self._since = now
            self._last = now
            self.readings += 1

    def stop(self):
        self._process.terminate()
        self._process.wait()


class Bench:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.endpoint = f"ipc://{folder}/workloads.ipc"

    def resnet(self, name, *words):
        more = self.arguments.example.split()
        return Program([sys.executable, RESNET, "--json", "--endpoint", self.endpoint, *more, *words], name)

    def daemon(self, command, *words):
        paths = ["--listen", self.endpoint, "--control", f"ipc://{self.folder}/control.ipc", "--state", self.folder]
        return Daemon([BINARY, command, "--json", "--board", "nvidia-gpu", *paths, *words], command)

    def profile(self, kind, batches, *words):
        """{batch size: (seconds a minibatch, watts)} of the training or of the server, each measured alone."""
        output = self.folder / f"{kind}.csv"
        offered = ("--train-batch-sizes" if kind == "train" else "--batch-sizes", batches)
        program = self.resnet(kind, "--only", kind, "--duration", "3600", *offered, *words)
        daemon = self.daemon("profile", "--batch", batches, "-o", output)
        try:
            if daemon.finish(deadline_s=600) != 0:
                raise SystemExit("profile: " + daemon.tail() + "\n" + program.tail())
        finally:
            daemon.kill()
            program.kill()
        return cells(output)[()]

    def under_cap(self, cap_w):
        """(summary, hold note or None) of a search among the batch sizes of the training that is attached."""
        daemon = self.daemon("run", "--power", f"{cap_w:.1f}W")
        try:
            daemon.note("attached", START_S)
            time.sleep(self.arguments.seconds)
            daemon.finish(signal.SIGINT)
        finally:
            daemon.kill()
        self.keep(daemon, f"cap_{cap_w:.0f}W")
        holds = daemon.notes("hold")
        return daemon.summary(), holds[-1] if holds else None

    def keep(self, program, name):
        if self.arguments.logs:
            self.arguments.logs.mkdir(parents=True, exist_ok=True)
            (self.arguments.logs / f"{name}.log").write_text("\n".join(program.lines) + "\n")


def power_table(bench):
    """Prints the profile of training; returns its cells."""
    began = time.monotonic()
    table = bench.profile("train", bench.arguments.train_batches)
    print(f"1. training alone, by gearshift profile ({time.monotonic() - began:.0f} s)")
    for batch, (seconds, watts) in sorted(table.items()):
        print(f"   batch {batch:>4}: {1000 * seconds:8.2f} ms a minibatch {watts:7.1f} W"
              f" {batch / seconds:9.1f} samples/s {watts * seconds / batch:8.4f} J a sample", flush=True)  # fmt: skip
    return table


def caps_between(table, count):
    """Caps two fifths of the way from a power of the table to the next, spread over it."""
    powers = sorted(watts for _, watts in table.values())
    steps = [(low, high) for low, high in zip(powers, powers[1:]) if high > 1.02 * low]
    chosen = {round((i + 0.5) * len(steps) / count - 0.5) for i in range(count)} if steps else set()
    return [low + 0.4 * (high - low) for low, high in (steps[i] for i in sorted(chosen))]


def cap_table(bench, table):
    print(f"2. gearshift run for {bench.arguments.seconds} s under a cap: time a sample of what is held, of the best "
          "cell below the cap", flush=True)  # fmt: skip
    batches = ",".join(map(str, sorted(table)))
    program = bench.resnet("train", "--only", "train", "--duration", "3600", "--train-batch-sizes", batches)
    try:
        for cap_w in caps_between(table, bench.arguments.caps):
            best_s, best = min((seconds / batch, batch) for batch, (seconds, watts) in table.items() if watts <= cap_w)
            witness = Witness()
            summary, hold = bench.under_cap(cap_w)
            witness.stop()
            if hold is None:
                print(f"   {cap_w:6.1f} W: nothing held\n{json.dumps(summary)}", flush=True)
                continue
            held = int(hold["setting"]["train_batch"])
            seconds, watts = table[held]
            drawn_w = summary["energy_j"] / summary["duration_s"]
            print(f"   {cap_w:6.1f} W: batch {held} ({watts:.1f} W in the profile), best is batch "
                  f"{best}: {100 * (seconds / held / best_s - 1):5.1f} % more time a sample; "
                  f"{summary['measurements']} measured; over the cap {summary['over_cap_s']:.1f} s "
                  f"({100 * summary['over_cap_j'] / summary['energy_j']:.2f} % of the energy); "
                  f"mean {drawn_w:.1f} W, by nvidia-smi {witness.mean_w:.1f} W of {witness.readings} readings",
                  flush=True)  # fmt: skip
    finally:
        program.kill()


def turns_below(bench, table):
    """A cap that no batch size keeps: minibatches and pauses take turns, and the mean has to keep it."""
    cap_w = 0.8 * min(watts for _, watts in table.values())
    batches = ",".join(map(str, sorted(table)))
    daemon = bench.daemon("run", "--power", f"{cap_w:.1f}W")
    program = bench.resnet("train", "--only", "train", "--duration", 2 * bench.arguments.seconds,
                           "--train-batch-sizes", batches)  # fmt: skip
    witness = Witness()
    try:
        program.finish(deadline_s=2 * bench.arguments.seconds + START_S)
        daemon.finish(signal.SIGINT)
    finally:
        witness.stop()
        daemon.kill()
        program.kill()
    bench.keep(daemon, "turns")
    summary, trained = daemon.summary(), json.loads(program.lines[-1])
    print(f"   {cap_w:6.1f} W, below every batch size: {trained['train_minibatches_per_s']:.2f} minibatches a second, in turns "
          f"with pauses; over the cap {summary['over_cap_s']:.1f} s ({100 * summary['over_cap_j'] / summary['energy_j']:.2f} % of "
          f"the energy); mean {summary['energy_j'] / summary['duration_s']:.1f} W, by nvidia-smi {witness.mean_w:.1f} W",
          flush=True)  # fmt: skip


def interleaved(bench, train):
    arguments = bench.arguments
    rate, latency_ms, size = arguments.rate, arguments.latency_ms, arguments.train_batch
    served = ("--batch-sizes", arguments.serve_batches, "--train-batch-size", size)
    infer = bench.profile("serve", arguments.serve_batches, "--rate", 4 * rate, "--latency-ms", 0, *served)
    cap_w = arguments.serve_cap or 1.03 * train[size][1]
    factor, start_s, burst_s = map(float, arguments.burst.split(":"))
    print(f"3. ResNet-18 trained at batch {size} beside {rate:g} requests a second within {latency_ms:g} ms, cap {cap_w:.1f} W, "
          f"for {arguments.serve_seconds} s; {factor:g} times as many from {start_s:g} to {start_s + burst_s:g} s")  # fmt: skip
    trained = 0.0
    for times, seconds in ((1, arguments.serve_seconds - burst_s), (factor, burst_s)):
        best = optimum({(): train}, {(): infer}, size, times * rate, latency_ms / 1000, cap_w, WINDOW_S)
        trained += best[0] * seconds / arguments.serve_seconds if best else 0
        asked = f"{best[0]:.1f} trained a second, serving {best[2]} at once" if best else "nothing"
        print(f"   the best by the profiles, {times * rate:g} requests a second: {asked}")
    print(f"   together {trained:.1f} a second")
    for batch, (seconds, watts) in sorted(infer.items()):
        print(f"   serving alone, batch {batch:>3}: {1000 * seconds:7.2f} ms {watts:7.1f} W", flush=True)
    requests = ["--rate", rate, "--latency-ms", latency_ms, "--duration", arguments.serve_seconds, *served]
    daemon = bench.daemon("run", "--power", f"{cap_w:.1f}W", "--objective", "throughput")
    program = bench.resnet("both", "--burst", arguments.burst, *requests)
    try:
        program.finish(deadline_s=arguments.serve_seconds + START_S)
        cpu_s = cpu_seconds(daemon.process.pid)
        daemon.finish(signal.SIGINT)
    finally:
        daemon.kill()
        program.kill()
    bench.keep(daemon, "interleaved")
    bench.keep(program, "interleaved_program")
    summary = daemon.summary()
    tell_served("gearshift, requests before training", program, program)
    print(f"      over the cap {summary['over_cap_s']:.1f} s ({100 * summary['over_cap_j'] / summary['energy_j']:.2f} % of "
          f"the energy); {summary['measurements']} measured; the daemon took "
          f"{100 * cpu_s / summary['duration_s']:.1f} % of a core", flush=True)  # fmt: skip
    for batch in arguments.serve_batches.split(","):
        alone = bench.resnet("train", "--only", "train", "--duration", arguments.baseline_seconds,
                             "--train-batch-size", size, "--train-batch-sizes", size)  # fmt: skip
        serve = bench.resnet("serve", "--only", "serve", "--rate", rate, "--latency-ms", latency_ms, "--duration",
                             arguments.baseline_seconds, "--batch-size", batch, "--batch-sizes", batch)  # fmt: skip
        serve.finish(deadline_s=arguments.baseline_seconds + START_S)
        alone.finish(deadline_s=START_S)
        tell_served(f"two programs, {batch} at once at most", serve, alone)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tell_served(name, serve, train):
    row, trained = json.loads(serve.lines[-1]), json.loads(train.lines[-1])
    print(f"   {name:<36} p50 {row['latency_ms_p50']:7.2f}  p99 {row['latency_ms_p99']:7.2f}  max "
          f"{row['latency_ms_max']:7.2f} ms  late {row['late_percent']:6.3f} %  trained "
          f"{trained['train_minibatches_per_s']:7.2f}/s", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20, help="of a search (%(default)s)")
    parser.add_argument("--caps", type=int, default=3, help="how many are tried (%(default)s); 0: no second part")
    parser.add_argument("--train-batches", default="16,32,64,128,256,512", help="(%(default)s)")
    parser.add_argument("--serve-batches", default="1,4,16", help="(%(default)s)")
    parser.add_argument("--train-batch", type=int, default=64, help="beside requests (%(default)s)")
    parser.add_argument("--rate", type=float, default=400, help="requests a second (%(default)s)")
    parser.add_argument("--latency-ms", type=float, default=60, help="(%(default)s)")
    parser.add_argument("--burst", default="3:30:10", help="of requests: FACTOR:START:SECONDS (%(default)s)")
    parser.add_argument("--serve-cap", type=float, help="W, of the third part (default: 3 %% above training's)")
    parser.add_argument("--example", default="", help="more words for resnet_interleaved.py")
    parser.add_argument("--serve-seconds", type=int, default=60, help="of the third part (%(default)s)")
    parser.add_argument("--baseline-seconds", type=int, default=12, help="of two programs (%(default)s)")
    parser.add_argument("--logs", type=pathlib.Path, help="folder for what the daemons said")
    arguments = parser.parse_args()
    listed = subprocess.run([BINARY, "boards"], capture_output=True, text=True).stdout
    if "GPU 0" not in listed:
        print("skipped: needs an NVIDIA GPU and its driver")
        return 0
    if os.geteuid() == 0:
        print("skipped: root would set the GPU's power limit and clocks; run it as another user")
        return 0
    print(next(line.strip() for line in listed.splitlines() if "GPU 0" in line))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gearshift-bench-"))
    try:
        bench = Bench(arguments, folder)
        table = power_table(bench)
        if arguments.caps:
            cap_table(bench, table)
            turns_below(bench, table)
        interleaved(bench, table)
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
