#!/usr/bin/python3
"""A real PyTorch LeNet trains on this machine while gearshift holds it to a cap by CPU set and CPU
quota; the cap falls in mid-run. What is checked is the kernel's own account of the trainer's CPU time
and the minibatch times it measures; the power shown is an estimate from CPU time and proves nothing."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from programs import Daemon, Program

ROOT = Path(__file__).resolve().parents[2]
HOLD_S = 8.0  # how long each choice is watched
LEARN_ON_S = 10.0  # how long the trainer goes on afterwards


def cpu_s(pid):
    """CPU time of the process and its threads, as the kernel accounts it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def control_groups(pid):
    return Path(f"/proc/{pid}/cgroup").read_text()


def watch(daemon, pid):
    """CPU share in percent of one core while the choice is held."""
    used, began = cpu_s(pid), time.monotonic()
    while time.monotonic() - began < HOLD_S:
        daemon.note("status")
    return 100 * (cpu_s(pid) - used) / (time.monotonic() - began)


def choice(daemon, pid, cap_w):
    setting = daemon.note("hold")["setting"]
    share = watch(daemon, pid)
    # The mean over a second of minibatches: a quota stops some of them for most of its period, so that
    # the newest one of a status line says nothing.
    measured = [
        note for note in daemon.notes("observation") if note["ok"] and note["setting"] == setting
    ]
    minibatch_ms = measured[-1]["train"]["minibatch_ms"]
    quota = setting["cpu_quota_percent"]
    sample_ms = minibatch_ms / setting["train_batch"]
    print(
        f"  under {cap_w} W (estimate): {setting['cpu_cores']} cores, quota {quota} % of a core, "
        f"batch {setting['train_batch']}\n"
        f"    trainer's CPU share {share:5.1f} % of a core (kernel accounting), "
        f"{minibatch_ms:6.2f} ms a minibatch, {sample_ms:5.3f} ms a sample",
        flush=True,
    )
    return {"quota": quota, "share": share, "sample_ms": sample_ms}


def learn_on(trainer):
    """Lets the trainer, back in its own control group, go on for a while; returns its accuracy."""
    end = time.monotonic() + LEARN_ON_S
    while True:
        line = trainer.wait_for(lambda text: text.startswith("epoch"))
        if time.monotonic() > end:
            return float(line.split("accuracy")[1].split(",")[0])


def check(name, holds):
    print(f"  {'yes' if holds else 'NO ':<4}{name}")
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/gearshift")
    parser.add_argument("--policy", default="scripts/binary_search.lua")
    parser.add_argument("--caps", type=float, nargs=2, default=(22, 16), help="W, estimated")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gearshift-demo-"))
    workloads, control = f"ipc://{folder}/workloads.ipc", f"ipc://{folder}/control.ipc"
    programs = []
    try:
        daemon = Daemon(
            [arguments.binary, "run", "--json", "--board", "host", "--policy", arguments.policy,
             "--power", f"{arguments.caps[0]}W", "--listen", workloads, "--control", control,
             "--state", folder / "state"],
            "run",
        )  # fmt: skip
        programs.append(daemon)
        daemon.note("status")
        daemon.note("status")
        print("  the controller runs; LeNet on scikit-learn's digits attaches (one thread)", flush=True)
        trainer = Program(
            [sys.executable, ROOT / "bridge/python/examples/lenet_digits.py", "--duration", "600",
             "--endpoint", workloads, "--json"],
            "lenet",
        )  # fmt: skip
        programs.append(trainer)
        pid = trainer.process.pid
        home = control_groups(pid)
        daemon.note("attached")
        loose = choice(daemon, pid, arguments.caps[0])
        moved = control_groups(pid) != home
        print(f"  gearshift cap {arguments.caps[1]}W")
        Program(
            [arguments.binary, "cap", f"{arguments.caps[1]}W", "--control", control], "cap"
        ).finish()
        tight = choice(daemon, pid, arguments.caps[1])
        daemon.finish(signal.SIGINT)
        restored = control_groups(pid) == home
        accuracy = learn_on(trainer)
        summary = daemon.summary()
        print(
            f"  {summary['measurements']} measurements in {summary['duration_s']:.0f} s; "
            f"accuracy {accuracy:.4f} after {LEARN_ON_S:.0f} s more without a quota"
        )
        holds = [
            check("the trainer's CPU share stays within the quota (plus 5 %)",
                  all(c["share"] <= c["quota"] * 1.05 for c in (loose, tight))),
            check("the share follows the cap down", tight["share"] < loose["share"]),
            check("the measured time of a sample follows the knobs up",
                  tight["sample_ms"] > loose["sample_ms"]),
            check("the trainer was moved into gearshift's control group and is back in its own",
                  moved and restored),
            check("the trainer learned something (accuracy over 0.9)", accuracy > 0.9),
        ]  # fmt: skip
        return 0 if all(holds) else 1
    finally:
        for program in reversed(programs):
            program.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
