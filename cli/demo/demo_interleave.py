#!/usr/bin/python3
"""Training and serving on one accelerator, live: on a virtual Jetson AGX Orin with emulated ResNet-18
and MobileNet, and on this machine with PyTorch. Requests come by chance; in the middle three times as
many arrive for a while, and the power cap falls. Beside it what a user would do instead: two processes
left to the operating system."""

import argparse
import json
import math
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from interleaving_optimum import cells, mean_cells, optimum, share_of
from programs import Daemon, Program, knob_files

ROOT = Path(__file__).resolve().parents[2]
LENET = ROOT / "bridge/python/examples/lenet_interleaved.py"
MOST_LATE_PERCENT = 0.5
LEAST_OF_OPTIMUM = 0.9
# What is profiled on this machine: a LeNet of one thread has no use for more.
HOST_KEEP = ("cpu_cores=2", "cpu_quota_percent=30,40,50,60,70,80,90,100")
# By the estimate a tenth of a core is 1.5 W: each cap is two fifths of a step above a cell, so that noise
# does not move the optimum by a whole one.
HOST_CAPS_W = (23, 17)
HOST_PASSES = 2
# Over which mean a cap is held: window_ms of boards/jetson-agx-orin.toml and host.toml.
BOARD_WINDOW_S, HOST_WINDOW_S = 0.43, 1.0


class Course:
    """When the burst begins and the cap falls, in seconds, and what the rate and the cap are."""

    def __init__(self, duration_s, rate, caps_w):
        self.duration_s, self.rate, self.caps_w = duration_s, rate, caps_w
        self.burst_s, self.burst_length_s = duration_s * 0.4, duration_s * 0.1
        self.step_s = duration_s * 0.6

    def phases(self):
        """(name, begin, end, rate, cap)"""
        burst_end_s = self.burst_s + self.burst_length_s
        high, low = self.caps_w
        return [
            ("before the burst", 0, self.burst_s, self.rate, high),
            ("in the burst", self.burst_s, burst_end_s, 3 * self.rate, high),
            ("after the burst", burst_end_s, self.step_s, self.rate, high),
            ("under the lower cap", self.step_s, self.duration_s, self.rate, low),
        ]


def check(name, holds):
    print(f"    {'yes' if holds else 'NO ':<4}{name}", flush=True)
    return holds


def note_text(note):
    if note["note"] == "observation":
        cost = note["reason"]
        if note["ok"]:
            times = [f"{k} {note[k]['minibatch_ms']:.1f} ms" for k in ("train", "infer") if k in note]
            cost = f"{note['power_w']:.1f} W  " + "  ".join(times)
        return f"measured {note['setting']}: {cost}"
    return f"{note['note']}: {note.get('text', '')}" + (
        f" {note['setting']}" if note["note"] == "hold" else ""
    )


def follow(daemon, until_s, began_s=None):
    """Prints what the daemon decides until that many seconds after the first request; returns when that was."""
    shown = ("observation", "hold", "late", "arrivals", "over_cap", "rationed", "safe", "policy_error", "drift")
    while True:
        line = daemon.next_line()
        if line is None:
            raise SystemExit("demo: the daemon ended:\n" + daemon.tail())
        if not line.startswith("{"):
            continue
        note = daemon.parse(line)
        if note["note"] in shown:
            print(f"    {note['time_s']:6.1f} s  {note_text(note)}", flush=True)
        if began_s is None and note["note"] == "attached":
            began_s = note["time_s"]
        if began_s is not None and note["time_s"] >= began_s + until_s:
            return began_s


def best_of_phases(train, infer, course, latency_s, window_s):
    """The optima of the phases: by the windows that the cap is held against, and, for comparison, by
    the mean power of whole turns, by either power alone, and by the windows with batches half full."""
    return [
        [optimum(train, infer, 16, rate, latency_s, cap, *judge) for _, _, _, rate, cap in course.phases()]
        for judge in ((window_s,), (math.inf,), (0,), (window_s, True))
    ]


def trained_by(counts):
    """How many minibatches had ended so many seconds after the beginning, of counts a second."""
    return lambda second: counts[min(int(second), len(counts) - 1)]


def report(name, course, bests, trained_at, late_percent, summary, power_is_estimate):
    """Prints a run against the optimum, phase by phase; true where what is promised holds.

    bests: what best_of_phases returns.
    trained_at: training minibatches that had ended so many seconds after the beginning."""
    windowed, mean, each, half_full = bests
    print(
        f"\n  {name}: training minibatches a second, of the optimum (exhaustive; no window of the "
        "power sensor over the cap)"
    )
    for (phase, begin, end, rate, cap), best in zip(course.phases(), windowed):
        if best is None:
            print(f"    {phase:<20} {rate:5.0f}/s {cap:5.1f} W: cannot be served within the cap")
            continue
        count = trained_at(end) - trained_at(begin)
        print(
            f"    {phase:<20} {rate:5.0f}/s {cap:5.1f} W  {count / (end - begin):7.2f} of {best[0]:7.2f}"
            f"  {100 * count / (end - begin) / best[0]:5.1f} %"
        )
    share = share_of(course.phases(), windowed, trained_at)
    print(f"    {'the whole':<20} {'':16} {100 * share:22.1f} %, the search included")
    others = (
        (mean, "the best whose mean power fits the cap, whatever its windows show"),
        (each, "the best whose training and inference each fit it alone"),
        (half_full, "the best whose batches of requests need only be half full in time"),
    )
    shares = [
        f"{100 * share_of(course.phases(), bests, trained_at):.1f} % of {what}" for bests, what in others if any(bests)
    ]
    if shares:
        print("    by another judge: " + ", ".join(shares))
    requests = summary["requests"]
    over = "by an estimate of power" if power_is_estimate else "by the board's sensor"
    print(
        f"    {requests['arrived']} requests, {late_percent:.2f} % late, slowest "
        f"{requests['latency_max_ms']:.0f} ms; acted on {requests['latency_steps']} times\n"
        f"    over the cap for {summary['over_cap_s']:.1f} s of {summary['duration_s']:.0f} s "
        f"({100 * summary['over_cap_j'] / summary['energy_j']:.2f} % of the energy), {over}; the guard "
        f"stepped in {summary['guard_steps']} times"
    )
    return [
        check(f"no more than {MOST_LATE_PERCENT} % of the requests are late",
              late_percent <= MOST_LATE_PERCENT),
        check(f"at least {100 * LEAST_OF_OPTIMUM:.0f} % of the optimum is trained",
              share >= LEAST_OF_OPTIMUM),
    ]  # fmt: skip


def start_daemon(arguments, course, folder, workloads, control, *board):
    words = ["run", "--json", *board, "--policy", arguments.policy, "--objective", "throughput"]
    words += ["--power", f"{course.caps_w[0]}W", "--listen", workloads, "--control", control]
    return Daemon([arguments.binary, *words, "--state", folder / "state"], "run")


def run_course(arguments, daemon, course, control):
    """Follows a run through the burst and past the step of the cap to its end."""
    began_s = follow(daemon, course.step_s)
    print(f"  gearshift cap {course.caps_w[1]}W", flush=True)
    Program(
        [arguments.binary, "cap", f"{course.caps_w[1]}W", "--control", control], "cap"
    ).finish()
    follow(daemon, course.duration_s - 1 - course.step_s, began_s + course.step_s)


def on_board(arguments, folder):
    course = Course(arguments.duration, 60, (30, 20))
    latency_s, mount = 0.5, folder / "orin"
    workloads, control = f"ipc://{folder}/board.ipc", f"ipc://{folder}/board-control.ipc"
    tables = {}
    for workload, kind, batches in (("resnet18", "train", "16"), ("mobilenet_v3-infer", "infer", "1,4,16,32,64")):
        tables[kind] = folder / f"{kind}.csv"
        subprocess.run(
            [arguments.binary, "model", "profile", "--board", "jetson-agx-orin", "--workload", workload,
             "--kind", kind, "--batch", batches, "-o", tables[kind]],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    train, infer = cells(tables["train"]), cells(tables["infer"])
    bests = best_of_phases(train, infer, course, latency_s, BOARD_WINDOW_S)
    programs = []
    try:
        board = Program(
            [arguments.binary, "board", "--virtual", "jetson-agx-orin", "--mount", mount,
             "--noise", f"{arguments.noise:g}%"],
            "board",
        )  # fmt: skip
        programs.append(board)
        board.wait_for(lambda line: line.startswith("ready"))
        before = knob_files(mount)
        daemon = start_daemon(arguments, course, folder, workloads, control, "--sysroot", mount)
        programs.append(daemon)
        daemon.note("status")
        print(
            "  a virtual Jetson AGX Orin: ResNet-18 trains, MobileNet answers 60 requests a second "
            f"within {1000 * latency_s:.0f} ms; 180 a second from {course.burst_s:.0f} s to "
            f"{course.burst_s + course.burst_length_s:.0f} s",
            flush=True,
        )
        burst = f"x3@{course.burst_s:.0f}s+{course.burst_length_s:.0f}s"
        emulate = Program(
            [arguments.binary, "emulate", "--workload", "resnet18", "--batch-sizes", "16",
             "--serve", "mobilenet_v3", "--serve-batch-size", "4", "--arrivals", f"poisson:60,{burst}",
             "--latency", f"{1000 * latency_s:.0f}ms", "--sysroot", mount, "--connect", workloads,
             "--duration", f"{course.duration_s:.0f}s", "--json"],
            "emulate",
        )  # fmt: skip
        programs.append(emulate)
        run_course(arguments, daemon, course, control)
        emulate.finish()
        daemon.finish(signal.SIGINT)
        seconds = [json.loads(line) for line in emulate.lines if '"second"' in line]
        done = json.loads(emulate.lines[-1])
        counts = [0] + [line["train_minibatches"] for line in seconds]
        after = knob_files(mount)
        holds = report(
            "virtual board", course, bests, trained_by(counts),
            100 * done["late"] / max(done["arrived"], 1), daemon.summary(), False,
        )  # fmt: skip
        holds.append(check("every knob reads as before the run", before == after))
        return all(holds)
    finally:
        for program in reversed(programs[1:]):
            program.kill()
        if programs:
            programs[0].finish(signal.SIGTERM)


def lenet(*words):
    return [sys.executable, LENET, "--json", *words]


def measured_profiles(arguments, folder, number):
    """The cells of LeNet's training and of its serving, each measured alone on this machine."""
    serving = ("--rate", "600", "--latency-ms", "0")
    return (
        measured_profile(arguments, folder, "train", (), "16", number),
        measured_profile(arguments, folder, "serve", serving, "1,4,16", number),
    )


def measured_profile(arguments, folder, kind, words, batches, number):
    """`gearshift profile` of one half of the example."""
    endpoint, output = f"ipc://{folder}/{kind}.ipc", folder / f"host_{kind}_{number}.csv"
    program = Program(lenet("--only", kind, "--duration", "3600", "--endpoint", endpoint, *words), kind)
    profile = Program(
        [arguments.binary, "profile", "--board", "host", "--listen", endpoint, "-o", output,
         "--control", f"ipc://{folder}/{kind}-control.ipc", "--state", folder / "state",
         "--batch", batches, *[word for keep in HOST_KEEP for word in ("--keep", keep)]],
        "profile",
    )  # fmt: skip
    try:
        while profile.process.poll() is None:
            if program.process.poll() is not None:
                raise SystemExit(f"demo: {kind} ended:\n" + "\n".join(iter(program.next_line, None)))
            time.sleep(0.5)
        if profile.finish() != 0:
            raise SystemExit("demo: the profile failed:\n" + profile.tail())
    finally:
        profile.kill()
        program.kill()
    return cells(output)


def on_host(arguments, folder):
    course = Course(arguments.duration, 60, HOST_CAPS_W)
    latency_ms = 200
    print("\n  this machine: a profile of LeNet's training and serving is measured first, twice", flush=True)
    passes = [measured_profiles(arguments, folder, number) for number in range(HOST_PASSES)]
    train, infer = map(mean_cells, zip(*passes))
    bests = best_of_phases(train, infer, course, latency_ms / 1000, HOST_WINDOW_S)
    requests = ["--rate", "60", "--latency-ms", latency_ms, "--duration", course.duration_s,
                "--burst", f"3:{course.burst_s}:{course.burst_length_s}"]  # fmt: skip
    workloads, control = f"ipc://{folder}/host.ipc", f"ipc://{folder}/host-control.ipc"
    programs = []
    try:
        # What was measured last is how fast this machine is now.
        known = [folder / f"host_{kind}_{HOST_PASSES - 1}.csv" for kind in ("train", "serve")]
        priors = [word for table in known for word in ("--prior", table)]
        daemon = start_daemon(
            arguments, course, folder, workloads, control, "--board", "host", *priors
        )
        programs.append(daemon)
        daemon.note("status")
        print(
            "  LeNet trains, and another one answers 60 requests a second within "
            f"{latency_ms} ms; 180 a second from {course.burst_s:.0f} s to "
            f"{course.burst_s + course.burst_length_s:.0f} s",
            flush=True,
        )
        program = Program(
            lenet(*requests, "--batch-sizes", "1,4,16", "--progress", "--endpoint", workloads), "lenet"
        )
        programs.append(program)
        run_course(arguments, daemon, course, control)
        program.finish()
        daemon.finish(signal.SIGINT)
    finally:
        for one in reversed(programs):
            one.kill()
    counts = [0] + [
        json.loads(line)["train_minibatches"] for line in program.lines if '"second"' in line
    ]
    done = json.loads([line for line in program.lines if '"late_percent"' in line][-1])
    trained_at = trained_by(counts)
    holds = report(
        "this machine", course, bests, trained_at, done["late_percent"], daemon.summary(), True
    )
    # The judge is what was measured before; this tells how far the machine itself has moved.
    again = measured_profiles(arguments, folder, HOST_PASSES)
    after = best_of_phases(*again, course, latency_ms / 1000, HOST_WINDOW_S)[0]
    moved = ", ".join(f"{best[0]:.2f}" if best else "nothing" for best in after)
    print(
        f"    measured once more afterwards, the optima of the phases are {moved}: of these "
        f"{100 * share_of(course.phases(), after, trained_at):.1f} % were trained",
        flush=True,
    )
    instead(done, course, latency_ms)
    return all(holds)


def instead(done, course, latency_ms):
    """What a user would do without gearshift: the same requests, no cap, a fifth of the time."""
    duration_s = course.duration_s / 5
    requests = ["--rate", "60", "--latency-ms", latency_ms, "--duration", duration_s,
                "--burst", f"3:{course.burst_s / 5}:{course.burst_length_s / 5}"]  # fmt: skip
    print("\n  the same without gearshift and without a cap, as two processes of the operating system")
    print(f"    {'':<44} {'p99':>9} {'late':>8} {'trained':>9}")
    rows = [("interleaved by gearshift, under the caps", done, done, course.duration_s)]
    for name, pin in (("two processes, two cores", ()), ("two processes, one core", ("taskset", "-c", "0"))):
        serve = Program([*pin, *lenet("--only", "serve", *requests, "--batch-size", "4")], "serve")
        train = Program([*pin, *lenet("--only", "train", "--duration", duration_s)], "train")
        serve.finish(deadline_s=duration_s + 60)
        train.finish(deadline_s=60)
        rows.append((name, json.loads(serve.lines[-1]), json.loads(train.lines[-1]), duration_s))
    for name, served, trained, lasted_s in rows:
        print(
            f"    {name:<44} {served['latency_ms_p99']:6.1f} ms {served['late_percent']:6.2f} % "
            f"{trained['train_minibatches'] / lasted_s:7.1f}/s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/gearshift")
    parser.add_argument("--policy", default="bayes")
    parser.add_argument("--duration", type=float, default=300.0, help="seconds of each run")
    parser.add_argument(
        "--noise", type=float, default=2.0, help="of the virtual board's power sensor, in percent"
    )
    parser.add_argument("--only", choices=("board", "host"))
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gearshift-demo-"))
    try:
        holds = []
        if arguments.only != "host":
            holds.append(on_board(arguments, folder))
        if arguments.only != "board":
            holds.append(on_host(arguments, folder))
        return 0 if all(holds) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
