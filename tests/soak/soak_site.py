"""What a soak runs on: one virtual board, a daemon, a trainer, and how each is started and asked."""

import itertools
import os
import queue
import sys
import time

from harness import SOURCE, Program, Stack, wait_until

DEADLINE_S = 40.0
SETTLES_S = 15.0
CAPS_W = (24, 27, 30, 34, 38)
GPU = "/sys/class/devfreq/17000000.gpu"

SEARCH = """
local best
for _, gpu in ipairs({3, 1}) do
  local seen = measure({cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[gpu],
                        mem_mhz = knobs.mem_mhz[3]})
  if seen.within and (best == nil or seen.value < best.value) then best = seen end
end
return best and best.setting
"""
# Never rests: every answer is followed by a move of every knob.
RESTLESS = """
while true do
  for _, gpu in ipairs({1, 2, 3}) do
    remeasure({cpu_cores = 2 + 2 * gpu, cpu_mhz = knobs.cpu_mhz[10 + gpu],
               gpu_mhz = knobs.gpu_mhz[gpu], mem_mhz = knobs.mem_mhz[2 + gpu % 2]})
  end
end
"""


class Unreported(AssertionError):
    """A fault of which nobody was told."""


class MissedRestore(AssertionError):
    """A knob that is not as it was found."""


def text_has(words):
    return lambda note: words in note.get("text", "")


class Site:
    """The stack and the processes on it. Episodes break it, and `settle` waits until it holds."""

    def __init__(self, stack, random, leaks):
        self.stack = stack
        self.random = random
        self.leaks = leaks
        self.found = stack.knobs()
        self.config = stack.script('[[schedule]]\nafter = "0s"\npower = "45W"\n', "run.toml")
        self.policy = stack.script(SEARCH)
        self.counts = itertools.count(1)
        self.daemon = None
        self.trainer = None
        self.cap_w = 30
        self.nudges = 0
        self.written_hz = None  # by another program, at last

    # ---- starting -------------------------------------------------------------------------

    def start_daemon(self, *more):
        arguments = ["--config", self.config, *more]
        self.daemon = self.stack.daemon(self.policy, *arguments, power=f"{self.cap_w}W")
        self.told("status")
        for name, pid in [("daemon", self.daemon.process.pid)] + [
            ("guardian", child) for child in self.daemon.children()
        ]:
            self.leaks.add(f"{name} {len(self.stack.programs)}", pid)

    def start_trainer(self):
        """An emulated trainer that loads the board, or a Python one that loads this machine."""
        if self.random.random() < 0.75:
            self.trainer = self.stack.trainer("--seed", next(self.counts))
            return
        script = SOURCE / "tests/soak/workload.py"
        words = [sys.executable, script, SOURCE / "bridge/python", "--connect", self.stack.endpoint]
        self.trainer = self.stack.start(Program, words, "digits")

    def end_daemon(self, signal_number, wanted_code=0):
        code = self.daemon.finish(signal_number)
        if code != wanted_code:
            raise Unreported(f"the daemon ended with {code}, not {wanted_code}: {self.newest()}")

    # ---- asking ---------------------------------------------------------------------------

    def drain(self):
        """Takes the lines that the daemon wrote until now, so that none counts for what follows."""
        while True:
            try:
                line = self.daemon._queue.get_nowait()
            except queue.Empty:
                return
            if line is None:
                self.daemon._queue.put(None)
                return
            self.daemon.lines.append(line)

    def told(self, name, wanted=lambda note: True, **fields):
        """The next note of the name that is as wanted; its absence is an unreported fault."""
        end = time.monotonic() + DEADLINE_S
        try:
            while True:
                note = self.daemon.note(name, max(0.1, end - time.monotonic()), **fields)
                if wanted(note):
                    return note
        except AssertionError:
            raise Unreported(f"no note {name} {fields}; newest: {self.newest()}") from None

    def said(self, words):
        """The next line, of the daemon or its guardian, that has the words."""
        try:
            return self.daemon.wait_for(lambda line: words in line, DEADLINE_S)
        except AssertionError:
            raise Unreported(f"nobody said {words!r}; newest: {self.newest()}") from None

    def newest(self):
        """The newest lines that are no routine, to tell what happened instead."""
        lines = [line for line in self.daemon.lines if '"note":"status"' not in line]
        return " | ".join(line[:260] for line in lines[-12:])

    def command(self, *words, code=0):
        done = self.stack.gearshift(*words)
        if done.returncode != code:
            raise Unreported(
                f"gearshift {' '.join(map(str, words))}: exit code {done.returncode}, not {code}: "
                f"{done.stdout}{done.stderr}"
            )
        return done

    def set_cap(self, cap_w=None):
        """Another cap than the one in force, so that it is told and a setting applied."""
        others = [cap for cap in CAPS_W if cap != self.cap_w]
        self.cap_w = cap_w or self.random.choice(others)
        self.command("cap", f"{self.cap_w}W", "--control", self.stack.control)
        self.told("goal", cap_w=self.cap_w)

    # ---- holding --------------------------------------------------------------------------

    def mend(self):
        """Switches every fault off and starts what is gone; what an episode broke is over."""
        faults = self.stack.mount / ".virtual/faults"
        for path in sorted(faults.iterdir()):
            if path.name == "README":
                continue
            number = path.read_text().strip()
            off = "100" if path.name.endswith("_percent") else "0" if number.isdigit() else "none"
            if number != off:
                path.write_text("none" if path.name == "sensor_absurd" else off)
        changed = self.policy.read_text() != SEARCH
        if changed:
            self.policy.write_text(SEARCH)
        if self.daemon is None or self.daemon.process.poll() is not None:
            self.start_daemon()
        elif changed:
            self.told("policy_reload", text="reloaded")
        if self.trainer is None or self.trainer.process.poll() is not None:
            self.start_trainer()

    def settle(self):
        """Until the daemon holds a setting again, with its trainer, for a second."""
        self.drain()
        if not self.holds(SETTLES_S):
            # A fault can make every setting of a short script look over the cap, and what a cap cut
            # is not tried again under it: the operator gives a looser one.
            self.nudges += 1
            self.set_cap(max(CAPS_W) + self.nudges % 2)
            if not self.holds(DEADLINE_S):
                raise Unreported(f"it does not come to hold; newest: {self.newest()}")

    def holds(self, deadline_s):
        end = time.monotonic() + deadline_s
        held = 0
        while held < 2:
            try:
                note = self.daemon.note("status", max(0.1, end - time.monotonic()))
            except AssertionError:
                return False
            held = held + 1 if note["phase"] == "holding" and note["workloads"] > 0 else 0
        return True

    def recover(self):
        """After an episode that failed: the cap that it may have left would fail the next ones."""
        if self.daemon.process.poll() is None and self.cap_w not in CAPS_W:
            self.cap_w = 30
            self.stack.gearshift("cap", "30W", "--control", self.stack.control)

    def restored(self):
        """The daemon is gone: the board must be as it was found."""
        left = self.stack.knobs()
        wrong = {path: left[path] for path in left if left[path] != self.found.get(path)}
        if left != self.found:
            raise MissedRestore(f"not put back: {wrong}")
        if (self.stack.state / "knobs.journal").exists():
            raise MissedRestore("the journal is still there")

    def moved(self):
        """Some knob is not as it was found, so that there is something to put back."""
        wait_until(lambda: self.stack.knobs() != self.found, "the daemon has moved no knob")

    def wait_gone(self, pid):
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), f"process {pid} does not end")


def open_site(random, leaks):
    """The virtual board is no part of what is judged: FUSE keeps threads as it likes."""
    stack = Stack(noise="2%")
    return stack, Site(stack, random, leaks)
