"""A board on a battery: its plan caps the board, and at the reserve the trainer waits, live."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import unittest

from harness import BINARY, DEADLINE_S, Stack
from live_flight import LiveFlight

HOLD = """
return modes[#modes // 2]
"""


class Battery(unittest.TestCase):
    def test_a_long_simulation_tells_people_how_far_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            sun, script = pathlib.Path(folder) / "sun.csv", pathlib.Path(folder) / "one.lua"
            sun.write_text("t_s,ghi_w_m2\n0,900\n")
            script.write_text("return modes[1]")
            # Months, which take longer than anybody waits.
            words = ["simulate", "--board", "jetson-nano", "--workload", "mobilenet_v3", "--battery", "90Wh",
                     "--policy", script, "--panel", "400W", "--solar", sun, "--until", "2000h"]  # fmt: skip
            terminal, end = pty.openpty()
            flight = subprocess.Popen([BINARY, *map(str, words)], stdout=subprocess.PIPE, stderr=end)
            os.close(end)
            seen = b""
            while not re.search(rb"ETA [0-9]", seen) and select.select([terminal], [], [], DEADLINE_S)[0]:
                seen += os.read(terminal, 1000)
            flight.kill()
            self.assertEqual(flight.communicate()[0], b"", "an answer has nothing of it")
            os.close(terminal)
            self.assertRegex(seen.decode(), r"\r\x1b\[K\[[= ]{30}\] [0-9:]+/2000:00:00 of virtual time, ETA [0-9]")

    def test_a_trainer_waits_at_the_reserve(self):
        with Stack(battery="100mWh") as stack:
            recording = stack.folder / "run.db"
            daemon = stack.daemon(
                stack.script(HOLD), "--battery", "auto", "--reserve", "50%", "--record", recording
            )
            stack.trainer()
            status = daemon.note("status")
            while status["phase"] != "paused":
                self.assertIn("battery", status)
                self.assertAlmostEqual(status["battery"]["capacity_wh"], 0.1, 6)
                status = daemon.note("status")
            self.assertEqual(status["cap_source"], "battery")
            self.assertLessEqual(status["battery"]["energy_wh"], 0.05)
            self.assertIn("battery leaves no power", daemon.notes("safe")[-1]["text"])
            asked = stack.gearshift("status", "--json", "--control", stack.control)
            told = json.loads(asked.stdout)
            self.assertEqual((told["phase"], told["plan"]), ("paused", "reserve"))
            self.assertAlmostEqual(told["battery"]["capacity_wh"], 0.1, 6)
            self.assertEqual((told["cap_w"], told["cap_source"]), (0.001, "battery"))
            self.assertEqual((status["cap_w"], daemon.notes("goal")[-1]["cap_w"]), (0.001, 0.001))
            self.assertIn("plan          reserve", self.text(stack, "status"))
            self.assertIn("cap           0 W (battery)\n", self.text(stack, "status"))
            self.assertIn("cap           0 W, set by battery ", self.text(stack, "explain"))
            self.assertRegex(self.text(stack, "explain"), r"battery +0\.0\d of 0\.10 Wh, [\d.]+ V")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            plans = [note["text"] for note in daemon.notes("plan")]
            self.assertTrue(plans[0].startswith(("unknown", "planned")), plans)
            self.assertEqual(plans[-1], "reserve")
            after = json.loads(stack.gearshift("explain", recording, "--json").stdout)
            self.assertEqual((after["plan"], after["cap_w"], after["cap_source"]), ("reserve", 0.001, "battery"))
            self.assertLessEqual(after["battery"]["energy_wh"], 0.05)
            # Plans are told by who made the limit: a replay has its answers, and not its plans.
            replayed = stack.gearshift("replay", recording, "--json")
            self.assertEqual(replayed.returncode, 0, replayed.stdout)
            self.assertEqual((stack.mount / ".virtual/battery/empty").read_text().strip(), "0")

    def text(self, stack, command):
        done = stack.gearshift(command, "--control", stack.control)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_flight_ends_with_its_epochs_or_with_its_battery(self):
        mission = {
            "binary": BINARY, "capacity_wh": 0.1, "resistance_ohm": 0.25, "reserve": 0.1, "epochs": 2, "samples": 160, "until_s": 60,
        }  # fmt: skip
        words = ["--battery", "auto", "--battery-goal", "none", "--policy", "maxn"]
        short = LiveFlight(mission, words)
        short.fly()
        self.assertEqual(short.result["ending"], "done")
        self.assertEqual(short.result["mission"]["epochs"], 2)
        self.assertTrue(short.result["mission"]["reserve_kept"])
        long = LiveFlight({**mission, "capacity_wh": 0.02, "samples": 16_000}, words)
        long.fly()
        self.assertEqual(long.result["ending"], "empty")
        self.assertLess(long.result["mission"]["epochs"], 1)
        self.assertFalse(long.result["mission"]["reserve_kept"])

    def test_a_trainer_saves_its_work_and_waits_before_the_reserve(self):
        with Stack(battery="100mWh") as stack:
            daemon = stack.daemon(
                stack.script(HOLD), "--battery", "auto", "--reserve", "20%", "--checkpoint", "40%"
            )
            stack.trainer("--save-time", "0.3s")
            status = daemon.note("status")
            while status["phase"] != "paused":
                status = daemon.note("status")
            asked, saved = daemon.notes("checkpoint")
            self.assertIn("asked to save its work within 30 s", asked["text"])
            self.assertIn("saved its work in 0.3", saved["text"])
            self.assertEqual(asked["workload"], saved["workload"])
            self.assertEqual(daemon.notes("unsaved"), [])
            self.assertEqual(status["cap_source"], "battery")
            self.assertGreater(status["battery"]["energy_wh"], 0.02)  # not at the reserve yet
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

    def test_a_board_without_a_battery_is_told_apart(self):
        with Stack() as stack:
            refused = stack.gearshift(
                "run", "--sysroot", stack.mount, "--battery", "auto", "--state", stack.folder
            )
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn("--battery 10Wh", refused.stderr)

    def test_what_looks_like_a_battery_and_is_none_is_told_with_its_reason(self):
        with Stack() as stack:
            site = stack.folder / "site"
            for supply, files in {
                "AC": {"type": "Mains"},
                "hid-mouse": {"type": "Battery", "scope": "Device", "energy_now": "1000000"},
                "ups": {"type": "UPS", "energy_now": "30000000"},
            }.items():
                folder = site / "sys/class/power_supply" / supply
                folder.mkdir(parents=True)
                for name, text in files.items():
                    (folder / name).write_text(text + "\n")
            refused = stack.gearshift("run", "--sysroot", site, "--battery", "auto", "--state", stack.folder)
            self.assertEqual(refused.returncode, 1, refused.stderr)
            for reason in ("hid-mouse passed over: its scope is Device", "ups passed over: its type is UPS"):
                self.assertIn(reason, refused.stderr)
            self.assertNotIn("battery: ", refused.stderr)
            explained = stack.gearshift("boards", "--explain", "--sysroot", site)
            self.assertIn("battery: power_supply hid-mouse passed over", explained.stdout)
            machine = json.loads(stack.gearshift("boards", "--explain", "--json", "--sysroot", site).stdout)["machine"]
            self.assertTrue(any("ups passed over" in line for line in machine["sensors"]), machine)


class Mission(unittest.TestCase):
    def simulate(self, *words):
        """What `gearshift simulate` tells of a mission."""
        command = [BINARY, "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--samples-per-epoch", "8800"]
        done = subprocess.run([*command, "--json", *words], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["mission"]

    def test_the_goal_that_is_planned_for_is_told(self):
        for words, goal in (
            ([], "progress"),
            (["--until", "20s"], "serve"),
            (["--epochs", "1"], "finish"),
            (["--battery-goal", "none"], None),
        ):
            self.assertEqual(self.simulate("--battery", "1Wh", "--duration", "20s", *words)["goal"], goal)

    def told(self, *words):
        command = [BINARY, "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18"]
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_mission_lasts_until_its_end_unless_duration_says_less(self):
        day = ["--battery", "2kWh", "--policy", "maxn", "--until", "13h"]
        self.assertIn("over, its time has passed, after 46800 s", self.told(*day))
        self.assertIn("over, --duration has passed, after 10 s", self.told(*day, "--duration", "10s"))
        moment = ["--battery", "2kWh", "--policy", "maxn", "--until", "10s"]
        self.assertIn("over, its time has passed, after 10 s", self.told(*moment))
        self.assertIn("over, its time has passed, after 20 s", self.told(*moment, "--duration", "20s"))

    def test_a_lasting_cap_under_which_the_work_is_late_is_told(self):
        task = ["--battery", "100Wh", "--epochs", "20", "--samples-per-epoch", "8800", "--until", "2000s", "--duration", "60s"]
        self.assertRegex(self.told(*task, "--power", "15W"), r"plan     planned: [\d.]+ W for .*; while another cap leaves no more, 15.0 W for .*; too little time;")
        self.assertNotIn("too little", self.told(*task))

    def test_a_battery_that_is_not_empty_is_not_called_so(self):
        told = self.told("--battery", "10Wh", "--other-power", "500W", "--battery-goal", "none")
        self.assertIn("over, the battery cannot give this power above its cutoff of 9 V, after", told)
        self.assertNotIn("empty", told)

    def test_a_reserve_that_is_broken_by_a_hair_reads_so(self):
        told = self.told("--battery", "10Wh", "--charge", "20%", "--duration", "1s")
        figures = re.search(r"reserve  broken: never below ([\d.]+) Wh, ([\d.]+) Wh are the reserve", told)
        self.assertLess(float(figures[1]), float(figures[2]), told)
        self.assertIn("reserve  kept: never below 2.00 Wh, 2.00 Wh", self.told("--battery", "10Wh", "--charge", "20%", "--duration", "1s", "--solar", self.sun("0,1000")))

    def test_a_run_that_outlasts_the_file_of_the_sun_says_so(self):
        run = ["--battery", "10Wh", "--duration", "5m", "--policy", "maxn", "--solar"]
        self.assertRegex(self.told(*run, self.sun("0,900", "60,500")), r"sun      .*sun.csv ends 180 s before the run: its last line, 30.0 W here,")
        for known in (["0,900", "60,0"], ["0,500"], ["0,900", "200,500"]):
            self.assertNotIn("before the run", self.told(*run, self.sun(*known)))

    def sun(self, *lines):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "sun.csv")
        path.write_text("\n".join(["t_s,ghi_w_m2", *lines, ""]))
        return path

    def test_a_search_that_made_no_choice_says_what_it_took(self):
        drained = ["--battery", "500mWh", "--battery-goal", "none", "--other-power", "5W"]
        self.assertRegex(self.told(*drained), r"search   [1-9]\d* settings measured in [1-9]\d* s and [1-9]\d* J, which made no choice\n")
        self.assertNotIn("no choice", self.told("--power", "30W", "--policy", "maxn", "--battery", "1Wh", "--battery-goal", "none"))

    def test_the_least_energy_by_a_later_deadline_is_no_more(self):
        left = []
        for until in ("10m", "20m", "1h"):
            task = ["--epochs", "10", "--battery-goal", "least-energy", "--until", until]
            mission = self.simulate("--battery", "30Wh", "--duration", "2h", *task)
            self.assertTrue(mission["in_time"])
            left.append(mission["energy_wh"])
        self.assertGreaterEqual(left[1], left[0] - 0.05)
        self.assertGreaterEqual(left[2], left[1] - 0.05)

    def test_a_time_out_of_reach_costs_no_work(self):
        for more in ([], ["--solar", self.sun("0,0", "60,0")]):
            most = self.simulate("--battery", "2Wh", "--duration", "30m", "--battery-goal", "progress", *more)
            asked = self.simulate("--battery", "2Wh", "--duration", "30m", "--until", "2h", *more)
            self.assertGreater(most["samples"], 20_000)
            self.assertGreaterEqual(asked["samples"], most["samples"])

    def test_a_time_within_reach_is_reached_above_the_reserve(self):
        for until in ("20m", "30m", "2250s"):
            mission = self.simulate("--battery", "10Wh", "--until", until)
            self.assertTrue(mission["reserve_kept"], mission)
            self.assertGreater(mission["samples"], 0)

    def test_a_plan_is_logged_recorded_and_explained(self):
        with Stack(board=False) as stack:
            log, recording = stack.folder / "log.jsonl", stack.folder / "run.db"
            words = ["--battery", "2Wh", "--epochs", "2", "--until", "300s", "--samples-per-epoch", "8800"]
            told = self.told(*words, "--record", recording, "--log", log)
            plans = [note for note in map(json.loads, log.read_text().splitlines()) if note["note"] == "plan"]
            self.assertGreater(len(plans), 1)
            self.assertIn(f"  plan     {plans[-1]['text']}; 0 pauses", told)
            explained = json.loads(stack.gearshift("explain", recording, "--json").stdout)
            self.assertEqual(explained["plan"], plans[-1]["text"])
            replayed = stack.gearshift("replay", recording)
            self.assertEqual(replayed.returncode, 0, replayed.stdout)


if __name__ == "__main__":
    unittest.main()
