#!/usr/bin/python3
"""A drone with a battery of 10 Wh trains while it flies, and gusts of wind take power from the
computer: the plan finishes its epochs in time with the reserve intact, where the highest mode empties
the battery early and the lowest misses the deadline."""

import argparse
import json
import subprocess
import threading

from live_flight import LiveFlight

BOARD = "jetson-agx-orin"
WORKLOAD = "resnet18"
CALM_W, GUST_W = 45, 28
LOWEST = ("cpu_cores=2", "cpu_mhz=729.6", "gpu_mhz=306", "mem_mhz=204")
GUST_EVERY_S, GUST_LASTS_S = 60, 20
# Live, the same in two minutes.
LIVE = {"capacity_wh": 1.5, "resistance_ohm": 0.25, "reserve": 0.1,
        "epochs": 3, "samples": 8_400, "until_s": 150}  # fmt: skip
LIVE_GUST_EVERY_S, LIVE_GUST_LASTS_S = 30, 8


def gusts(until_s):
    """The cap's steps: what the motors leave for the computer."""
    words = []
    for begin in range(GUST_EVERY_S, until_s, GUST_EVERY_S):
        words += ["--fault", f"cap_steps:{GUST_W}W@{begin}s"]
        words += ["--fault", f"cap_steps:{CALM_W}W@{begin + GUST_LASTS_S}s"]
    return words


def simulate(arguments, until_s, *words):
    """One flight in virtual time, as the JSON that `gearshift simulate` prints."""
    command = [
        arguments.binary, "simulate", "--board", BOARD, "--workload", WORKLOAD, "--batch-sizes",
        "16", "--battery", "10Wh", "--resistance", "0.25", "--reserve", "10%", "--epochs", arguments.epochs,
        "--samples-per-epoch", arguments.samples, "--until", f"{until_s}s", "--duration",
        f"{2 * until_s}s", "--effects", arguments.effects, "--seed", arguments.seed, "--json",
        *words,
    ]  # fmt: skip
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"demo: {' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def lowest_mode(arguments, until_s):
    """The same flight in the mode that a board is held in when nothing better is known."""
    words = ["--battery-goal", "none", "--policy", "maxn"]
    for knob in LOWEST:
        words += ["--keep", knob]
    return simulate(arguments, until_s, *words)


def row(name, flight, until_s, epochs):
    mission = flight["mission"]
    finished = flight["ending"] == "done"
    if finished:
        end = f"done in {flight['duration_s']:5.0f} s"
    elif flight["ending"] == "empty":
        end = f"empty at {flight['duration_s']:4.0f} s"
    else:
        end = f"not in  {flight['duration_s']:5.0f} s"
    in_time = finished and flight["duration_s"] <= until_s
    print(
        f"    {name:<34} {end}   {min(mission['epochs'], epochs):5.2f} of {epochs} epochs   "
        f"{mission['least_wh']:5.2f} Wh left   deadline {'kept  ' if in_time else 'missed'}  "
        f"reserve {'kept' if mission['reserve_kept'] else 'broken'}   "
        f"over the cap {flight['over_cap_s']:5.1f} s"
    )
    return in_time and mission["reserve_kept"]


def fly_live(arguments):
    """The same on virtual boards at real speed, all flights side by side: true where only the plan fits."""
    mission = {**LIVE, "binary": arguments.binary}
    until_s, epochs = mission["until_s"], mission["epochs"]
    wind = []
    for begin in range(LIVE_GUST_EVERY_S, until_s, LIVE_GUST_EVERY_S):
        wind += [(begin, GUST_W), (begin + LIVE_GUST_LASTS_S, CALM_W)]
    unplanned = ["--battery", "auto", "--battery-goal", "none"]
    plan = ["--battery", "auto", "--reserve", f"{mission['reserve']:.0%}"]
    plan += ["--epochs", epochs, "--until", f"{until_s}s", "--power", f"{CALM_W}W", "--policy", arguments.policy]
    knobs = ", ".join(knob.replace("=", " = ") for knob in LOWEST)
    flights = {
        "highest mode, whatever the wind": LiveFlight(
            mission, [*unplanned, "--policy", "maxn"]
        ),
        "lowest mode": LiveFlight(
            mission, unplanned, script=f"return {{{knobs}, train_batch = 16}}\n"
        ),
        "gearshift with a battery plan": LiveFlight(mission, plan, wind),
    }
    print(
        f"  live, on three such boards mounted side by side, for {until_s} s: {epochs} epochs of "
        f"{mission['samples']} samples,\n  1.5 Wh of which 0.15 Wh is the reserve; a gust every "
        f"{LIVE_GUST_EVERY_S} s for {LIVE_GUST_LASTS_S} s\n",
        flush=True,
    )
    threads = [threading.Thread(target=flight.fly) for flight in flights.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(flight.result for flight in flights.values()):
        raise SystemExit("demo: a live flight ended early; what it said stands above")
    fits = [row(name, flight.result, until_s, epochs) for name, flight in flights.items()]
    print()
    return fits == [False, False, True]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/gearshift")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=8_800, help="of an epoch")
    parser.add_argument("--until", type=int, default=1200, help="the deadline, s")
    parser.add_argument("--policy", default="bayes", help="what searches within the cap")
    parser.add_argument("--effects", default="all", help="see gearshift simulate --effects")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--no-live", action="store_true", help="the simulator alone: seconds instead of three minutes"
    )
    arguments = parser.parse_args()
    until_s, epochs = arguments.until, arguments.epochs
    print(
        f"  {WORKLOAD} on a virtual {BOARD}: {epochs} epochs of {arguments.samples} samples within "
        f"{until_s} s,\n  from a battery of 10 Wh and 0.25 ohm of which 1 Wh is the reserve; a gust every "
        f"{GUST_EVERY_S} s takes the cap from {CALM_W} to {GUST_W} W for {GUST_LASTS_S} s\n"
    )
    wind = gusts(2 * until_s)
    highest = simulate(arguments, until_s, "--battery-goal", "none", "--policy", "maxn")
    lowest = lowest_mode(arguments, until_s)
    fastest = simulate(
        arguments, until_s, "--battery-goal", "none", "--power", f"{CALM_W}W", "--policy",
        arguments.policy, *wind,
    )
    planned = simulate(
        arguments, until_s, "--power", f"{CALM_W}W", "--policy", arguments.policy, *wind
    )
    highest_fits = row("highest mode, whatever the wind", highest, until_s, epochs)
    lowest_fits = row("lowest mode", lowest, until_s, epochs)
    row("gearshift, as fast as the wind lets", fastest, until_s, epochs)
    fits = row("gearshift with a battery plan", planned, until_s, epochs)
    held = planned["held"]
    print(
        f"\n    the plan held {held['cpu_cores']} cores, CPU {held['cpu_mhz']}, GPU "
        f"{held['gpu_mhz']}, memory {held['mem_mhz']} MHz at the end; the guard stepped in "
        f"{planned['guard_steps']} times\n"
    )
    simulated = fits and not highest_fits and not lowest_fits
    live = arguments.no_live or fly_live(arguments)
    return 0 if simulated and live else 1


if __name__ == "__main__":
    raise SystemExit(main())
