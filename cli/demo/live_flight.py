"""A drone's flight at real speed: a virtual board on a virtual battery, the daemon and a trainer."""

import json
import signal
import time

from programs import MountedBoard

LOOK_EVERY_S = 0.2


class LiveFlight:
    """One flight. `words` go to `gearshift run`; `wind` is a list of (seconds, watts) that the cap steps to."""

    def __init__(self, mission, words, wind=(), script=None):
        self.mission = mission
        self.words = words
        self.wind = wind
        self.script = script
        self.result = None

    def fly(self):
        """Flies until the epochs are done, the battery is empty or the time is over; fills `result`."""
        mission = self.mission
        capacity = f"{mission['capacity_wh']}Wh"
        battery = ["--battery", capacity, "--resistance", mission["resistance_ohm"]]
        with MountedBoard(mission["binary"], *battery) as board:
            self.result = self._fly(board)

    def _fly(self, board):
        mission, mount = self.mission, board.mount
        daemon = board.run(*self._run_words(board.folder))
        trainer = board.emulate(
            "--json", "--batch-sizes", "16", "--warm-up", "0.5s", "--samples-per-epoch",
            mission["samples"], "--epochs", mission["epochs"],
        )  # fmt: skip
        began = time.monotonic()
        ending = self._wait(trainer, mount / ".virtual/battery/empty", began)
        duration_s = time.monotonic() - began
        trainer.finish(signal.SIGINT)
        least_wh = int((mount / ".virtual/battery/least_uwh").read_text()) / 1e6
        daemon.finish(signal.SIGINT)
        samples = json.loads(trainer.lines[-1])["samples"]
        summary = daemon.summary()
        return {
            "ending": ending,
            "duration_s": duration_s,
            "over_cap_s": summary["over_cap_s"],
            "guard_steps": summary["guard_steps"],
            "mission": {
                "epochs": samples / mission["samples"],
                "least_wh": least_wh,
                "reserve_kept": least_wh >= mission["reserve"] * mission["capacity_wh"],
            },
        }

    def _run_words(self, folder):
        words = [*self.words]
        if self.script:
            (folder / "policy.lua").write_text(self.script)
            words += ["--policy", folder / "policy.lua"]
        if self.wind:
            steps = [f'[[schedule]]\nafter = "{at_s}s"\npower = "{power_w}W"\n' for at_s, power_w in self.wind]
            (folder / "wind.toml").write_text("\n".join(steps))
            words += ["--config", folder / "wind.toml"]
        return words

    def _wait(self, trainer, empty, began):
        while time.monotonic() - began < self.mission["until_s"]:
            if trainer.process.poll() is not None:
                return "done"
            if empty.read_text().strip() == "1":
                return "empty"
            time.sleep(LOOK_EVERY_S)
        return "time"
