#!/usr/bin/env python3
"""How long and by how much true power is over the cap, with every shipped policy and with none.

A simulated AGX Orin trains while its cap steps between 40 and 20 W every 30 s for ten minutes. A breach is true
power (not what the sensor shows) over the cap once the cap is known; every mode of the workload's lowest clocks is
below 20 W. Asked where the sensor shows the truth every 100 ms: no breach longer than two sensor intervals and one
actuation (a control period of 100 ms: clocks are written at once, cores one a period), and 0.3 % of the energy
over the cap at most. The same with sensors that lag, and with one reading every 430 ms as on JetPack 5, stand beside.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("GEARSHIFT_BINARY", str(ROOT / "build" / "gearshift"))
PERIOD_S = 0.1
STEP_S = 30
STEPS = 20
# Name, sensor interval in ms, effects, and whether the figures are asked for.
SENSORS = [
    ("100 ms", 100, "hotplug", True),
    ("100 ms, 2 % noise", 100, "hotplug,jitter,noise", False),
    ("100 ms, mean of 0.43 s", 100, "hotplug,lag", False),
    ("100 ms, lag of 0.7 s", 100, "hotplug,slow-lag", False),
    ("430 ms", 430, "hotplug", False),
    ("430 ms, mean of 0.43 s", 430, "hotplug,lag", False),
    ("430 ms, mean of 0.43 s, 2 % noise", 430, "hotplug,jitter,lag,noise", False),
]
NO_POLICY = "return nil\n"


def simulate(policy, interval_ms, effects):
    command = [BINARY, "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--power", "40W",
               "--policy", policy, "--effects", effects, "--sensor-interval", f"{interval_ms}ms",
               "--duration", f"{STEPS * STEP_S}s", "--hold", "1h", "--json"]
    for step in range(1, STEPS):
        command += ["--fault", f"cap_steps:{20 if step % 2 else 40}W@{step * STEP_S}s"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        return result.stderr.strip()
    return json.loads(result.stdout)


def main():
    failed = False
    scripts = sorted(path.stem for path in (ROOT / "scripts").glob("*.lua"))
    with tempfile.TemporaryDirectory(prefix="gearshift-bench-") as folder:
        nothing = pathlib.Path(folder) / "nothing.lua"
        nothing.write_text(NO_POLICY)
        policies = [("none", str(nothing))] + [(name, name) for name in scripts]
        for name, interval_ms, effects, asked in SENSORS:
            most_s = 2 * interval_ms / 1000 + PERIOD_S
            print(f"sensor: a reading every {name}; {most_s:.2f} s a breach and 0.3 % are "
                  f"{'asked' if asked else 'asked of a sensor without lag'}")
            for policy, script in policies:
                result = simulate(script, interval_ms, effects)
                if isinstance(result, str):
                    print(f"  {policy:<20} not run: {result}")
                    continue
                share = 100 * result["over_cap_j"] / result["energy_j"]
                within = result["longest_over_cap_s"] <= most_s + 1e-9 and share <= 0.3
                failed = failed or (asked and not within)
                print(f"  {policy:<20} {result['breaches']:>4} breaches, {result['longest_over_cap_s']:6.2f} s at most, "
                      f"{share:7.3f} % of the energy{'' if within else '  <- more'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
