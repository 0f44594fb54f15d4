"""docs/tutorial-policy.md, done as it says: its scripts, its commands and what they print."""

import json
import re
import shlex
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S, SOURCE, Stack

PAGE = SOURCE / "docs/tutorial-policy.md"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def scripts():
    """The page's scripts by the name in their first line."""
    named = {}
    for text in blocks("lua"):
        name = re.match(r"-- (\w+\.lua): ", text)
        assert name, f"a script without a name: {text[:40]}"
        named[name[1]] = text
    return named


def commands():
    """(command, lines that it prints), in order."""
    result = []
    for text in blocks("console"):
        for line in text.splitlines():
            if line.startswith("$ "):
                result.append((line[2:], []))
            else:
                result[-1][1].append(line)
    return result


def words(lines):
    """Lines without the width of columns, and without empty ones."""
    return [" ".join(line.split()) for line in lines if line.strip()]


class Tutorial(unittest.TestCase):
    def test_every_command_prints_what_the_page_says(self):
        self.assertEqual(list(scripts()), ["walk.lua", "descent.lua", "mine.lua"])
        self.assertGreaterEqual(len(commands()), 9)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in scripts().items():
                Path(folder, name).write_text(text)
            for command, expected in commands():
                program, *arguments = shlex.split(command)
                self.assertEqual(program, "gearshift")
                done = subprocess.run(
                    [Path(BINARY).resolve(), *arguments],
                    cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S,
                )  # fmt: skip
                self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
                self.compare(command, words(expected), words(done.stdout.splitlines()))

    def compare(self, command, expected, printed):
        """Equal but for what `...` on the page leaves out."""
        if "..." not in expected:
            self.assertEqual(printed, expected, command)
            return
        gap = expected.index("...")
        before, after = expected[:gap], expected[gap + 1 :]
        self.assertEqual(printed[:gap], before, command)
        self.assertEqual(printed[len(printed) - len(after) :], after, command)

    def test_the_script_for_the_board_chooses_under_limits_of_energy_and_of_latency(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mine.lua").write_text(scripts()["mine.lua"])
            for limits in (
                "--energy-per-sample 0.2J",
                "--problem infer --rate 60 --latency 100ms --batch-sizes 4 --power 40W",
            ):
                done = subprocess.run(
                    [Path(BINARY).resolve(), "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18",
                     "--policy", "./mine.lua", "--json", *limits.split()],
                    cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S,
                )  # fmt: skip
                self.assertEqual(done.returncode, 0, f"{limits}\n{done.stdout}{done.stderr}")
                self.assertTrue(json.loads(done.stdout)["solved"], limits)

    def test_the_script_forgets_under_a_higher_cap_what_was_over_a_lower_one(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mine.lua").write_text(scripts()["mine.lua"])
            done = subprocess.run(
                [Path(BINARY).resolve(), "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18",
                 "--policy", "./mine.lua", "--json", "--power", "20W", "--fault", "cap_steps:45W@80s",
                 "--log", "mine.log"],
                cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            lines = Path(folder, "mine.log").read_text().splitlines()
            said = [json.loads(line) for line in lines if "known to be over the cap" in line]
            self.assertRegex(said[0]["text"], r", [1-9]\d* known to be over the cap$")
            self.assertRegex(said[-1]["text"], r", 0 known to be over the cap$")
            self.assertLess(json.loads(done.stdout)["excess"], 0.2)

    def test_the_script_runs_live_and_its_recording_replays(self):
        with Stack() as stack:
            paths = {name: stack.script(text, name) for name, text in scripts().items()}
            recording = stack.folder / "day.db"
            daemon = stack.daemon(paths["mine.lua"], "--record", recording)
            stack.trainer()
            for _ in range(3):
                self.assertTrue(daemon.note("observation")["ok"])
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(daemon.summary()["policy_errors"], 0)
            for more in ([], ["--policy", paths["descent.lua"]]):
                done = stack.gearshift("replay", recording, *more)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("decisions are equal", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
