"""Inputs from pipes, which can be read once: `<(...)` of a shell stands wherever a file may."""

import json
import shlex
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S, Daemon, Stack
from test_evaluate_drift import TwoTables

PAIR = ["simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "resnet18", "--infer-workload",
        "mobilenet_v3", "--latency", "500ms", "--power", "30W", "--policy", "maxn"]  # fmt: skip
HOLD = "return modes[#modes // 2]\n"


class Piped(str):
    """A word that the shell puts the output of a pipe from this file in the place of."""


def command_line(*words):
    return " ".join(f"<(cat {shlex.quote(word)})" if isinstance(word, Piped) else shlex.quote(str(word)) for word in words)


def shell(*words, folder):
    line = command_line(Path(BINARY).resolve(), *words)
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S)


class Pipes(TwoTables):
    def test_a_table_is_read_once(self):
        for words in (
            ["pareto", "{}", "--cap", "20W"],
            ["simulate", "--profile", "{}", "--prior", "b.csv", "--power", "20W", "--policy", "binary_search", "--json"],
        ):
            alike = []
            for file in ("a.csv", Piped("a.csv")):
                done = shell(*(file if word == "{}" else word for word in words), folder=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                alike.append(done.stdout)
            self.assertEqual(*alike)

    def test_tables_of_an_evaluation_are_read_once(self):
        words = ["evaluate", "--problem", "drift", "--caps", "25", "--policy", "maxn", "--seeds", 1, "--profile"]
        done = shell(*words, Piped("a.csv"), folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, shell(*words, "a.csv", folder=self.folder).stdout)

    def test_recorded_arrivals_are_read_once(self):
        (self.folder / "trace.csv").write_text("t_s\n0\n0.01\n0.04\n")
        line = command_line(Path(BINARY).resolve(), *PAIR, "--arrivals") + ' "trace:$0,60"'
        piped = subprocess.run(["bash", "-c", f"exec 7< <(cat trace.csv); {line}", "/dev/fd/7"], cwd=self.folder,
                               capture_output=True, text=True, timeout=DEADLINE_S)  # fmt: skip
        self.assertEqual(piped.returncode, 0, piped.stderr)
        whole = shell(*PAIR, "--arrivals", "trace:trace.csv,60", folder=self.folder)
        self.assertEqual(piped.stdout, whole.stdout)


class PipedScript(unittest.TestCase):
    def test_a_script_from_a_pipe_stays_in_force(self):
        with Stack() as stack, tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "hold.lua"
            script.write_text(HOLD)
            words = [BINARY, "run", "--json", "--listen", stack.endpoint, "--control", stack.control, "--state", stack.state,
                     "--sysroot", stack.mount, "--power", "30W", "--policy", Piped(script)]  # fmt: skip
            daemon = stack.start(Daemon, ["bash", "-c", "exec " + command_line(*words)], "run")
            stack.trainer()
            daemon.note("hold")
            daemon.send(signal.SIGHUP)
            for _ in range(3):
                status = daemon.note("status")
            self.assertEqual(status["phase"], "holding")
            asked = json.loads(stack.gearshift("explain", "--json", "--control", stack.control).stdout)
            self.assertEqual(asked["holding"], "choice")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            self.assertEqual(daemon.notes("policy_reload"), [])


if __name__ == "__main__":
    unittest.main()
