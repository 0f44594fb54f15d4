#!/usr/bin/python3
"""The main job, without hardware: gearshift finds the fastest setting of a virtual Jetson under 30 W,
follows the cap down to 20 W while ResNet-18 trains, and leaves the board as it found it."""

import argparse
import json
import signal
import subprocess
import sys
import time

from programs import MountedBoard, Program, knob_files


def optimum(mount, cap_w):
    """The virtual board's own optimum for its load: the row of its table for the cap."""
    lines = (mount / ".virtual/optimum").read_text().splitlines()
    columns = lines[0].lstrip("# ").split()
    for line in lines[1:]:
        row = dict(zip(columns, line.split()))
        if row["objective"] == "time" and float(row["cap_w"]) == cap_w:
            return {**row, "train_batch": row["batch_size"]}
    raise SystemExit(f"demo: no row for {cap_w} W in {mount}/.virtual/optimum")


def optimum_at(binary, cap_w):
    """Milliseconds a sample of the exhaustive optimum at any cap, by the board's model."""
    words = [binary, "board", "--virtual", "jetson-agx-orin", "--optimum", f"{cap_w:.2f}W"]
    words += ["--workload", "resnet18", "--batch-sizes", "8,16,32,64", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["sample_ms"]


def setting_text(setting):
    return (
        f"{setting['cpu_cores']:>2} cores  CPU {float(setting['cpu_mhz']):7.1f}  "
        f"GPU {float(setting['gpu_mhz']):7.1f}  memory {float(setting['mem_mhz']):6.1f} MHz  "
        f"batch {setting['train_batch']}"
    )


def show_progress(daemon, wanted):
    """Prints each measurement until the note `wanted` comes; returns it."""
    while True:
        line = daemon.next_line()
        if line is None:
            raise SystemExit("demo: the daemon ended:\n" + daemon.tail())
        if not line.startswith("{"):
            continue
        note = daemon.parse(line)
        if note["note"] == "observation":
            cost = "over the cap, cut short" if note["reason"] == "over_limit" else note["reason"]
            if note["ok"]:
                cost = f"{note['power_w']:5.1f} W  {note['train']['sample_ms']:6.3f} ms a sample"
            print(f"    measured {setting_text(note['setting'])}   {cost}")
        elif note["note"] in ("over_cap", "rationed", "policy_error", "knob_failed", "power_unknown"):
            print(f"    {note['note']}: {note.get('text', '')}")
        if note["note"] == wanted:
            return note


def compare(binary, daemon, mount, cap_w):
    """Waits for the choice under the cap, prints it beside the optimum; returns true if it fits."""
    started = time.monotonic()
    hold = show_progress(daemon, "hold")
    chosen = [
        note
        for note in daemon.notes("observation")
        if note["setting"] == hold["setting"] and note["ok"]
    ][-1]
    best = optimum(mount, cap_w)
    best_ms = float(best["sample_ms"])
    held_w = cap_w - chosen["power_margin_w"]
    safe_ms = optimum_at(binary, held_w)
    sample_ms = chosen["train"]["sample_ms"]
    print(f"\n  under {cap_w} W, after {time.monotonic() - started:.0f} s:")
    print(
        f"    chosen   {setting_text(hold['setting'])}   {chosen['power_w']:5.1f} W  "
        f"{chosen['train']['sample_ms']:6.3f} ms a sample (measured)"
    )
    print(
        f"    optimum  {setting_text(best)}   {float(best['power_w']):5.1f} W  "
        f"{best_ms:6.3f} ms a sample (the board's own, exhaustive)"
    )
    print(
        f"    {100 * (sample_ms / best_ms - 1):+.1f} % against the optimum, "
        f"{100 * (sample_ms / safe_ms - 1):+.1f} % against the one at {held_w:.1f} W "
        f"({safe_ms:.3f} ms): the cap less the sensor's noise margin\n",
        flush=True,
    )
    return chosen["power_w"] <= cap_w


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/gearshift")
    parser.add_argument("--policy", default="scripts/binary_search.lua")
    arguments = parser.parse_args()
    with MountedBoard(arguments.binary) as board:
        mount = board.mount
        before = knob_files(mount)
        print(f"  a virtual Jetson AGX Orin is mounted at {mount}")
        daemon = board.run("--policy", arguments.policy, "--power", "30W")
        daemon.note("status")  # a second of it, for the baseload
        print("  the controller runs; a ResNet-18 trainer attaches", flush=True)
        board.emulate()
        print(f"  idle baseload {daemon.note('baseload')['power_w']:.1f} W\n")
        fits = compare(arguments.binary, daemon, mount, 30)
        print("  gearshift cap 20W")
        board.start(Program, "cap", "20W", "--control", board.control).finish()
        fits = compare(arguments.binary, daemon, mount, 20) and fits
        daemon.finish(signal.SIGINT)
        summary = daemon.summary()
        print(
            f"  {summary['measurements']} measurements in {summary['duration_s']:.0f} s; over the "
            f"cap for {summary['over_cap_s']:.1f} s ({summary['over_cap_j']:.1f} J), "
            f"the guard stepped in {summary['guard_steps']} times"
        )
        after = knob_files(mount)
        changed = [str(path) for path in before if before[path] != after[path]]
        print(f"  {len(before) - len(changed)} of {len(before)} knob files read as before the run")
        for path in changed:
            print(f"    not restored: {path}")
        return 0 if fits and not changed else 1


if __name__ == "__main__":
    sys.exit(main())
