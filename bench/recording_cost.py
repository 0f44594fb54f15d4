#!/usr/bin/env python3
"""What a recording costs the loop: processor time of a tick with the recorder, as a multiple of one
without, by the same benchmark (build/tick_bench, or beside GEARSHIFT_BINARY)."""

import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BENCH = pathlib.Path(os.environ.get("GEARSHIFT_BINARY", ROOT / "build/gearshift")).parent / "tick_bench"
ROUNDS = 3


def main():
    times = {}
    for _ in range(ROUNDS):  # in turn, so that what else the machine does meets both
        done = subprocess.run([BENCH, "--benchmark_format=json"], check=True, capture_output=True)
        for one in json.loads(done.stdout)["benchmarks"]:
            name = one["name"].replace(f"/iterations:{one['iterations']}", "")
            times.setdefault(name, []).append(one["cpu_time"])
    print(f"{'tick':24} {'bare us':>8} {'recorded us':>12} {'ratio':>6}")
    for name, bare_us in times.items():
        recorded_us = times.get(name.replace("BM_", "BM_Recorded"))
        if recorded_us is None:
            continue
        bare, recorded = statistics.median(bare_us), statistics.median(recorded_us)
        print(f"{name[3:]:24} {bare:8.2f} {recorded:12.2f} {recorded / bare:6.2f}")


if __name__ == "__main__":
    main()
