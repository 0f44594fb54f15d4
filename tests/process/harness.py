"""Starts the real programs for the process tests: a virtual board, the daemon, trainers.

Every wait is for an event (a line, a file, an exit) with one generous deadline; nothing sleeps for a
fixed time and nothing asserts how long anything took.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BINARY = os.path.abspath(os.environ.get("GEARSHIFT_BINARY", "build/gearshift"))
SOURCE = Path(os.environ.get("GEARSHIFT_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "cli/demo"))
from programs import DEADLINE_S, Daemon, Program, knob_files  # noqa: E402
SKIPPED = 77
# Holds one setting of an AGX Orin without measuring it.
HOLD = """
return {cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
        mem_mhz = knobs.mem_mhz[3]}
"""


def skip_all(reason):
    """Ends the script as skipped, saying why."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def wait_until(condition, otherwise="it did not come true"):
    """Returns once condition() is true; where it never is, `otherwise` says what went wrong."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{otherwise}, within {DEADLINE_S} s")
        time.sleep(0.02)


class Stack:
    """A temporary folder with a virtual board and everything that is started on it."""

    def __init__(self, faults=(), plain=False, board=True, noise=None, battery=None):
        self.folder = Path(tempfile.mkdtemp(prefix="gearshift-test-"))
        self.mount = self.folder / "board"
        self.programs = []
        self.board = None
        if board:
            arguments = [BINARY, "board", "--virtual", "jetson-agx-orin", "--mount", self.mount]
            arguments += ["--plain"] if plain else []
            arguments += ["--noise", noise] if noise else []
            arguments += ["--battery", battery] if battery else []
            for fault in faults:
                arguments += ["--fault", fault]
            self.board = self.start(Program, arguments, "board")
            self.board.wait_for(lambda line: line.startswith("ready"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            if program is not self.board:
                program.kill()
        if self.board is not None:
            self.board.finish(signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, kind, arguments, name, **options):
        program = kind(arguments, name, **options)
        self.programs.append(program)
        return program

    @property
    def endpoint(self):
        return f"ipc://{self.folder}/workloads.ipc"

    @property
    def control(self):
        return f"ipc://{self.folder}/control.ipc"

    @property
    def state(self):
        return self.folder / "state"

    def script(self, text, name="policy.lua"):
        path = self.folder / name
        path.write_text(text)
        return path

    def daemon(self, policy, *more, power="30W", sysroot=True):
        arguments = [BINARY, "run", "--json", "--policy", policy, "--listen", self.endpoint]
        arguments += ["--control", self.control, "--state", self.state]
        arguments += ["--sysroot", self.mount] if sysroot else []
        arguments += ["--power", power] if power else []
        daemon = self.start(Daemon, arguments + list(more), "run")
        return daemon

    def trainer(self, *more):
        arguments = [BINARY, "emulate", "--workload", "resnet18", "--sysroot", self.mount]
        arguments += ["--connect", self.endpoint]
        arguments += [] if "--serve" in more else ["--warm-up", "0.5s"]
        return self.start(Program, arguments + list(more), "emulate")

    def gearshift(self, *arguments):
        """Runs one command to its end."""
        return subprocess.run(
            [BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_S
        )

    def read(self, path):
        return (self.mount / path.lstrip("/")).read_text().strip()

    def write(self, path, text):
        (self.mount / path.lstrip("/")).write_text(text)

    def fault(self, name, value):
        self.write(f"/.virtual/faults/{name}", value)

    def knobs(self):
        """The raw text of every file that gearshift may write, by path."""
        return knob_files(self.mount)
