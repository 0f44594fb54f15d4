"""A script's random numbers hang on its name, and not on how its path is spelt."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S

DRAWS = """local best
for i = 1, 6 do
  local answer = measure(modes[math.random(#modes)])
  if answer.within and (not best or answer.value < best.value) then best = answer end
end
return best and best.setting
"""
BOARD = ("--board", "jetson-agx-orin", "--workload", "resnet18")


class ScriptNames(unittest.TestCase):
    def gearshift(self, *arguments, folder):
        done = subprocess.run(
            [Path(BINARY).resolve(), *arguments], cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S
        )
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_one_script_decides_the_same_however_its_path_is_spelt(self):
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            (folder / "deep").mkdir()
            for name in ("draws.lua", "deep/other.lua"):
                (folder / name).write_text(DRAWS)
            self.gearshift("model", "profile", *BOARD, "--keep", "cpu_cores=4,8", "-o", "table.csv", folder=folder)

            def chosen(script):
                said = self.gearshift(
                    "simulate", "--profile", "table.csv", "--power", "30W", "--policy", script, "--json", folder=folder
                )
                return json.loads(said)["chosen"]

            one = chosen("draws.lua")
            for spelt in ("./draws.lua", folder / "draws.lua", "deep/../draws.lua"):
                self.assertEqual(chosen(spelt), one, spelt)
            self.assertNotEqual(chosen("deep/other.lua"), one, "another name is another variant")
            rows = json.loads(
                self.gearshift(
                    "evaluate", "--profile", "table.csv", "--caps", "30", "--policy", "./draws.lua", "--json", "-",
                    folder=folder,
                )  # fmt: skip
            )["rows"]
            self.assertEqual([row["chosen"] for row in rows], [one["minibatch_ms"]])

    def test_a_recording_asks_the_script_what_it_asked_when_it_was_recorded(self):
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            (folder / "draws.lua").write_text(DRAWS)
            self.gearshift(
                "simulate", *BOARD, "--power", "30W", "--policy", "./draws.lua", "--record", "run.db", folder=folder
            )
            said = self.gearshift("replay", "run.db", "--policy", folder / "draws.lua", folder=folder)
            self.assertIn("policy draws.lua, seed 1", said)
            self.assertIn("decisions are equal", said)
            asked = said.split("the other\n")[1].splitlines()
            self.assertEqual([line for line in asked if " | " in line], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
