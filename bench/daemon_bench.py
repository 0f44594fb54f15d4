#!/usr/bin/python3
"""What the daemon costs: start-up time, and CPU use and memory at 10 Hz with a trainer at 100 reports
a second. Goals: under 20 ms, under 1 % of a core, under 25 MB resident."""

import argparse
import multiprocessing
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "cli/demo"))
sys.path.insert(0, str(ROOT / "bridge/python"))
from programs import Daemon, Program  # noqa: E402

HOLD = "local held = {} for _, n in ipairs(knobs.names) do held[n] = knobs[n][1] end return held"


def daemon_words(binary, folder, policy, sysroot, board):
    return [
        binary, "run", "--json", "--policy", policy, "--sysroot", sysroot, "--board", board,
        "--listen", f"ipc://{folder}/workloads.ipc", "--control", f"ipc://{folder}/control.ipc",
        "--state", folder / "state",
    ]  # fmt: skip


def start_up_ms(words):
    """From exec to the first note of the loop, and to the end of a program that does nothing."""
    began = time.monotonic()
    daemon = Daemon(words, "run")
    daemon.note("status")
    took = time.monotonic() - began
    daemon.finish(signal.SIGTERM)
    began = time.monotonic()
    Program(["/bin/true"], "true").finish()
    return 1e3 * took, 1e3 * (time.monotonic() - began)


def report_100_times_a_second(endpoint, seconds):
    import gearshift

    os.environ["GEARSHIFT_ENDPOINT"] = endpoint
    client = gearshift.attach("bench", kind="train", batch_size=16, batch_sizes=[16])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with client.minibatch(epoch=0):
            time.sleep(0.0099)
    client.close()


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/gearshift")
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gearshift-bench-"))
    policy = folder / "hold.lua"
    policy.write_text(HOLD)
    boards = []
    try:
        for name, more in (("plain", ["--plain"]), ("fuse", [])):
            mount = folder / name
            board = Program(
                [arguments.binary, "board", "--virtual", "jetson-agx-orin", "--mount", mount, *more],
                "board",
            )
            board.wait_for(lambda line: line.startswith("ready"))
            boards.append(board)
        words = {
            name: daemon_words(arguments.binary, folder, policy, sysroot, board)
            for name, sysroot, board in (
                ("Orin, plain files", folder / "plain", "auto"),
                ("Orin, FUSE", folder / "fuse", "auto"),
                ("host", "/", "host"),
            )
        }
        print(f"{'board':<20}{'start-up ms':>12}{'CPU %':>8}{'resident MB':>13}")
        for name, command in words.items():
            times = [start_up_ms(command) for _ in range(9)]
            took = statistics.median(t for t, _ in times)
            base = statistics.median(t for _, t in times)
            daemon = Daemon(command, "run")
            daemon.note("status")
            trainer = multiprocessing.Process(
                target=report_100_times_a_second,
                args=(f"ipc://{folder}/workloads.ipc", arguments.seconds + 6),
            )
            trainer.start()
            daemon.note("attached")
            daemon.note("hold")
            pid = daemon.process.pid
            used, began = cpu_s(pid), time.monotonic()
            while time.monotonic() - began < arguments.seconds:
                daemon.note("status")
            share = (cpu_s(pid) - used) / (time.monotonic() - began)
            print(f"{name:<20}{took:>7.1f}{'':>5}{100 * share:>8.2f}{resident_mb(pid):>13.1f}")
            daemon.finish(signal.SIGTERM)
            trainer.terminate()
            trainer.join()
        print(f"start-up is from spawn to the loop's first status; spawning /bin/true: {base:.1f} ms")
    finally:
        for board in boards:
            board.finish(signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
