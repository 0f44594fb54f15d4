#!/usr/bin/env python3
"""How long and by how much true power is over the cap on a virtual board, live, with every shipped policy and none.

What enforcement.py measures in virtual time, with real processes at real speed: a mounted board (an AGX Orin, whose
sensor shows the mean of the last 0.43 s in steps), the daemon, an emulated trainer, and `gearshift cap` that steps between 40
and 20 W. True power is read from the board beside the daemon every 10 ms; a breach counts from when `gearshift cap`
came back. Whatever else the machine does is in the figures.
"""

import argparse
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("GEARSHIFT_BINARY", str(ROOT / "build" / "gearshift"))
sys.path.insert(0, str(ROOT / "cli" / "demo"))
from programs import MountedBoard  # noqa: E402

HIGH_W, LOW_W = 40, 20
LOOK_EVERY_S = 0.01
ASKED_S, ASKED_SHARE = 0.3, 0.003
# The sensor's readings come in steps of 0.38 W a rail, 0.43 W off at most: 2 % of the lower cap.
CLEAR_SHARE = 0.03
NO_POLICY = "return nil\n"


class Breaches:
    """Adds up how long and by how much power is over the cap."""

    def __init__(self):
        self.count, self.longest_s, self.over_j, self.energy_j = 0, 0.0, 0.0, 0.0
        self.too_long = 0  # breaches of more than ASKED_S
        self.longest_clear_s = 0.0  # of those that were more than CLEAR_SHARE over
        self.longest_over_w = 0.0  # the most that the longest was over
        self._over_s, self._most_share = 0.0, 0.0

    def add(self, power_w, cap_w, span_s):
        self.energy_j += power_w * span_s
        if power_w <= cap_w:
            self._over_s, self._most_share = 0.0, 0.0
            return
        if self._over_s == 0:
            self.count += 1
        if self._over_s <= ASKED_S < self._over_s + span_s:
            self.too_long += 1
        self._over_s += span_s
        self._most_share = max(self._most_share, power_w / cap_w - 1)
        if self._most_share > CLEAR_SHARE:
            self.longest_clear_s = max(self.longest_clear_s, self._over_s)
        if self._over_s > self.longest_s:
            self.longest_s, self.longest_over_w = self._over_s, self._most_share * cap_w
        self.over_j += (power_w - cap_w) * span_s


def run(policy, noise, arguments):
    """One policy on one board: its breaches, or what went wrong."""
    try:
        with MountedBoard(BINARY, "--noise", noise, board=arguments.board) as board:
            daemon = board.run("--policy", policy, "--power", f"{HIGH_W}W")
            board.emulate("--warm-up", "0.5s")
            daemon.note("attached")
            breaches = watch(board.mount / ".virtual/true_power_mw", board.control, arguments)
            if daemon.finish(signal.SIGINT) != 0:
                return f"the daemon failed: {daemon.tail()}"
            return breaches
    except AssertionError as error:
        return str(error).splitlines()[0]


def watch(true_power, control, arguments):
    breaches, cap_w, stepping = Breaches(), HIGH_W, None
    began = before = time.monotonic()
    stepped = began
    with open(true_power, encoding="ascii") as reading:
        while before - began < arguments.duration:
            time.sleep(LOOK_EVERY_S)
            reading.seek(0)
            power_w = int(reading.read()) / 1000
            now = time.monotonic()
            if stepping and stepping.poll() is not None:
                stepping = None
            elif not stepping and now - stepped >= arguments.step:
                cap_w, stepped = (LOW_W if cap_w == HIGH_W else HIGH_W), now
                stepping = subprocess.Popen([BINARY, "cap", f"{cap_w}W", "--control", control],
                                            stdout=subprocess.DEVNULL)  # fmt: skip
            # While the command is under way either cap may be the daemon's.
            breaches.add(power_w, HIGH_W if stepping else cap_w, now - before)
            before = now
    if stepping:
        stepping.wait()
    return breaches


def table(policies, noise, arguments):
    """Runs and prints each; False where one could not be run."""
    print(f"virtual {arguments.board}, noise {noise}; {arguments.duration:.0f} s each, "
          f"{arguments.parallel} side by side; {ASKED_S} s a breach and {ASKED_SHARE:.1%} are asked", flush=True)  # fmt: skip
    ran = True
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        runs = [(name, pool.submit(run, policy, noise, arguments)) for name, policy in policies]
        for name, future in runs:
            result = future.result()
            if isinstance(result, str):
                print(f"  {name:<20} not run: {result}", flush=True)
                ran = False
                continue
            share = result.over_j / result.energy_j
            within = result.longest_s <= ASKED_S and share <= ASKED_SHARE
            print(f"  {name:<20} {result.count:>4} breaches, {result.too_long} of more than {ASKED_S} s, "
                  f"{result.longest_s:6.2f} s at most, by {result.longest_over_w:.2f} W "
                  f"({result.longest_clear_s:.2f} s of those by {CLEAR_SHARE:.0%} and more), {share:8.3%} of the energy"
                  f"{'' if within else '  <- more'}", flush=True)  # fmt: skip
    return ran


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", nargs="*", help="shipped scripts by name (default: all, and none)")
    parser.add_argument("--board", default="jetson-agx-orin", help="the virtual one (%(default)s)")
    parser.add_argument("--duration", type=float, default=120, help="of each run, s")
    parser.add_argument("--step", type=float, default=30, help="the cap's, s")
    parser.add_argument("--noise", default="0%,2%", help="of the sensor, a table each (%(default)s)")
    parser.add_argument("--parallel", type=int, default=9, help="runs side by side (9)")
    arguments = parser.parse_args()
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("skipped: needs /dev/fuse, for virtual boards")
        return 0
    failed = False
    with tempfile.TemporaryDirectory(prefix="gearshift-bench-") as folder:
        nothing = pathlib.Path(folder) / "nothing.lua"
        nothing.write_text(NO_POLICY)
        scripts = arguments.policy or ["none", *sorted(path.stem for path in (ROOT / "scripts").glob("*.lua"))]
        policies = [(name, str(nothing) if name == "none" else name) for name in scripts]
        for noise in arguments.noise.split(","):
            failed |= not table(policies, noise, arguments)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
