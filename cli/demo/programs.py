"""Starts gearshift's programs and waits for what they say. Shared by the demos and the tests."""

import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

DEADLINE_S = 120.0


class Program:
    """A child process whose output lines can be waited for."""

    def __init__(self, arguments, name, **options):
        self.name = name
        self.lines = []
        self._queue = queue.Queue()
        self.process = subprocess.Popen(
            [str(argument) for argument in arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            **options,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.process.stdout as output:
            for line in output:
                self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def next_line(self, deadline_s=DEADLINE_S):
        """The next output line, or None at the end of the output."""
        try:
            line = self._queue.get(timeout=deadline_s)
        except queue.Empty:
            raise AssertionError(f"{self.name}: nothing more in {deadline_s} s; so far: {self.tail()}")
        if line is not None:
            self.lines.append(line)
        return line

    def wait_for(self, wanted, deadline_s=DEADLINE_S):
        """Reads lines until wanted(line) is true and returns that line."""
        end = time.monotonic() + deadline_s
        while True:
            line = self.next_line(max(0.1, end - time.monotonic()))
            if line is None:
                raise AssertionError(f"{self.name} ended; its output: {self.tail()}")
            if wanted(line):
                return line

    def tail(self):
        return "\n".join(line[:400] for line in self.lines[-12:])

    def send(self, number):
        self.process.send_signal(number)

    def finish(self, number=None, deadline_s=DEADLINE_S):
        """Sends the signal, waits for the end and returns the exit code."""
        if number is not None and self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=deadline_s)
        while self.next_line() is not None:
            pass
        return code

    def children(self):
        """Process ids of what it has started: a daemon's guardian."""
        if self.process.poll() is not None:
            return []
        pid = self.process.pid
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill(self):
        """Kills it and its children, so that nothing is left that could put a knob back."""
        for child in self.children():
            os.kill(child, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Daemon(Program):
    """`gearshift run --json`: its lines are JSON notes."""

    def note(self, name, deadline_s=DEADLINE_S, **fields):
        """Waits for the next note of that name whose fields are as given."""

        def wanted(line):
            if not line.startswith("{"):
                return False
            note = json.loads(line)
            return note["note"] == name and all(note.get(k) == v for k, v in fields.items())

        return json.loads(self.wait_for(wanted, deadline_s))

    def first(self, name, deadline_s=DEADLINE_S):
        """The first note of that name, already seen or still to come."""
        return (self.notes(name) or [self.note(name, deadline_s)])[0]

    @staticmethod
    def parse(line):
        return json.loads(line)

    def notes(self, name=None):
        notes = [self.parse(line) for line in self.lines if line.startswith("{")]
        return [note for note in notes if name is None or note["note"] == name]

    def summary(self):
        return self.notes("summary")[-1]


class MountedBoard:
    """A virtual board that is mounted in a temporary folder, and what is started on it; at the end of the
    `with` all of it is gone. `words` go to `gearshift board`."""

    def __init__(self, binary, *words, board="jetson-agx-orin"):
        self.binary = binary
        self.board = board
        self.words = words
        self.programs = []

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gearshift-board-"))
        self.mount = self.folder / "orin"
        self.endpoint = f"ipc://{self.folder}/workloads.ipc"
        self.control = f"ipc://{self.folder}/control.ipc"
        try:
            board = self.start(
                Program, "board", "--virtual", self.board, "--mount", self.mount, *self.words
            )
            board.wait_for(lambda line: line.startswith("ready"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs[1:]):
            program.kill()
        if self.programs:
            self.programs[0].finish(signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, kind, command, *words):
        self.programs.append(kind([self.binary, command, *words], command))
        return self.programs[-1]

    def run(self, *words):
        """The daemon, as soon as it goes on by itself."""
        daemon = self.start(
            Daemon, "run", "--json", "--sysroot", self.mount, "--listen", self.endpoint, "--control",
            self.control, "--state", self.folder / "state", *words,
        )  # fmt: skip
        daemon.note("status")
        return daemon

    def emulate(self, *words):
        """An emulated trainer of ResNet-18 that connects to the daemon."""
        return self.start(
            Program, "emulate", "--workload", "resnet18", "--sysroot", self.mount, "--connect",
            self.endpoint, *words,
        )  # fmt: skip


def text_of(path):
    """The text of a board file, or its error: a policy whose cores are all offline is busy."""
    try:
        return path.read_text().strip()
    except OSError as error:
        return f"errno {error.errno}"


def knob_files(mount):
    """The raw text of every file of a mounted AGX Orin that gearshift may write, by path."""
    cpu = mount / "sys/devices/system/cpu"
    paths = sorted(cpu.glob("cpu[0-9]*/online"))
    for policy in sorted(cpu.glob("cpufreq/policy*")):
        paths += [policy / "scaling_min_freq", policy / "scaling_max_freq"]
    gpu = mount / "sys/class/devfreq/17000000.gpu"
    paths += [gpu / "min_freq", gpu / "max_freq"]
    emc = mount / "sys/kernel/debug/bpmp/debug/clk/emc"
    paths += [emc / "mrq_rate_locked", emc / "state"]
    if text_of(emc / "mrq_rate_locked") == "1":
        paths.append(emc / "rate")  # unlocked, it follows the load
    paths += [mount / "sys/kernel/nvpmodel_clk_cap/emc"]
    return {str(path.relative_to(mount)): text_of(path) for path in paths}
