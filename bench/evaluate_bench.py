#!/usr/bin/env python3
"""How long `gearshift evaluate` takes for the 5,863 inference problems of a measured AGX Orin: under 60 s.

The grid is powers 10 to 50 W, latencies 50 to 150 ms and 30 to 90 requests a second, on 441 modes and five
batch sizes, with binary_search.lua, exact cells and an empty memory for each problem, on all cores of this
machine. Prints wall time, problems a second and how many of the solvable problems were solved. Skips where the
measured profiles are absent.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("GEARSHIFT_BINARY", str(ROOT / "build" / "gearshift"))
DATA = ROOT.parent / "shared" / "data"
LIMIT_S = 60


def run(profile):
    with tempfile.TemporaryDirectory(prefix="gearshift-bench-") as folder:
        out = pathlib.Path(folder) / "out.json"
        began = time.monotonic()
        subprocess.run(
            [BINARY, "evaluate", "--profile", profile, "--problem", "infer", "--caps", "10:50:1",
             "--latency-ms", "50:150:10", "--rate", "30:90:5", "--policy",
             ROOT / "scripts" / "binary_search.lua", "--json", out],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        taken_s = time.monotonic() - began
        rows = json.loads(out.read_text())["rows"]
    solvable = sum(row["solvable"] for row in rows)
    solved = sum(row["solved"] for row in rows)
    print(f"{profile.stem}: {len(rows)} problems in {taken_s:.1f} s (limit {LIMIT_S} s), "
          f"{len(rows) / taken_s:.0f} a second on {os.cpu_count()} cores; "
          f"{solved} of {solvable} solvable ones solved")


def main():
    profiles = [DATA / f"agx_orin_{name}_infer.csv" for name in ("resnet", "mobnet")]
    if not all(profile.exists() for profile in profiles):
        print(f"skipped: no measured profiles in {DATA}")
        return 0
    for profile in profiles:
        run(profile)
    return 0


if __name__ == "__main__":
    sys.exit(main())
